// The playground: a text segmented by the chosen tokenizers, side by side. Needs segmentation.js.
"use strict";
(() => {
  const form = document.getElementById("play");
  const LONGEST = 50000; // characters segmented; with more, typing would lag
  const LINKED = 2000; // characters that a link to the text holds
  const DRAWN = 400; // words shown in a box: drawing takes far longer than segmenting
  const PAUSE = 120; // milliseconds without typing before the boxes follow
  const boxes = document.getElementById("segmentations");
  const text = form.elements.text;
  const data = JSON.parse(document.getElementById("playground-data").textContent);
  const unchecked = new Set(
    data.languages.flatMap((each) => each.tokenizers.filter((spec) => !spec.shown).map((spec) => spec.key)));
  for (const each of data.languages) each.pieces = each.pieces.split("\n");
  let waiting = 0;
  let refused = 0; // characters that the last paste was too long by

  // --- elements

  function make(tag, properties, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  function choice(type, name, { key, label }, checked) {
    return make("label", {}, make("input", { type, name, value: key, checked }), ` ${label}`);
  }

  function show(number) {
    return number.toLocaleString("en");
  }

  // --- choices

  function language() {
    const key = new FormData(form).get("language");
    return data.languages.find((each) => each.key === key) || data.languages[0];
  }

  function showLanguages() {
    const radios = data.languages.map(({ key, name }, at) =>
      choice("radio", "language", { key, label: name }, at === 0));
    document.getElementById("play-languages").append(...radios);
  }

  function changeLanguage() {
    const { key, tokenizers, examples } = language();
    document.getElementById("play-tokenizers").replaceChildren(...tokenizers.map((spec) =>
      choice("checkbox", "tokenizer", spec, !unchecked.has(spec.key))));
    document.getElementById("play-sentences").replaceChildren(...examples.map((example) =>
      make("button", { type: "button", value: example.text, title: example.text }, example.name)));
    text.lang = key;
    const isExample = data.languages.some((each) => each.examples.some((row) => row.text === text.value));
    if (isExample || !text.value.trim()) {
      text.value = examples[0].text;
      refused = 0;
    }
  }

  // --- segmentation

  const normalizers = new Map();
  const tokenizers = new Map(); // by what they are made of

  function tokenizerOf(spec) {
    const rule = spec.normalization;
    if (!normalizers.has(rule)) {
      normalizers.set(rule, Segmentation.normalizer(data.normalizations[rule]));
    }
    if (!tokenizers.has(spec)) {
      tokenizers.set(spec, Segmentation.tokenizer(spec, normalizers.get(rule), language().pieces));
    }
    return tokenizers.get(spec);
  }

  // Whole words of the text, as far as it is segmented.
  function opening(whole) {
    if (whole.length <= LONGEST) return whole;
    const start = whole.slice(0, LONGEST);
    const cut = start.search(/\s\S*$/);
    return cut > LONGEST / 2 ? start.slice(0, cut) : start;
  }

  // Words with their pieces, each with its place in the word.
  function wordsOf(spec, lines) {
    const segmented = lines.flatMap((line) => Segmentation.segmentText(tokenizerOf(spec), line));
    return segmented.map((word) => {
      let end = 0;
      const pieces = word.pieces.map((piece) => {
        end += piece.text.length;
        const unknown = piece.number === Segmentation.UNCOVERED;
        return { text: piece.text, unknown, id: `${end} ${piece.text} ${unknown}` };
      });
      return { text: word.text, pieces };
    });
  }

  // Mark the pieces that do not stand at the same place of the same word of the first tokenizer.
  function markChanges(words, first) {
    words.forEach((word, at) => {
      const isSame = first[at] && first[at].text === word.text;
      const known = new Set(isSame ? first[at].pieces.map((piece) => piece.id) : []);
      for (const piece of word.pieces) piece.changed = !known.has(piece.id);
    });
  }

  function count(words, isCounted = () => true) {
    return words.reduce((sum, word) => sum + word.pieces.filter(isCounted).length, 0);
  }

  // --- boxes

  function pieceElement({ text: characters, changed, unknown }) {
    const piece = make(changed ? "mark" : "span", { className: "piece" }, characters);
    if (unknown) {
      piece.classList.add("unknown");
      piece.append(make("small", {}, "[UNK]"));
    }
    return piece;
  }

  function wordElement(word) {
    const pieces = word.pieces.flatMap((piece) => [pieceElement(piece), " "]);
    return make("span", { className: "word" }, ...pieces);
  }

  function numbersOf(words) {
    const numbers = {
      tokens: show(count(words)),
      words: show(words.length),
      "tokens per word": words.length ? (count(words) / words.length).toFixed(2) : "–",
      unknown: show(count(words, (piece) => piece.unknown)),
    };
    return Object.entries(numbers).map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  }

  // first: the tokenizer that this one is compared with, or undefined.
  function box(spec, words, first) {
    const title = make("h3", { id: `box-${spec.key}` }, spec.label);
    const how = make("p", { className: "how" }, spec.how);
    if (first) {
      const changed = words.filter((word) => word.pieces.some((piece) => piece.changed)).length;
      how.append(`; words unlike ${first.label}: ${show(changed)} of ${show(words.length)}`);
    }
    const pieces = make("p", { className: "pieces", lang: language().key, dir: "auto", translate: false });
    pieces.append(...words.slice(0, DRAWN).map(wordElement));
    if (words.length > DRAWN) pieces.append(`… and ${show(words.length - DRAWN)} more`);
    const numbers = make("dl", { className: "numbers" }, ...numbersOf(words));
    const section = make("section", { className: "box" }, title, how, numbers, pieces);
    section.dataset.tokenizer = spec.key;
    section.setAttribute("aria-labelledby", title.id);
    return section;
  }

  // Pieces that do not fit into their box are scrolled, by keyboard too.
  function letScroll(section) {
    const pieces = section.querySelector(".pieces");
    if (pieces.scrollHeight <= pieces.clientHeight) return;
    pieces.tabIndex = 0;
    pieces.setAttribute("role", "group");
    pieces.setAttribute("aria-label", `Pieces of ${section.querySelector("h3").textContent}`);
  }

  function report(specs, words, shown) {
    const status = document.getElementById("segmented");
    const whole = text.value.length + refused;
    const counts = specs.map((spec, at) => `${spec.label} ${show(count(words[at]))}`);
    status.textContent = specs.length ? `Tokens: ${counts.join(", ")}.` : "Choose a tokenizer.";
    status.classList.toggle("limited", shown < whole);
    if (specs.length && shown < whole) {
      status.append(` Only the first ${show(shown)} of ${show(whole)} characters are segmented.`);
    }
    document.getElementById("compared").textContent = specs[0]?.label ?? "the first tokenizer";
  }

  function segment() {
    const specs = language().tokenizers.filter((spec) => !unchecked.has(spec.key));
    const shown = opening(text.value);
    const words = specs.map((spec) => wordsOf(spec, shown.split("\n")));
    words.slice(1).forEach((each) => markChanges(each, words[0]));
    boxes.replaceChildren(...specs.map((spec, at) => box(spec, words[at], at > 0 ? specs[0] : undefined)));
    [...boxes.children].forEach(letScroll);
    report(specs, words, shown.length);
    document.getElementById("play-link").hash =
      new URLSearchParams({ language: language().key, text: text.value.slice(0, LINKED) });
  }

  // A link to the page may hold a language and a text.
  function takeLink() {
    const given = new URLSearchParams(location.hash.slice(1));
    if (!given.has("language")) return;
    const radio = [...form.elements].find(({ name, value }) =>
      name === "language" && value === given.get("language"));
    if (radio) radio.checked = true;
    text.value = given.get("text") || text.value;
    form.scrollIntoView();
    changeLanguage();
    segmentSoon();
  }

  function segmentSoon() {
    clearTimeout(waiting);
    waiting = setTimeout(segment, PAUSE);
  }

  // The text box itself takes seconds to lay out a megabyte, so it gets only what is segmented.
  text.addEventListener("paste", (event) => {
    const pasted = event.clipboardData.getData("text/plain");
    if (pasted.length <= LONGEST) return;
    event.preventDefault();
    const taken = opening(pasted);
    text.setRangeText(taken, text.selectionStart, text.selectionEnd, "end");
    refused = pasted.length - taken.length;
    segmentSoon();
  });
  form.addEventListener("input", ({ target }) => {
    if (target === text) refused = 0;
    if (target.name === "language") changeLanguage();
    if (target.name === "tokenizer") unchecked[target.checked ? "delete" : "add"](target.value);
    segmentSoon();
  });
  form.addEventListener("click", ({ target }) => {
    if (target.type !== "button") return;
    text.value = target.value;
    refused = 0;
    segment();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", takeLink);
  form.hidden = false;
  showLanguages();
  changeLanguage();
  takeLink();
  setTimeout(segment, 0);
})();
