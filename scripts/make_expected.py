#!/usr/bin/env python3
# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""What transformers computes, in the format that `kvmeter check --expected` reads.

Needs an environment of your own with torch and transformers; kvmeter itself needs neither.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import shutil
import sys
from pathlib import Path

from checkpoints.families import FAMILIES

MISSING = "needs torch, transformers, safetensors and numpy: pip install torch transformers"
try:
    import numpy as np
    import torch
    import transformers
    from safetensors import SafetensorError
    from safetensors.torch import load_file, save_file
except ImportError as error:
    if "--help" not in sys.argv and "-h" not in sys.argv:
        sys.exit(f"make_expected: {error}; {MISSING}")

EXAMPLE = """examples:
  make_expected.py checkpoint models/smollm2-135m expected.safetensors --prompt 64 --new 16
  make_expected.py families tests/fixtures

Everything is computed in f32 from the weights as stored, whatever their element."""

SEED = 20261130
# A greedy id is worth comparing only where the best two logits are further apart than any
# implementation's rounding: this share of the largest magnitude.
LEAST_MARGIN = 1e-3
# Greedy decoding of a random model soon repeats itself; a row of one token would prove little.
LEAST_DISTINCT = 5
# Without the feature a family is there for, logits must move by at least this share.
LEAST_EFFECT = 2e-2


class UserError(Exception):
    """Something the user can act on; the message is one line."""


# --- what transformers computes ------------------------------------------------------------------


def load_model(model_dir: Path, **changes) -> torch.nn.Module:
    """The checkpoint in f32 arithmetic, with some keys of its configuration changed."""
    if not (model_dir / "config.json").is_file():
        raise UserError(f"{model_dir}: no config.json there")
    raw = json.loads((model_dir / "config.json").read_text()) | changes
    if raw.get("model_type") not in transformers.CONFIG_MAPPING:
        kind = raw.get("model_type")
        raise UserError(f"{model_dir}/config.json: transformers knows no model_type '{kind}'")
    try:
        model, report = transformers.AutoModelForCausalLM.from_pretrained(
            model_dir,
            config=transformers.AutoConfig.for_model(**raw),
            dtype=torch.float32,
            attn_implementation="eager",
            output_loading_info=True,
        )
    except SafetensorError as error:
        raise UserError(f"{model_dir}: unreadable weights: {error}") from error
    # transformers would fill these with random values and go on.
    missing = sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]]))
    if missing:
        raise UserError(f"{model_dir}: weights missing or of another shape: {', '.join(missing)}")
    return model.eval()


def greedy(model, ids: torch.Tensor, n_new: int) -> tuple[torch.Tensor, ...]:
    """One prefill, then one token per step from the cache; end of sequence never stops it.

    Returns logits [batch, prompt, vocab], generated [batch, new], step_logits [batch, new, vocab].
    """
    # The argument was renamed; releases before that know only the longer name.
    known = inspect.signature(model.forward).parameters
    cache_name = "cache" if "cache" in known else "past_key_values"
    cache = {cache_name: transformers.DynamicCache(config=model.config), "use_cache": True}
    logits = model(ids, **cache).logits
    steps = [logits[:, -1]]
    chosen = [steps[-1].argmax(dim=-1, keepdim=True)]
    while len(chosen) < n_new:
        steps.append(model(chosen[-1], **cache).logits[:, -1])
        chosen.append(steps[-1].argmax(dim=-1, keepdim=True))
    return logits, torch.cat(chosen, dim=1), torch.stack(steps, dim=1)


def negative_log_likelihood(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """nll[b, i] = -log p(ids[b, i + 1] given ids[b, 0..i]) in nats; softmax in f64."""
    log_p = torch.log_softmax(logits[:, :-1].double(), dim=-1)
    return -log_p.gather(-1, ids[:, 1:, None]).squeeze(-1).float()


def expected_tensors(model, ids: torch.Tensor, n_new: int) -> dict[str, torch.Tensor]:
    with torch.no_grad():
        logits, generated, step_logits = greedy(model, ids, n_new)
    return {
        "input_ids": ids,
        "logits": logits,
        "generated": generated,
        "step_logits": step_logits,
        "nll": negative_log_likelihood(logits, ids),
    }


def least_margin(step_logits: torch.Tensor) -> float:
    """Least distance of the best logit from the second, as a share of the largest magnitude."""
    best = step_logits.topk(2, dim=-1).values
    return ((best[..., 0] - best[..., 1]).min() / step_logits.abs().max()).item()


def least_distinct(generated: torch.Tensor) -> int:
    return min(len(set(row)) for row in generated.tolist())


def save(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    save_file(tensors, path, metadata={"format": "pt"})
    path.chmod(0o644)  # save_file leaves files that only their owner may read


def save_expected(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        save(partial, {name: tensor.contiguous() for name, tensor in tensors.items()})
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


# --- families: small random checkpoints ----------------------------------------------------------


def random_weights(model, rng: np.random.Generator, element: str) -> dict[str, torch.Tensor]:
    """Large enough that neither attention nor logits come out nearly uniform."""
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    weights = {}
    for name in sorted(model.state_dict().keys() - tied):
        shape = tuple(model.state_dict()[name].shape)
        values = 0.3 * rng.standard_normal(shape)
        if len(shape) == 1 and name.endswith("weight"):
            values += 1.0  # a norm
        weights[name] = torch.from_numpy(values.astype(np.float32)).to(getattr(torch, element))
    return weights


def hub_names(weights: dict[str, torch.Tensor], n_positions: int) -> dict[str, torch.Tensor]:
    renamed = {name.removeprefix("transformer."): tensor for name, tensor in weights.items()}
    mask = torch.tril(torch.ones(1, 1, n_positions, n_positions))
    layers = {name.split(".")[1] for name in renamed if name.startswith("h.")}
    return renamed | {f"h.{layer}.attn.bias": mask.clone() for layer in layers}


def save_weights(folder: Path, weights: dict[str, torch.Tensor], n_shards: int) -> None:
    if n_shards == 1:
        save(folder / "model.safetensors", weights)
        return
    names = sorted(weights)
    weight_map = {}
    for shard in range(n_shards):
        file = f"model-{shard + 1:05d}-of-{n_shards:05d}.safetensors"
        part = names[shard * len(names) // n_shards : (shard + 1) * len(names) // n_shards]
        save(folder / file, {name: weights[name] for name in part})
        weight_map |= dict.fromkeys(part, file)
    total = sum(tensor.numel() * tensor.element_size() for tensor in weights.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    write_json(folder / "model.safetensors.index.json", index)


def write_json(path: Path, content: dict) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")


def write_checkpoint(folder: Path, family: dict, rng: np.random.Generator) -> None:
    element = family.get("element", "float32")
    write_json(folder / "config.json", family["config"] | {"dtype": element})
    config = transformers.AutoConfig.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_config(config)
    weights = random_weights(model, rng, element)
    if family.get("hub_names"):
        weights = hub_names(weights, family["config"]["n_positions"])
    save_weights(folder, weights, family.get("shards", 1))


def effect_of_feature(folder: Path, family: dict, expected: dict[str, torch.Tensor]) -> float:
    """How far the logits move without the feature, as a share of the largest magnitude."""
    other = load_model(folder, **family["without"])
    with torch.no_grad():
        logits = other(expected["input_ids"]).logits
    return ((logits - expected["logits"]).abs().max() / expected["logits"].abs().max()).item()


def make_family(name: str, out_dir: Path) -> None:
    """Tries seeds until every greedy choice is clear and every row varied."""
    family, final = FAMILIES[name], out_dir / name
    batch, n_prompt, n_new = family["sizes"]
    partial = out_dir / f".{name}.{os.getpid()}"
    try:
        for seed in range(SEED, SEED + 100):
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            rng = np.random.default_rng([seed, *name.encode()])
            write_checkpoint(partial, family, rng)
            ids = rng.integers(0, family["config"]["vocab_size"], (batch, n_prompt))
            expected = expected_tensors(load_model(partial), torch.from_numpy(ids), n_new)
            margin = least_margin(expected["step_logits"])
            varied = least_distinct(expected["generated"]) >= LEAST_DISTINCT
            if varied and margin > LEAST_MARGIN:
                break
        else:
            raise UserError(f"{name}: no seed gives clear and varied greedy choices")
        effect = effect_of_feature(partial, family, expected)
        if effect < LEAST_EFFECT:
            raise UserError(f"{name}: its feature moves logits by only {effect:.1e}")
        save_expected(partial / "expected.safetensors", expected)
        shutil.rmtree(final, ignore_errors=True)
        partial.rename(final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    print(f"{final}: seed {seed}, least margin {margin:.1e}, effect of feature {effect:.2f}")


def make_families(options: argparse.Namespace) -> None:
    options.out_dir.mkdir(parents=True, exist_ok=True)
    for name in FAMILIES:
        make_family(name, options.out_dir)


# --- a checkpoint of the user's ------------------------------------------------------------------


def ids_from_file(path: Path, batch: int, n_prompt: int) -> torch.Tensor:
    """The first batch x prompt ids of `token_ids` or `input_ids`, row after row."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    tensors = load_file(path)
    flat = next((tensors[k] for k in ("token_ids", "input_ids") if k in tensors), None)
    if flat is None:
        raise UserError(f"{path}: holds neither token_ids nor input_ids")
    if flat.numel() < batch * n_prompt:
        raise UserError(
            f"{path}: {flat.numel()} ids, fewer than --batch {batch} x --prompt {n_prompt}"
        )
    return flat.reshape(-1)[: batch * n_prompt].reshape(batch, n_prompt).long()


def choose_ids(options: argparse.Namespace, vocab_size: int) -> torch.Tensor:
    if options.ids == "random":
        rng = np.random.default_rng(SEED)
        return torch.from_numpy(rng.integers(0, vocab_size, (options.batch, options.prompt)))
    ids = ids_from_file(Path(options.ids), options.batch, options.prompt)
    if ids.min() < 0 or ids.max() >= vocab_size:
        raise UserError(f"{options.ids}: ids outside the vocabulary 0..{vocab_size - 1}")
    return ids


def make_checkpoint(options: argparse.Namespace) -> None:
    if not options.out.parent.is_dir():
        raise UserError(f"{options.out}: no such folder")
    model = load_model(options.model_dir)
    limit = getattr(model.config, "max_position_embeddings", None)
    if limit is not None and options.prompt + options.new > limit:
        raise UserError(
            f"--prompt {options.prompt} + --new {options.new} exceeds the model's {limit} positions"
        )
    ids = choose_ids(options, model.config.vocab_size)
    tensors = expected_tensors(model, ids, options.new)
    margin = least_margin(tensors["step_logits"])
    if options.no_logits:
        del tensors["logits"], tensors["step_logits"]
    save_expected(options.out, tensors)
    nll = tensors["nll"].double().mean().item()
    print(f"{options.out}: nll_mean {nll:.6f}, least greedy margin {margin:.1e} of max |logit|")


# --- command line --------------------------------------------------------------------------------


def at_least(least: int):
    def number(text: str) -> int:
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number >= {least}")
        return int(text)

    return number


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make_expected.py",
        description=__doc__,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="families|checkpoint")
    families = commands.add_parser("families", help="the small random checkpoints of the tests")
    families.add_argument("out_dir", type=Path, metavar="OUT_DIR")
    families.set_defaults(make=make_families)

    one = commands.add_parser("checkpoint", help="the values of a checkpoint of yours")
    one.add_argument("model_dir", type=Path, metavar="MODEL_DIR")
    one.add_argument("out", type=Path, metavar="OUT.safetensors")
    one.add_argument(
        "--ids",
        default="random",
        metavar="FILE.safetensors|random",
        help="prompts: token_ids as scripts/tokenize_text writes them (default: random)",
    )
    one.add_argument("--prompt", type=at_least(2), default=32, metavar="N", help="tokens a row")
    one.add_argument("--new", type=at_least(1), default=16, metavar="N", help="tokens to generate")
    one.add_argument("--batch", type=at_least(1), default=1, metavar="B", help="rows")
    one.add_argument(
        "--no-logits", action="store_true", help="leave logits out: a long prompt's are large"
    )
    one.set_defaults(make=make_checkpoint)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        options.make(options)
    except (UserError, OSError, ValueError, SafetensorError) as error:
        print(f"make_expected: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
