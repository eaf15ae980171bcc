// As encode.py, with npm's @huggingface/tokenizers: node encode.mjs WORK FOLDER ...
// Prints the normalised lines, too, by `normalized FOLDER`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createRequire } from "node:module";

const [work, ...folders] = process.argv.slice(2);
const { Tokenizer } = createRequire(join(process.cwd(), "x.js"))("@huggingface/tokenizers");
const read = (...path) => JSON.parse(readFileSync(join(work, ...path), "utf8"));
const lines = read("lines.json");
const found = {};
for (const folder of folders) {
  try {
    const tokenizer = new Tokenizer(
      read(folder, "tokenizer.json"),
      read(folder, "tokenizer_config.json"),
    );
    const normalize = tokenizer.normalizer ?? ((line) => line);
    found[`normalized ${folder}`] = lines.map((line) => normalize(line));
    found[folder] = lines.map((line) => tokenizer.encode(line, { add_special_tokens: false }).ids);
  } catch (error) {
    found[folder] = String(error);
  }
}
console.log(JSON.stringify(found));
