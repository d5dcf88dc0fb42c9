"""Shards: whoever computes which examples, and how many at a time, the numbers are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axioms.core.errors import AxiomsError
from axioms.run import source
from axioms.run.address import Address
from axioms.run.cache import Cache
from axioms.run.requests import WHOLE, Request, measurement
from axioms.run.runner import Result, Runner
from axioms.run.source import open_source, shards_of
from axioms.run.worker import Worker
from axioms.spec import Check, MethodRef, expand_file

Write = Callable[..., Path]
TOKENS = """claim: c
subject: {model: {tiny: {architecture: bert}}, data: {random-tokens: {n: 7, length: 6}}}
run: {dtype: float64, batch_size: 2}
methods: [attnlrp, gradient_x_input]
checks:
  - axiom: loo_correlation
    record: [pearson.mean]
  - axiom: attention_flatness
    methods: [attnlrp]
    record: [rank_correlation]
  - axiom: batch_invariance
  - axiom: cost
    methods: [attnlrp]
    record: [passes]
compare:
  - {metric: loo_correlation.pearson, better: attnlrp, than: gradient_x_input, by: {gt: -2}, confidence: 0.95}
"""
TEXTS = """claim: c
subject:
  model: {{hub-classifier: {{name: {folder}}}}}
  data: {{text-file: {{path: texts.tsv}}}}
  remove: {{kind: {kind}}}
run: {{dtype: float64, batch_size: 2}}
methods: [attnlrp]
checks: [{{axiom: loo_correlation, record: [pearson.mean]}}]
"""


@given(st.integers(1, 500), st.integers(1, 100))
def test_shards_are_whole_batches_in_order(count: int, batch_size: int) -> None:
    bounds = shards_of(count, batch_size)
    assert [example for bound in bounds for example in range(*bound)] == list(range(count))
    assert all(start % batch_size == 0 for start, _ in bounds)
    assert all(stop - start > 1 for start, stop in bounds) or count == 1
    assert all(stop - start <= max(source.SHARD, batch_size) + 1 for start, stop in bounds)


@pytest.fixture
def in_shards_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    return lambda size: monkeypatch.setattr(source, "SHARD", size)


def results(file: Path, cache: Cache | None = None) -> dict[str, Result]:
    checks = expand_file(file).checks
    runner = Runner(cache=cache, planned=checks)
    return {f"{check.function} {check.id}": runner.run(check) for check in checks}


def assert_same(one: Mapping[str, Result], other: Mapping[str, Result]) -> None:
    assert list(one) == list(other)
    for name, result in one.items():
        if not name.startswith("cost"):
            for metric, values in result.measurement.values.items():
                # Sums over the features of more or fewer rows at once are rounded differently by numpy.
                theirs = other[name].measurement.values[metric]
                np.testing.assert_allclose(values, theirs, rtol=1e-12, atol=1e-15, err_msg=metric)
            assert result.judgement.verdict == other[name].judgement.verdict
            assert result.examples == other[name].examples
            assert list(result.tests) == list(other[name].tests)


def test_the_numbers_are_those_of_all_examples_at_once(write_spec: Write, in_shards_of: Callable[[int], None]) -> None:
    file = write_spec(TOKENS)
    whole = results(file)
    in_shards_of(2)
    assert_same(whole, results(file))


@pytest.mark.parametrize("kind", ["attention_mask", "resample"])
def test_texts_are_padded_and_drawn_from_as_all_of_them_are(
    kind: str, write_spec: Write, repository: Callable[[str], Path], in_shards_of: Callable[[int], None]
) -> None:
    file = write_spec(TEXTS.format(folder=repository("classifier"), kind=kind))
    texts = ["the film is good", "bad", "not a very dull plot but fine", "it was dull", "a fine film", "it is bad"]
    (file.parent / "texts.tsv").write_text("text\n" + "\n".join(texts) + "\n")
    whole = results(file)
    in_shards_of(4)
    shards = results(file)
    assert_same(whole, shards)
    assert [len(result.examples) for result in shards.values()] == [3]


def test_only_right_sentences_make_up_shards(root: Path, in_shards_of: Callable[[int], None]) -> None:
    file = root / "specs" / "agreement.yaml"
    (check,) = [check for check in expand_file(file).checks if check.function == "task"][:1]
    subject = check.subject.model_copy(update={"data": check.subject.data.model_copy(update={"options": {"n": 24}})})
    run = check.run.model_copy(update={"batch_size": 4, "dtype": "float64"})
    whole = open_source(subject, run, file)
    assert len(whole.shards) == 1
    in_shards_of(4)
    shards = open_source(subject, run, file)
    assert whole.data.agreement == shards.data.agreement
    assert len(shards.shards) > 2
    worker, address, method = Worker(lambda *_: None), Address(subject, run, file), MethodRef.model_validate("cp_lrp")
    assert worker.open(address).shards == len(shards.shards)
    for request in (measurement("task", {}, None), measurement("chance", {}, None)):
        assert request.shards(5) == [0]
        assert worker.compute(address, 0, request) == worker.compute(address, WHOLE, request)
    request = measurement("ground_truth", {}, method)
    parts = [worker.compute(address, shard, request)["rma"] for shard in range(len(shards.shards))]
    np.testing.assert_array_equal(np.concatenate(parts), worker.compute(address, WHOLE, request)["rma"])


class Counting(Worker):
    """A worker that counts what it computes, and may be interrupted or fail."""

    computed: Counter[tuple[str, int]]
    stop_after: int | None = None
    failing: str | None = None

    def compute(self, address: Address, shard: int, request: Request) -> Any:
        if self.stop_after is not None and sum(self.computed.values()) >= self.stop_after:
            raise KeyboardInterrupt
        if self.failing == request.axiom and shard == 1:
            raise AxiomsError("this is why")
        self.computed[request.axiom, shard] += 1
        return super().compute(address, shard, request)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    worker = type("Counting", (Counting,), {"computed": Counter()})
    monkeypatch.setattr("axioms.run.runner.Worker", worker)
    return worker


def test_an_interrupted_run_keeps_every_finished_shard(
    write_spec: Write, tmp_path: Path, in_shards_of: Callable[[int], None], counting: type[Counting]
) -> None:
    file = write_spec(TOKENS.replace("  - axiom: cost\n    methods: [attnlrp]\n    record: [passes]\n", ""))
    in_shards_of(2)
    whole = results(file)
    every = Counter(counting.computed)
    assert set(every.values()) == {1, 2}, "two methods, or one: nothing is computed twice"
    counting.computed.clear()
    counting.stop_after = 7
    with pytest.raises(KeyboardInterrupt):
        results(file, Cache(tmp_path / "cache"))
    counting.stop_after = None
    cache = Cache(tmp_path / "cache")
    assert_same(whole, results(file, cache))
    assert counting.computed == every, "together they computed what one does"
    assert cache.reused == 7


def test_an_error_on_one_shard_is_that_of_its_own_check(
    write_spec: Write, in_shards_of: Callable[[int], None], counting: type[Counting]
) -> None:
    in_shards_of(2)
    counting.failing = "batch_invariance"
    checks = expand_file(write_spec(TOKENS)).checks
    runner = Runner(planned=checks)

    def run(check: Check) -> None:
        runner.run(check)

    for check in checks:
        if check.function == "batch_invariance":
            with pytest.raises(AxiomsError, match="this is why"):
                run(check)
        else:
            run(check)


def test_an_axiom_that_is_about_all_examples_sees_all() -> None:
    assert measurement("relevance", {}, None).shards(3) == [WHOLE]
    assert measurement("relevance", {}, None).shards(1) == [0]
    assert measurement("loo_correlation", {}, None).shards(3) == [0, 1, 2]
    assert Request("examples", "loo_correlation", {}, None).shards(3) == [0]
    assert Request("examples", "ground_truth", {}, None).shards(3) == [0, 1, 2]
