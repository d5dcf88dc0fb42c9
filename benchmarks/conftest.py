"""Benchmarks: what the public call costs beside its peers, in one run.

    pytest benchmarks/                            all rows, in about half an hour on two idle cores
    pytest benchmarks/ --quick -k "loo and bert"  one row in seconds: two layers, one round, no goal is judged
    pytest benchmarks/ --benchmark-autosave       and later --benchmark-compare, with pytest-benchmark's own tables

A row is a ratio: our time over a peer's. Both are run in turns, so that a ratio compares moments of the same machine;
the median of the rounds is judged, and the smallest and largest show how noisy it was. Times themselves are never
judged. --same-products leaves linear maps to torch on both sides, where ours would take faster ones (test_products.py):
it tells what of a ratio is not theirs. On a machine that does other things besides, --benchmark-timer=time.process_time
with OMP_NUM_THREADS=1 counts what this process itself is given. Scripts beside these files need an environment of their
own (lxt_*) or are studies.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import nn

VOCABULARY = 1000
Call = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """A line of the table: the ratios of all rounds and what their median should not exceed."""

    name: str
    peer: str
    ratios: tuple[float, ...]
    goal: float | None

    @property
    def median(self) -> float:
        """The median over the rounds."""
        return statistics.median(self.ratios)


@dataclass
class Settings:
    """How thoroughly to measure, and the rows so far."""

    quick: bool
    rounds: int
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Sentences that stand beside the table."""

    def layers(self, count: int) -> int:
        """The number of layers of a model: two where it should be quick."""
        return 2 if self.quick else count


SETTINGS = pytest.StashKey[Settings]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options of these benchmarks."""
    group = parser.getgroup("axioms benchmarks")
    group.addoption("--quick", action="store_true", help="two layers and one round; goals are not judged")
    group.addoption("--same-products", action="store_true", help="linear maps by torch's own products on both sides")
    group.addoption("--rounds", type=int, default=7, help="rounds of every row (7)")


def pytest_configure(config: pytest.Config) -> None:
    """Read the options."""
    quick = config.getoption("--quick")
    config.stash[SETTINGS] = Settings(quick, 1 if quick else config.getoption("--rounds"))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the ratios."""
    rows, notes = config.stash[SETTINGS].rows, config.stash[SETTINGS].notes
    if notes:
        terminalreporter.section("measured beside")
        for sentence in notes:
            terminalreporter.write_line(sentence)
    if not rows:
        return
    width = max(len(row.name) for row in rows)
    products = ", torch's own products" if config.getoption("--same-products") else ""
    threads = f"{torch.get_num_threads()} threads"
    terminalreporter.section(f"ours over a peer, {threads}, torch {torch.__version__}{products}")
    terminalreporter.write_line(f"{'row':<{width}}  {'median':>6}  {'range':>12}  {'goal':>5}  peer")
    for row in rows:
        spread = f"{min(row.ratios):.2f} to {max(row.ratios):.2f}"
        goal = "" if row.goal is None else f"{row.goal:.2f}"
        terminalreporter.write_line(f"{row.name:<{width}}  {row.median:>6.2f}  {spread:>12}  {goal:>5}  {row.peer}")


@pytest.fixture(autouse=True)
def products(pytestconfig: pytest.Config) -> Iterator[None]:
    """The linear maps that were asked for."""
    with torch.backends.mkldnn.flags(enabled=not pytestconfig.getoption("--same-products")):
        yield


@pytest.fixture
def settings(pytestconfig: pytest.Config) -> Settings:
    """How thoroughly to measure."""
    return pytestconfig.stash[SETTINGS]


@pytest.fixture
def compare(alternate: Callable[..., float]) -> Callable[..., float]:
    """A function that does what `alternate` does when both calls have run once: imports are not what is measured."""

    def measure(name: str, ours: Call, peer: Call, **options: Any) -> float:
        ours(), peer()
        return alternate(name, ours, peer, **options)

    return measure


@pytest.fixture
def alternate(benchmark: Any, settings: Settings) -> Callable[..., float]:
    """A function that measures our call in turns with a peer's, adds a row to the table and judges its goal."""

    def measure(
        name: str, ours: Call, peer: Call, *, of: str, goal: float | None = None, rounds: int | None = None
    ) -> float:
        before: list[float] = []

        def run_peer() -> None:
            before.append(seconds(peer, benchmark._timer))

        benchmark.pedantic(ours, setup=run_peer, rounds=min(rounds or settings.rounds, settings.rounds))
        mine = benchmark.stats.stats.data
        row = Row(name, of, tuple(own / other for own, other in zip(mine, before, strict=True)), goal)
        settings.rows.append(row)
        benchmark.extra_info.update(peer=of, ratio=row.median, goal=goal)
        if goal is not None and not settings.quick:
            assert row.median <= goal, f"{name}: {row.median:.2f} of {of}, and the goal is {goal}"
        return row.median

    return measure


@pytest.fixture
def weigh_row(settings: Settings) -> Callable[..., None]:
    """A function that adds a ratio of memory to the table and judges its goal."""

    def add(name: str, ratio: float, goal: float) -> None:
        settings.rows.append(Row(name, "gradient_x_input", (ratio,), goal))
        if not settings.quick:
            assert ratio <= goal, f"{name}: {ratio:.2f} of gradient_x_input's, and the goal is {goal}"

    return add


@pytest.fixture(name="seconds")
def seconds_fixture() -> Callable[[Call], float]:
    """A function that measures the duration of a call."""
    return seconds


def seconds(call: Call, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the duration of a call."""
    started = clock()
    call()
    return clock() - started


@pytest.fixture
def bert(settings: Settings) -> Callable[..., nn.Module]:
    """A function that makes a BERT with random weights; BERT-base's shape unless told otherwise."""

    def make(layers: int = 12, width: int = 768, attention: str = "sdpa") -> nn.Module:
        from transformers import BertConfig, BertForSequenceClassification

        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=VOCABULARY,
            hidden_size=width,
            num_hidden_layers=settings.layers(layers),
            num_attention_heads=12,
            intermediate_size=4 * width,
            num_labels=2,
            attn_implementation=attention,
        )
        return BertForSequenceClassification(config).eval()

    return make


@pytest.fixture
def llama(settings: Settings) -> Callable[..., nn.Module]:
    """A function that makes a Llama with random weights; SmolLM2's width and vocabulary unless told otherwise."""

    def make(layers: int = 10, width: int = 576, vocabulary: int = 49152, attention: str = "sdpa") -> nn.Module:
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            num_hidden_layers=settings.layers(layers),
            num_attention_heads=width // 64,
            num_key_value_heads=3 if width // 64 % 3 == 0 else 4,
            intermediate_size=width * 8 // 3,
            attn_implementation=attention,
        )
        return LlamaForCausalLM(config).eval()

    return make


@pytest.fixture
def texts() -> Callable[..., dict[str, torch.Tensor]]:
    """A function that makes a batch of random token ids without padding."""

    def make(batch: int, length: int, vocabulary: int = VOCABULARY) -> dict[str, torch.Tensor]:
        ids = torch.randint(vocabulary, (batch, length), generator=torch.Generator().manual_seed(1))
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    return make
