// Text to pieces, as the library does it: normalise, split into words, segment each word.
// Needs graphemes.js before it and no page around it. Strings are taken apart by code points.
"use strict";
const Segmentation = (() => {
  const WORD_START = "▁";
  const FIRST_PIECE_ID = 5;
  const UNKNOWN_ID = 1;
  const UNCOVERED = -1;

  // --- grapheme clusters

  const names = Object.keys(GRAPHEME_CLASSES);
  const kindOf = readClasses();
  const is = Object.fromEntries(names.map((name, number) => [name, number + 1]));
  const attaches = new Set([is.bound, is.extend, is.linker, is.joiner, is.spacing]);
  const extending = new Set([is.bound, is.extend, is.linker]);
  const conjoining = new Set([is.extend, is.linker, is.joiner]);

  function readClasses() {
    const kinds = new Uint8Array(0x110000);
    names.forEach((name, number) => {
      let code = 0;
      for (const range of GRAPHEME_CLASSES[name].split(" ")) {
        const [gap, more] = range.split(".").map((digits) => parseInt(digits, 36));
        code += gap;
        kinds.fill(number + 1, code, code + (more || 0) + 1);
        code += (more || 0) + 1;
      }
    });
    return kinds;
  }

  // Whether characters `at - 1` and `at` belong to one cluster.
  function isJoined(codes, at) {
    const before = kindOf[codes[at - 1]];
    const after = kindOf[codes[at]];
    if (before === is.control || after === is.control) {
      return codes[at - 1] === 13 && codes[at] === 10;
    }
    if (attaches.has(after) || before === is.prepend || isSyllable(codes[at - 1], codes[at])) {
      return true;
    }
    if (after === is.pictograph) return before === is.joiner && followsPictograph(codes, at - 2);
    if (after === is.consonant) return followsConjunct(codes, at - 1);
    return after === is.regional && countRegional(codes, at - 1) % 2 === 1;
  }

  function followsPictograph(codes, last) {
    let at = last;
    while (at >= 0 && extending.has(kindOf[codes[at]])) at -= 1;
    return at >= 0 && kindOf[codes[at]] === is.pictograph;
  }

  function followsConjunct(codes, last) {
    let at = last;
    let linked = false;
    for (; at >= 0 && conjoining.has(kindOf[codes[at]]); at -= 1) {
      linked = linked || kindOf[codes[at]] === is.linker;
    }
    return linked && at >= 0 && kindOf[codes[at]] === is.consonant;
  }

  function countRegional(codes, last) {
    let at = last;
    while (at >= 0 && kindOf[codes[at]] === is.regional) at -= 1;
    return last - at;
  }

  function isSyllable(before, after) {
    const [first, second] = [hangulKind(before), hangulKind(after)];
    if (first === "L") return ["L", "V", "LV", "LVT"].includes(second);
    if (first === "V" || first === "LV") return second === "V" || second === "T";
    return (first === "T" || first === "LVT") && second === "T";
  }

  function hangulKind(code) {
    const kind = kindOf[code];
    if (kind === is.leading) return "L";
    if (kind === is.vowel) return "V";
    if (kind === is.trailing) return "T";
    if (code < 0xac00 || code > 0xd7a3) return null;
    return (code - 0xac00) % 28 === 0 ? "LV" : "LVT";
  }

  // --- sentencepiece's precompiled character map

  // Bytes of a map: length of the trie, the trie as a double array, the texts that it points to.
  function readCharacterMap(base64) {
    const bytes = decodeBase64(base64);
    const view = new DataView(bytes.buffer);
    const end = 4 + view.getUint32(0, true);
    const units = new Uint32Array((end - 4) / 4);
    for (let at = 0; at < units.length; at += 1) units[at] = view.getUint32(4 + 4 * at, true);
    return { units, texts: bytes.subarray(end), known: new Map() };
  }

  function decodeBase64(text) {
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const values = new Map([...letters].map((letter, value) => [letter, value]));
    const digits = text.replace(/=+$/, "");
    const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4));
    let [bits, held, at] = [0, 0, 0];
    for (const digit of digits) {
      bits = ((bits << 6) | values.get(digit)) & 0xffff;
      held += 6;
      if (held >= 8) {
        held -= 8;
        bytes[at] = (bits >> held) & 0xff;
        at += 1;
      }
    }
    return bytes;
  }

  function utf8Length(code) {
    if (code < 0x80) return 1;
    if (code < 0x800) return 2;
    return code < 0x10000 ? 3 : 4;
  }

  function utf8(codes) {
    const bytes = [];
    for (const code of codes) {
      const length = utf8Length(code);
      const lead = [0, 0, 0xc0, 0xe0, 0xf0][length];
      bytes.push(lead | (code >> (6 * (length - 1))));
      for (let left = length - 2; left >= 0; left -= 1) bytes.push(0x80 | ((code >> (6 * left)) & 0x3f));
    }
    return bytes;
  }

  function textAt(texts, start) {
    const codes = [];
    for (let at = start; at < texts.length && texts[at] !== 0; ) {
      const lead = texts[at];
      const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      let code = length === 1 ? lead : lead & (0x7f >> length);
      for (let next = 1; next < length; next += 1) code = (code << 6) | (texts[at + next] & 0x3f);
      codes.push(code);
      at += length;
    }
    return String.fromCodePoint(...codes);
  }

  function childrenOf(place, unit) {
    return place ^ ((unit >>> 10) << ((unit & 0x200) >>> 6));
  }

  // The text of the shortest key that the bytes begin with (sic: not the longest), or null.
  function search(map, bytes) {
    let place = childrenOf(0, map.units[0]);
    for (const byte of bytes) {
      place ^= byte;
      const unit = map.units[place];
      if (byte === 0 || (unit & 0x800000ff) >>> 0 !== byte) return null;
      place = childrenOf(place, unit);
      if ((unit >>> 8) & 1) return textAt(map.texts, map.units[place] & 0x7fffffff);
    }
    return null;
  }

  // Clusters of up to 5 bytes are looked up as a whole, which may drop what follows the key;
  // otherwise each character is.
  function mapCharacters(map, text) {
    const codes = codePoints(text);
    const parts = [];
    for (let start = 0; start < codes.length; ) {
      let end = start + 1;
      while (end < codes.length && isJoined(codes, end)) end += 1;
      parts.push(end === start + 1 ? mapOne(map, codes[start]) : mapCluster(map, codes.slice(start, end)));
      start = end;
    }
    return parts.join("");
  }

  function mapCluster(map, codes) {
    const length = codes.reduce((sum, code) => sum + utf8Length(code), 0);
    const whole = length < 6 ? search(map, utf8(codes)) : null;
    return whole ?? codes.map((code) => mapOne(map, code)).join("");
  }

  function mapOne(map, code) {
    if (!map.known.has(code)) {
      map.known.set(code, search(map, utf8([code])) ?? String.fromCodePoint(code));
    }
    return map.known.get(code);
  }

  function wellFormed(text) {
    return codePoints(text).map((code) => String.fromCodePoint(code)).join("");
  }

  // Half of a surrogate pair is no character.
  function codePoints(text) {
    return Array.from(text, (character) => {
      const code = character.codePointAt(0);
      return code >= 0xd800 && code < 0xe000 ? 0xfffd : code;
    });
  }

  // Unicode's white space; neither `\s` nor `trim` is exactly that.
  const SPACE = "[\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
  const EDGES = new RegExp(`^${SPACE}|${SPACE}$`, "g");

  // characterMap: base64; empty for no map.
  function normalizer(characterMap) {
    const map = characterMap ? readCharacterMap(characterMap) : null;
    return (text) => {
      const mapped = map ? mapCharacters(map, text) : wellFormed(text);
      return mapped.replaceAll(WORD_START, " ").replace(/ {2,}/g, " ").replace(EDGES, "");
    };
  }

  // Words of a normalised line, each a list of characters opened by `▁`; long ones are cut.
  function splitWords(line, maxWordChars) {
    const words = [];
    for (const word of line.split(" ")) {
      const characters = word ? Array.from(WORD_START + word) : [];
      for (let start = 0; start < characters.length; start += maxWordChars) {
        words.push(characters.slice(start, start + maxWordChars));
      }
    }
    return words;
  }

  // --- segmenters: characters of a word -> [number of the piece or UNCOVERED, length] ...

  function greedySegmenter(numbers, longest) {
    return (word) => {
      const found = [];
      for (let start = 0; start < word.length; start += found[found.length - 1][1]) {
        found.push(longestMatch(numbers, word, start, longest));
      }
      return found;
    };
  }

  function longestMatch(numbers, word, start, longest) {
    for (let length = Math.min(longest, word.length - start); length > 0; length -= 1) {
      const number = numbers.get(word.slice(start, start + length).join(""));
      if (number !== undefined) return [number, length];
    }
    return [UNCOVERED, 1];
  }

  // The merge of the lowest rank first, of equal ones the leftmost.
  function mergeSegmenter(numbers, merges) {
    const ranks = new Map(merges.map((pair, rank) => [pair, rank]));
    return (word) => {
      const parts = [...word];
      const rankAt = (at) => ranks.get(`${parts[at]} ${parts[at + 1]}`) ?? Infinity;
      const pending = parts.slice(1).map((_, at) => rankAt(at));
      for (;;) {
        const best = lowest(pending);
        if (best < 0) break;
        parts.splice(best, 2, parts[best] + parts[best + 1]);
        pending.splice(best, 1);
        if (best > 0) pending[best - 1] = rankAt(best - 1);
        if (best < pending.length) pending[best] = rankAt(best);
      }
      return parts.map((part) => [numbers.get(part) ?? UNCOVERED, Array.from(part).length]);
    };
  }

  function lowest(ranks) {
    let best = -1;
    for (let at = 0; at < ranks.length; at += 1) {
      if (ranks[at] < (best < 0 ? Infinity : ranks[best])) best = at;
    }
    return best;
  }

  // The likeliest path; of equal ones that with the longest last piece. Uncovered characters part
  // the word.
  function unigramSegmenter(numbers, longest, scores) {
    return (word) => {
      const found = [];
      for (let start = 0; start < word.length; ) {
        let end = start;
        while (end < word.length && numbers.has(word[end])) end += 1;
        found.push(...likeliestPath(numbers, longest, scores, word.slice(start, end)));
        if (end < word.length) found.push([UNCOVERED, 1]);
        start = end + 1;
      }
      return found;
    };
  }

  function likeliestPath(numbers, longest, scores, word) {
    const best = [{ score: 0 }];
    for (let start = 0; start < word.length; start += 1) {
      let text = "";
      const last = Math.min(word.length, start + longest);
      for (let end = start + 1; end <= last; end += 1) {
        text += word[end - 1];
        const number = numbers.get(text);
        if (number === undefined) continue;
        const score = scores[number] + best[start].score;
        if (!best[end] || score > best[end].score) best[end] = { score, number, length: end - start };
      }
    }
    const path = [];
    for (let end = word.length; end > 0; end -= best[end].length) {
      path.push([best[end].number, best[end].length]);
    }
    return path.reverse();
  }

  // spec: method, pieces (one a line), maxWordChars; merges (one a line, parts apart by a space)
  // or scores (a list). normalize: what `normalizer` returned.
  function tokenizer(spec, normalize) {
    const pieces = spec.pieces.split("\n");
    const numbers = new Map(pieces.map((piece, number) => [piece, number]));
    const longest = pieces.reduce((most, piece) => Math.max(most, Array.from(piece).length), 0);
    const makers = {
      greedy: () => greedySegmenter(numbers, longest),
      merges: () => mergeSegmenter(numbers, spec.merges ? spec.merges.split("\n") : []),
      unigram: () => unigramSegmenter(numbers, longest, spec.scores),
    };
    return { pieces, normalize, maxWordChars: spec.maxWordChars, segment: remember(makers[spec.method]()) };
  }

  function remember(segment) {
    const known = new Map();
    return (word) => {
      const key = word.join("");
      if (!known.has(key)) {
        if (known.size >= 50000) known.clear();
        known.set(key, segment(word));
      }
      return known.get(key);
    };
  }

  // Words of a text: of each its characters and its pieces.
  function segmentText(using, text) {
    return splitWords(using.normalize(text), using.maxWordChars).map((characters) => ({
      characters,
      pieces: using.segment(characters),
    }));
  }

  // The ids that the exported tokenizer gives, without special tokens.
  function encode(using, text) {
    return segmentText(using, text).flatMap(({ pieces }) =>
      pieces.map(([number]) => (number === UNCOVERED ? UNKNOWN_ID : number + FIRST_PIECE_ID)));
  }

  return { UNCOVERED, WORD_START, encode, normalizer, segmentText, tokenizer };
})();
