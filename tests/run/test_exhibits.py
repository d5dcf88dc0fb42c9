"""What a report shows beside the numbers: accounts of methods that are made of rules, and nothing computed twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from axioms.core.entries import Method
from axioms.core.registry import METHODS
from axioms.run.cache import Cache
from axioms.run.examples import most_different
from axioms.run.runner import Runner
from axioms.spec import expand_file

SPEC = """claim: c
subject: {{model: {{tiny: {{architecture: llama}}}}, data: {{random-tokens: {{n: 2, length: 5}}}}}}
run: {{dtype: float64}}
methods: [{method}]
checks: [{{axiom: conservation, record: [ratio.mean]}}]
"""
Write = Callable[..., Path]


@pytest.mark.parametrize(("method", "has_accounts"), [("attnlrp", True), ("block_lrp", True), ("loo", False)])
def test_accounts_are_of_methods_with_a_composite(write_spec: Write, method: str, has_accounts: bool) -> None:
    (check,) = expand_file(write_spec(SPEC.format(method=method))).checks
    accounts = Runner().run(check).accounts
    assert bool(accounts) is has_accounts
    for account in accounts.values():
        assert account["rows"]
        assert abs(account["unexplained"]) <= 1e-9 * abs(account["output"])


def test_nothing_is_computed_again_to_be_shown(
    write_spec: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (check,) = expand_file(write_spec(SPEC.format(method="attnlrp"))).checks
    first = Runner(cache=Cache(tmp_path / "cache")).run(check)

    def fail(*arguments: object, **options: object) -> None:
        raise AssertionError("the method was run again")

    entry = METHODS.get("attnlrp")
    fail.__module__ = entry.function.__module__  # what is not ours is always measured anew
    monkeypatch.setitem(METHODS._entries, "attnlrp", Method("attnlrp", fail, composite=entry.composite))
    second = Runner(cache=Cache(tmp_path / "cache")).run(check)
    assert second.accounts == first.accounts
    assert second.judgement == first.judgement


def test_images_are_those_on_which_the_two_models_differ_most() -> None:
    left = torch.tensor([[1.0, 0.0], [1.0, 1.0], [4.0, 2.0], [0.0, 0.0], [2.0, 2.0]])
    right = torch.tensor([[1.0, 0.1], [1.0, 0.0], [4.0, 0.0], [0.0, 0.0], [2.0, 2.0]])
    (first, second, third), gaps = zip(*most_different(left, right), strict=True)
    assert gaps == pytest.approx((1, 0.5, 0.1))
    assert [first, second, third] == [1, 2, 0], "by their shares: 1, a half and a tenth; where all is 0, nothing"
