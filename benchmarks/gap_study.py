"""What makes the gap CP-LRP minus AttnLRP: depth, fine-tuning or attention, on forms of one 12-layer BERT.

    python benchmarks/gap_study.py            # some twenty minutes on two idle cores; run it again to go on
    python benchmarks/gap_study.py --n 16     # a first look

Every form is gte-small as a sentiment classifier, trained on the same rows:
    head alone     the pretrained layers as they are, a new head
    adapters       rank-8 adapters on all matrices (fixtures/minilm/train.py), pooler and head
    all layers     `bert-small12`, seed 0
    cut after k    the first k layers of `bert-small12`, with a new head
A new head reads the mean of the tokens: up to the middle layers the first token of this model is nearly the same for
every text (its states differ by 0.002 of their size), so that nothing can be read there. "cut after 12" reads the whole
model so, beside "all layers", which reads its first token.
The gap is the mean over held-out sentences of the difference in r with leave-one-out by the attention mask, through
`axioms.attribute`, with its 95% bootstrap interval. Nothing is judged: this looks for what goes with the gap.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

import axioms
from axioms.properties.helpers.correlations import pearson, sign_flipped, sum_normalized
from axioms.subjects.assets import locate
from axioms.subjects.load import load_data, load_model
from axioms.subjects.models.accuracy import accuracy
from axioms.subjects.models.language import LanguageModel
from axioms.subjects.models.lora import lora_classifier
from axioms.verdict.measure import bootstrap_interval

ROOT = Path(__file__).resolve().parents[1]
SPEC = ROOT / "specs" / "full" / "division.yaml"
"""Fixtures are looked for from here."""
sys.path.insert(0, str(ROOT / "fixtures"))
from finetune import Review, batches, locate_reviews, overlap_with, training_rows  # noqa: E402

CUTS = (2, 4, 6, 8, 10, 12)
STEPS, RATE, BATCH = 600, 1e-3, 128
"""Of Adam, for a head on frozen layers."""
PAIRS = {
    "tuned against pretrained layers, both read at the mean": ("cut after 12", "head alone"),
    "all layers against adapters, both read at the first token": ("all layers", "adapters"),
    "first token against mean, all layers tuned": ("all layers", "cut after 12"),
}
"""Forms that differ in little else; docs/results/twelve_layers.md says in what."""
Numbers = np.ndarray[Any, np.dtype[np.float64]]
Rows = list[Review]


def load_full() -> LanguageModel:
    """Return `bert-small12`."""
    return load_model("bert-small12", {}, SPEC)


def load_pretrained() -> LanguageModel:
    """Return gte-small's own layers and tokenizer in the place of `bert-small12`'s."""
    from safetensors.torch import load_file

    model = load_full()
    weights = load_file(locate("gte-small", SPEC) / "model.safetensors")
    model.module.bert.load_state_dict(weights, strict=False)
    return model


class MeanReadout(nn.Module):
    """The first layers of an encoder, the mean of their tokens, one hidden layer and two classes."""

    def __init__(self, encoder: Any, layers: int) -> None:
        super().__init__()
        encoder.encoder.layer = encoder.encoder.layer[:layers]
        self.bert, self.config = encoder, encoder.config
        self.config.num_hidden_layers = layers
        width = encoder.config.hidden_size
        self.head = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Dropout(0.1), nn.Linear(width, 2))

    def get_input_embeddings(self) -> nn.Module:
        """Return the table of token embeddings."""
        return self.bert.get_input_embeddings()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        **others: Any,
    ) -> SequenceClassifierOutput:
        """Return the logits of the classes."""
        outputs = self.bert(input_ids=input_ids, attention_mask=attention_mask, inputs_embeds=inputs_embeds, **others)
        logits = self.head(mean_token(outputs.last_hidden_state, attention_mask))
        return SequenceClassifierOutput(logits=logits, attentions=outputs.attentions)


def mean_token(states: Tensor, attention_mask: Tensor | None) -> Tensor:
    """Return the mean over the tokens that are not masked (texts x width)."""
    if attention_mask is None:
        return states.mean(dim=1)
    weights = attention_mask.to(states.dtype)
    return torch.einsum("bt,btw->bw", weights, states) / weights.sum(dim=1, keepdim=True)


@torch.no_grad()
def encode(model: LanguageModel, texts: list[str]) -> Tensor:
    """Return what the head reads of each text (texts x width)."""
    rows = torch.empty(len(texts), model.module.config.hidden_size)
    lengths = [len(text.split()) for text in texts]
    for batch in batches(lengths, 64, torch.Generator().manual_seed(0)):
        encoded = model.tokenizer(
            [texts[row] for row in batch], truncation=True, max_length=64, padding=True, return_tensors="pt"
        )
        rows[batch] = mean_token(model.module.bert(**encoded).last_hidden_state, encoded["attention_mask"])
    return rows


def with_new_head(model: LanguageModel, layers: int, rows: Rows) -> LanguageModel:
    """Return the first layers with a new head, which is trained on the frozen layers."""
    torch.manual_seed(0)
    readout = MeanReadout(model.module.bert, layers)
    model = replace(model, module=readout.eval())
    states, labels = encode(model, [row.text for row in rows]), torch.tensor([row.label for row in rows])
    optimizer = torch.optim.AdamW(readout.head.parameters(), lr=RATE, weight_decay=0.01)
    readout.head.train()
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
        chosen = torch.randint(len(rows), (BATCH,))
        loss = nn.functional.cross_entropy(readout.head(states[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    readout.eval()
    return model


def load_adapted(folder: Path) -> LanguageModel:
    """Return gte-small with adapters, trained by the script of `minilm-sentiment` unless they are in the folder."""
    base, file = locate("gte-small", SPEC), folder / "adapters.safetensors"
    if not file.is_file():
        sys.path.insert(0, str(ROOT / "fixtures" / "minilm"))
        import train

        torch.manual_seed(0)  # the pooler, which gte-small does not have, is drawn when the model is loaded
        (folder / "overlap.txt").write_text((ROOT / "fixtures" / "minilm" / "overlap.txt").read_text())
        train.main(["--base", str(base), "--output", str(file), "--epochs", "2"])
    return lora_classifier(asset=str(base), files={"difference": str(file)})


def measure(model: LanguageModel, texts: list[str]) -> dict[str, list[float]]:
    """Return for each text r with leave-one-out of both methods, as it is and divided, flips, entropy and length."""
    found: dict[str, list[float]] = {}
    model.module.eval()
    for number, text in enumerate(texts):
        inputs = dict(model.tokenizer([text], truncation=True, max_length=64, return_tensors="pt"))
        maps = {
            name: axioms.attribute(model.module, inputs, method=name).scores.double().numpy()
            for name in ("loo", "attnlrp", "cp_lrp")
        }
        row = {"tokens": float(maps["loo"].shape[1]), "entropy": entropy(model.module, inputs)}
        for name in ("attnlrp", "cp_lrp"):
            row[name] = float(pearson(maps[name], maps["loo"])[0])
            row[f"{name} divided"] = float(pearson(sum_normalized(maps[name]), sum_normalized(maps["loo"]))[0])
            row[f"{name} flipped"] = float(sign_flipped(maps[name], maps["loo"])[0])
        for name, value in row.items():
            found.setdefault(name, []).append(value)
        if (number + 1) % 16 == 0:
            print(f"    {number + 1}/{len(texts)} sentences", file=sys.stderr, flush=True)
    return found


@torch.no_grad()
def entropy(module: Any, inputs: dict[str, Tensor]) -> float:
    """Return the entropy of attention over that of spreading it evenly, mean over layers, heads and queries."""
    attentions = torch.stack(module(**inputs, output_attentions=True).attentions).double()
    nats = -torch.special.xlogy(attentions, attentions).sum(-1)
    return float((nats / np.log(attentions.shape[-1])).mean())


def with_interval(values: Numbers) -> str:
    """Return the mean and its 95% bootstrap interval."""
    low, high = bootstrap_interval(values, confidence=0.95, seed=0) or (np.nan, np.nan)
    return f"{values.mean():+.3f} [{low:.3f}, {high:.3f}]"


def row_of(name: str, found: dict[str, Any]) -> str:
    """Return a line of the table."""
    values = {key: np.array(numbers) for key, numbers in found["values"].items()}
    flips = f"{values['attnlrp flipped'].mean():.0%}, {values['cp_lrp flipped'].mean():.0%}"
    cells = [
        name,
        found["accuracy"],
        f"{values['entropy'].mean():.2f}",
        f"{values['attnlrp'].mean():.2f}, {values['cp_lrp'].mean():.2f}",
        with_interval(values["cp_lrp"] - values["attnlrp"]),
        with_interval(values["cp_lrp divided"] - values["attnlrp divided"]),
        flips,
    ]
    return f"| {' | '.join(cells)} |"


def within(found: dict[str, Any]) -> str:
    """Return the rank correlations of the gap with entropy and length, over the sentences of one form."""
    values = {key: np.array(numbers) for key, numbers in found["values"].items()}
    gap, parts = gap_of(found), []
    for key in ("entropy", "tokens"):
        test = spearmanr(gap, values[key])
        parts.append(f"{key} {test.statistic:+.2f} (p {test.pvalue:.2g})")
    return ", ".join(parts)


def gap_of(found: dict[str, Any]) -> Numbers:
    """Return CP-LRP minus AttnLRP in r, sentence by sentence."""
    return np.array(found["values"]["cp_lrp"]) - np.array(found["values"]["attnlrp"])


def main() -> None:
    """Train what is not there, measure, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=96, help="held-out sentences (default %(default)s)")
    parser.add_argument("--only", default="", help="only forms whose name contains this")
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache" / "gap", help="where results are kept")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    reviews = locate_reviews(None)
    overlap = overlap_with(reviews, None, ROOT / "fixtures" / "minilm" / "overlap.txt")
    rows, validation = training_rows(reviews, overlap)
    texts = load_data("rotten-tomatoes", {"split": "held-out", "n": arguments.n}, SPEC, None).texts
    assert texts is not None
    forms: dict[str, Callable[[], LanguageModel]] = {
        "head alone": lambda: with_new_head(load_pretrained(), 12, rows),
        "all layers": load_full,
        **{f"cut after {k}": lambda k=k: with_new_head(load_full(), k, rows) for k in CUTS},  # type: ignore[misc]
        "adapters": lambda: load_adapted(arguments.folder),
    }
    for name in [name for name in forms if arguments.only in name]:
        file = arguments.folder / f"{name.replace(' ', '_')}_{arguments.n}.json"
        if not file.is_file():
            print(f"  {name}", file=sys.stderr, flush=True)
            model = forms[name]()
            share = accuracy(model, [row.text for row in validation], [row.label for row in validation])
            file.write_text(json.dumps({"accuracy": str(share), "values": measure(model, list(texts))}))
    print(f"\nheld-out sentences: {arguments.n}; accuracy on the validation tenth")
    print("| form | accuracy | entropy | r: AttnLRP, CP-LRP | gap as it is | gap divided | flipped |")
    print("|---|---|---|---|---|---|---|")
    known = {name: arguments.folder / f"{name.replace(' ', '_')}_{arguments.n}.json" for name in forms}
    results = {name: json.loads(file.read_text()) for name, file in known.items() if file.is_file()}
    print(*(row_of(name, found) for name, found in results.items()), sep="\n")
    print("\nchange of the gap, on the same sentences:")
    for what, (one, other) in PAIRS.items():
        if one in results and other in results:
            print(f"{what}: {with_interval(gap_of(results[one]) - gap_of(results[other]))}")
    print("\nrank correlation of a sentence's gap with its entropy and its length:")
    print(*(f"{name}: {within(found)}" for name, found in results.items()), sep="\n")


if __name__ == "__main__":
    main()
