"""Encode words and lines with sentencepiece, its vocabulary restricted by `set_vocabulary`.

Runs in the environment `sentencepiece_0_1_99`:

    python run_sentencepiece_0_1_99.py --model bpe.model --cases cases.json --output encoded.json

cases.json: a list of {"vocabulary": [pieces], "texts": [texts]}. Output: {"version", "encoded":
for each case the list of pieces of each of its texts}.
"""

import argparse
import json
from pathlib import Path

import sentencepiece


def encode(model, vocabulary, texts):
    """Return the pieces of each text, made of `vocabulary` and single characters."""
    processor = sentencepiece.SentencePieceProcessor(model_file=model)
    processor.set_vocabulary(vocabulary)
    return [processor.encode(text, out_type=str) for text in texts]


def main():
    """Read the command line, encode, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option in ("--model", "--cases", "--output"):
        parser.add_argument(option, required=True)
    arguments = parser.parse_args()
    cases = json.loads(Path(arguments.cases).read_text(encoding="utf-8"))
    encoded = [encode(arguments.model, case["vocabulary"], case["texts"]) for case in cases]
    outcome = {"version": sentencepiece.__version__, "encoded": encoded}
    Path(arguments.output).write_text(json.dumps(outcome, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
