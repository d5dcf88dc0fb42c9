"""No-ops around calls: on every tensor of numbers that a call reads, and on nothing that it writes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from axioms.engine.handlers.insert import Insertion
from axioms.engine.mode import Mode

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def touched(call: Any) -> tuple[int, int, Any]:
    """Return how often a call's operands are renewed and reviewed, and its value."""
    renewed: list[Tensor] = []
    reviewed: list[Tensor] = []

    def note(where: list[Tensor]) -> Any:
        def no_op(x: Tensor) -> Tensor:
            where.append(x)
            return x

        return no_op

    with Mode(Insertion(note(renewed), note(reviewed))):
        value = call()
    return len(renewed), len(reviewed), value


@pytest.mark.parametrize(
    ("call", "renewed", "reviewed"),
    [
        (lambda: torch.add(X, X), 2, 0),
        (lambda: torch.add(input=X, other=X), 2, 0),
        (lambda: torch.cat([X, X]), 2, 0),
        (lambda: torch.cat((X, X)), 2, 0),
        (lambda: torch.relu(X), 1, 0),
        (lambda: X.view(4), 0, 1),
        (lambda: X.clone(), 0, 1),
        (lambda: X.transpose(0, 1), 0, 1),
        (lambda: nn.functional.linear(X, nn.Parameter(X)), 1, 0),
        (lambda: torch.where(X > 2, X, 0), 1, 0),
        (lambda: X.size(), 0, 0),
        (lambda: X.clone().mul_(2), 0, 1),
        (lambda: X.clone().exp_(), 0, 1),
        (lambda: X.clone().lerp_(X, 0.5), 0, 1),
        (lambda: nn.functional.relu(X.clone(), inplace=True), 0, 1),
        (lambda: torch.add(X, X, out=torch.zeros(2, 2)), 0, 0),
        (lambda: X.grad, 0, 0),
        (lambda: torch.arange(3), 0, 0),
        (lambda: torch.add(torch.arange(3), 1), 0, 0),
    ],
)
def test_what_is_touched(call: Any, renewed: int, reviewed: int) -> None:
    found = touched(call)
    assert found[:2] == (renewed, reviewed)
    wanted = call()
    assert torch.equal(found[2], wanted) if isinstance(wanted, Tensor) else found[2] == wanted
