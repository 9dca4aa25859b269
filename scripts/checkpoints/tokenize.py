# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Turn a text into token ids that a sweep's `text` key takes."""

import argparse
import sys
from pathlib import Path

EXAMPLE = """example:
  scripts/tokenize_text models/smollm2-135m README.md readme.safetensors

writes one tensor, token_ids, I32 [n_tokens]; no beginning-of-sequence token is put in front"""


def read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text (byte {error.start})") from error


def load_tokenizer(model_dir: Path):
    from tokenizers import Tokenizer

    path = model_dir / "tokenizer.json"
    if not path.is_file():
        raise ValueError(f"{path}: not found; MODEL_DIR must hold a tokenizer.json")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the tokenizers package raises bare Exception
        raise ValueError(f"{path}: {error}") from error


def tokenize_file(tokenizer, text_path: Path, out_path: Path) -> int:
    """Returns the number of tokens written."""
    from checkpoints.safetensors_file import write_token_ids

    ids = tokenizer.encode(read_text(text_path), add_special_tokens=False).ids
    if not ids:
        raise ValueError(f"{text_path}: holds no text")
    write_token_ids(out_path, ids)
    return len(ids)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tokenize_text",
        description="Turn a text into token ids with the tokenizer.json of a checkpoint.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model_dir", type=Path, metavar="MODEL_DIR")
    parser.add_argument("text", type=Path, metavar="TEXT_FILE", help="UTF-8")
    parser.add_argument("out", type=Path, metavar="OUT.safetensors")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    try:
        n_tokens = tokenize_file(load_tokenizer(options.model_dir), options.text, options.out)
    except ImportError as error:
        return fail(f"{error}; run scripts/setup")
    except (OSError, ValueError) as error:
        return fail(str(error))
    print(f"{options.out}: {n_tokens} tokens")
    return 0


def fail(message: str) -> int:
    print(f"tokenize_text: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
