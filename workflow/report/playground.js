// The playground: a text segmented by the chosen tokenizers, side by side. Needs segmentation.js.
"use strict";
(() => {
  const form = document.getElementById("play");
  if (!form) return;
  const LONGEST = 50000; // characters segmented; beyond, every key pressed would be felt
  const DRAWN = 400; // words shown in a box: drawing takes far longer than segmenting
  const PAUSE = 120; // milliseconds without typing before the boxes follow
  const source = document.getElementById("playground-data");
  const boxes = document.getElementById("segmentations");
  const told = document.getElementById("segmented");
  const legend = document.getElementById("compared");
  const text = form.elements.text;
  const data = JSON.parse(source.textContent);
  const normalizers = new Map();
  const tokenizers = new Map();
  const unchecked = new Set();
  let waiting = 0;
  let refused = 0; // characters of the last paste that were too many

  // --- elements

  function make(tag, properties, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  function choice(type, name, value, label, checked) {
    const input = make("input", { type, name, value, checked });
    return make("label", {}, input, ` ${label}`);
  }

  // --- choices

  function language() {
    const key = new FormData(form).get("language");
    return data.languages.find((each) => each.key === key) || data.languages[0];
  }

  function chosen() {
    return language().tokenizers.filter((spec) => !unchecked.has(spec.key));
  }

  function showLanguages() {
    const first = data.languages[0].key;
    const radios = data.languages.map((each) =>
      choice("radio", "language", each.key, each.name, each.key === first));
    document.getElementById("play-languages").append(...radios);
  }

  function showChoices() {
    const specs = language().tokenizers.map((spec) =>
      choice("checkbox", "tokenizer", spec.key, spec.label, !unchecked.has(spec.key)));
    document.getElementById("play-tokenizers").replaceChildren(...specs);
    const buttons = language().examples.map((example) =>
      make("button", { type: "button", value: example.text, title: example.text }, example.name));
    document.getElementById("play-sentences").replaceChildren(...buttons);
    text.lang = language().key;
  }

  function isExample() {
    return data.languages.some((each) => each.examples.some((row) => row.text === text.value));
  }

  function changeLanguage() {
    showChoices();
    if (isExample() || !text.value.trim()) {
      text.value = language().examples[0].text;
      refused = 0;
    }
  }

  // --- segmentation

  function tokenizerOf(spec) {
    const key = `${language().key} ${spec.key}`;
    const rule = spec.normalization;
    if (!normalizers.has(rule)) {
      normalizers.set(rule, Segmentation.normalizer(data.normalizations[rule]));
    }
    if (!tokenizers.has(key)) {
      tokenizers.set(key, Segmentation.tokenizer(spec, normalizers.get(rule)));
    }
    return tokenizers.get(key);
  }

  // Whole words of the text, as far as it is segmented.
  function opening(whole) {
    if (whole.length <= LONGEST) return whole;
    const start = whole.slice(0, LONGEST);
    const cut = start.search(/\s\S*$/);
    return cut > LONGEST / 2 ? start.slice(0, cut) : start;
  }

  function wordsOf(spec, lines) {
    const using = tokenizerOf(spec);
    return lines.flatMap((line) => Segmentation.segmentText(using, line)).map(({ characters, pieces }) => {
      let start = 0;
      const parts = pieces.map(([number, length]) => {
        const part = { text: characters.slice(start, start + length).join(""), start, number };
        start += length;
        return part;
      });
      return { text: characters.join(""), parts };
    });
  }

  // Mark the pieces that stand at no such place in the same word of the first tokenizer.
  function markChanges(words, first) {
    words.forEach((word, at) => {
      const same = first[at] && first[at].text === word.text ? first[at].parts : [];
      let next = 0;
      for (const part of word.parts) {
        while (next < same.length && same[next].start < part.start) next += 1;
        part.changed = next === same.length || !isSame(part, same[next]);
      }
      word.changed = word.parts.some((part) => part.changed);
    });
  }

  function isSame(part, other) {
    const unknown = (each) => each.number === Segmentation.UNCOVERED;
    return part.start === other.start && part.text === other.text && unknown(part) === unknown(other);
  }

  // --- boxes

  function pieceElement(part) {
    const unknown = part.number === Segmentation.UNCOVERED;
    const piece = make(part.changed ? "mark" : "span", { className: "piece" }, part.text);
    if (unknown) {
      piece.classList.add("unknown");
      piece.append(make("small", {}, "[UNK]"));
    }
    return piece;
  }

  function wordElement(word) {
    const pieces = word.parts.flatMap((part) => [pieceElement(part), " "]);
    return make("span", { className: "word" }, ...pieces);
  }

  function numbersOf(words) {
    const count = (list) => list.reduce((sum, number) => sum + number, 0);
    const tokens = count(words.map((word) => word.parts.length));
    const unknown = count(words.map((word) =>
      word.parts.filter((part) => part.number === Segmentation.UNCOVERED).length));
    return [
      ["tokens", tokens.toLocaleString("en")],
      ["words", words.length.toLocaleString("en")],
      ["tokens per word", words.length ? (tokens / words.length).toFixed(2) : "–"],
      ["unknown", unknown.toLocaleString("en")],
    ];
  }

  function difference(words, first) {
    const changed = words.filter((word) => word.changed).length.toLocaleString("en");
    return `${changed} of ${words.length.toLocaleString("en")} words unlike ${first}`;
  }

  // first: the label of the tokenizer that this one is compared with, or null.
  function box(spec, words, first) {
    const title = make("h3", { id: `box-${spec.key}` }, spec.label);
    const how = make("p", { className: "how" }, spec.how, ...(first ? [`; ${difference(words, first)}`] : []));
    const numbers = numbersOf(words).map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, value)));
    const pieces = make("p", { className: "pieces", lang: language().key, dir: "auto", translate: false });
    pieces.append(...words.slice(0, DRAWN).map(wordElement));
    if (words.length > DRAWN) pieces.append(`… and ${(words.length - DRAWN).toLocaleString("en")} more words`);
    const section = make("section", { className: "box" },
      title, how, make("dl", { className: "numbers" }, ...numbers), pieces);
    section.dataset.tokenizer = spec.key;
    section.setAttribute("aria-labelledby", title.id);
    return section;
  }

  function report(specs, shown, words) {
    const whole = text.value.length + refused;
    const limit = shown.length < whole
      ? ` Only the first ${shown.length.toLocaleString("en")} of ${whole.toLocaleString("en")} characters are segmented.`
      : "";
    const counts = specs.map((spec, at) =>
      `${spec.label} ${words[at].reduce((sum, word) => sum + word.parts.length, 0).toLocaleString("en")}`);
    told.textContent = specs.length ? `Tokens: ${counts.join(", ")}.${limit}` : "Choose a tokenizer.";
    told.classList.toggle("limited", limit !== "");
  }

  // Pieces that do not fit into their box are scrolled, by keyboard too.
  function letScroll(section, label) {
    const pieces = section.querySelector(".pieces");
    if (pieces.scrollHeight <= pieces.clientHeight) return;
    pieces.tabIndex = 0;
    pieces.setAttribute("role", "group");
    pieces.setAttribute("aria-label", `Pieces of ${label}`);
  }

  function segment() {
    const specs = chosen();
    const shown = opening(text.value);
    const words = specs.map((spec) => wordsOf(spec, shown.split("\n")));
    words.slice(1).forEach((each) => markChanges(each, words[0]));
    boxes.replaceChildren(...specs.map((spec, at) =>
      box(spec, words[at], at > 0 ? specs[0].label : null)));
    [...boxes.children].forEach((section, at) => letScroll(section, specs[at].label));
    legend.textContent = specs.length ? specs[0].label : "the first tokenizer";
    report(specs, shown, words);
  }

  function segmentSoon() {
    clearTimeout(waiting);
    waiting = setTimeout(segment, PAUSE);
  }

  // The box itself takes seconds to lay out a megabyte, so that is not let in.
  function paste(event) {
    const pasted = event.clipboardData.getData("text/plain");
    if (pasted.length <= LONGEST) return;
    event.preventDefault();
    const taken = opening(pasted);
    text.setRangeText(taken, text.selectionStart, text.selectionEnd, "end");
    refused = pasted.length - taken.length;
    segmentSoon();
  }

  text.addEventListener("paste", paste);
  form.addEventListener("input", (event) => {
    if (event.target === text) refused = 0;
    if (event.target.name === "language") changeLanguage();
    if (event.target.name === "tokenizer") {
      unchecked[event.target.checked ? "delete" : "add"](event.target.value);
    }
    segmentSoon();
  });
  form.addEventListener("click", (event) => {
    if (event.target.type !== "button") return;
    text.value = event.target.value;
    refused = 0;
    segment();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  showLanguages();
  changeLanguage();
  form.hidden = false;
  setTimeout(segment, 0);
})();
