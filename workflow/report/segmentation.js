// Text to pieces, as the exported tokenizers do it: normalise, split into words, segment each word.
// Needs no page around it. Strings are taken apart by code points.
"use strict";
const Segmentation = (() => {
  const WORD_START = "▁";
  const FIRST_PIECE_ID = 5;
  const UNKNOWN_ID = 1;
  const UNCOVERED = -1;
  const REMEMBERED = 50000;

  // --- normalisation

  // The browser's Unicode may be newer than the library's: a mark that only one of them knows joins
  // the character before it in one of them only.
  const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
  // Unicode's white space; neither `\s` nor `trim` is exactly that.
  const SPACE = "[\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
  const EDGES = new RegExp(`^${SPACE}|${SPACE}$`, "g");

  function utf8Length(characters) {
    const codes = characters.map((character) => character.codePointAt(0));
    return codes.reduce((sum, code) => sum + 1 + (code > 0x7f) + (code > 0x7ff) + (code > 0xffff), 0);
  }

  // The replacement of the shortest key (not the longest) that the characters begin with, if any.
  function lookUp(replacements, characters) {
    let key = "";
    for (const character of characters) {
      key += character;
      if (replacements.has(key)) return replacements.get(key);
    }
    return undefined;
  }

  // A cluster of up to 5 bytes is replaced as a whole, which may drop what follows the key in it;
  // in a longer cluster each character is replaced by itself.
  function replace(replacements, text) {
    const isPlain = !/[^ -~]/.test(text);
    const clusters = isPlain ? text : Array.from(graphemes.segment(text), ({ segment }) => segment);
    return Array.from(clusters, (cluster) => {
      const characters = Array.from(cluster);
      const whole = utf8Length(characters) < 6 ? lookUp(replacements, characters) : undefined;
      return whole ?? characters.map((each) => replacements.get(each) ?? each).join("");
    }).join("");
  }

  // replacements: an object, text -> text, of sentencepiece's character map.
  function normalizer(replacements) {
    const map = new Map(Object.entries(replacements));
    return remember((text) =>
      replace(map, text.toWellFormed()).replaceAll(WORD_START, " ").replace(/ {2,}/g, " ").replace(EDGES, ""));
  }

  function remember(compute) {
    const known = new Map();
    return (text) => {
      if (!known.has(text)) {
        if (known.size >= REMEMBERED) known.clear();
        known.set(text, compute(text));
      }
      return known.get(text);
    };
  }

  // Words of a normalised line, each opened by `▁`; long ones are cut.
  function splitWords(line, maxWordChars) {
    return line.split(" ").filter(Boolean).flatMap((word) => {
      const characters = Array.from(WORD_START + word);
      const starts = Array.from({ length: Math.ceil(characters.length / maxWordChars) }, (_, n) => n * maxWordChars);
      return starts.map((start) => characters.slice(start, start + maxWordChars).join(""));
    });
  }

  // --- segmenters: characters of a word -> its pieces, of which some may be none of the vocabulary

  function greedy(numbers, longest) {
    return (word) => {
      const pieces = [];
      for (let start = 0; start < word.length; ) {
        let end = Math.min(word.length, start + longest);
        while (end > start + 1 && !numbers.has(word.slice(start, end).join(""))) end -= 1;
        pieces.push(word.slice(start, end).join(""));
        start = end;
      }
      return pieces;
    };
  }

  // The merge of the lowest rank first, of equal ones the leftmost.
  function merging(merges) {
    const ranks = new Map(merges.map((pair, rank) => [pair, rank]));
    return (word) => {
      const pieces = [...word];
      const rankAt = (at) => ranks.get(`${pieces[at]} ${pieces[at + 1]}`) ?? Infinity;
      const pending = pieces.slice(1).map((_, at) => rankAt(at));
      for (;;) {
        const lowest = pending.reduce((least, rank) => Math.min(least, rank), Infinity);
        if (lowest === Infinity) return pieces;
        const at = pending.indexOf(lowest);
        pieces.splice(at, 2, pieces[at] + pieces[at + 1]);
        pending.splice(at, 1);
        if (at > 0) pending[at - 1] = rankAt(at - 1);
        if (at < pending.length) pending[at] = rankAt(at);
      }
    };
  }

  // The likeliest path; of equal ones that with the longest last piece. A character without a piece
  // parts the word.
  function likeliest(numbers, longest, scores) {
    return (word) => {
      const best = [{ score: 0 }];
      for (let start = 0; start < word.length; start += 1) {
        if (!numbers.has(word[start])) {
          best[start + 1] = { score: 0, start };
          continue;
        }
        for (let end = start + 1; end <= Math.min(word.length, start + longest); end += 1) {
          const number = numbers.get(word.slice(start, end).join(""));
          if (number === undefined) continue;
          const score = scores[number] + best[start].score;
          if (!best[end] || score > best[end].score) best[end] = { score, start };
        }
      }
      const pieces = [];
      for (let end = word.length; end > 0; end = best[end].start) {
        pieces.unshift(word.slice(best[end].start, end).join(""));
      }
      return pieces;
    };
  }

  // Runs of the shared pieces: how many to skip (or to go back), how many to take, and so on.
  function taken(shared, runs) {
    const parts = [];
    for (let at = 0, end = 0; at < runs.length; at += 2) {
      const start = end + runs[at];
      end = start + runs[at + 1];
      parts.push(shared.slice(start, end));
    }
    return parts.flat();
  }

  // spec: method, runs (of the pieces of its language), maxWordChars; merges (one a line, parts apart
  // by a space) or scores (a list). normalize: what `normalizer` returned. shared: the language's pieces.
  function tokenizer(spec, normalize, shared) {
    const pieces = taken(shared, spec.runs);
    const numbers = new Map(pieces.map((piece, number) => [piece, number]));
    const longest = pieces.reduce((most, piece) => Math.max(most, Array.from(piece).length), 0);
    const segment = {
      greedy: () => greedy(numbers, longest),
      merges: () => merging(spec.merges ? spec.merges.split("\n") : []),
      unigram: () => likeliest(numbers, longest, spec.scores),
    }[spec.method]();
    const segmentWord = remember((word) =>
      segment(Array.from(word)).map((text) => ({ text, number: numbers.get(text) ?? UNCOVERED })));
    return { normalize, maxWordChars: spec.maxWordChars, segmentWord };
  }

  // Words of a text: of each its text and its pieces, which have a text and a number or UNCOVERED.
  function segmentText(using, text) {
    return splitWords(using.normalize(text), using.maxWordChars)
      .map((word) => ({ text: word, pieces: using.segmentWord(word) }));
  }

  // The ids that the exported tokenizer gives, without special tokens.
  function encode(using, text) {
    return segmentText(using, text).flatMap(({ pieces }) =>
      pieces.map(({ number }) => (number === UNCOVERED ? UNKNOWN_ID : number + FIRST_PIECE_ID)));
  }

  return { UNCOVERED, encode, normalizer, segmentText, tokenizer };
})();
