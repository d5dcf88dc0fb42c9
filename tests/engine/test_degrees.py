"""Products by degree: Gradient x Input / degree on homogeneous graphs, and the convention where degrees differ."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

import axioms
from axioms.subjects.models.modules import Expression

WIDTH = 3


def points(*rows: list[float]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


class Graph(nn.Module):
    """A random graph without biases whose additions join equal degrees: steps of (kind, first, second)."""

    def __init__(self, steps: list[tuple[str, int, int]], seed: int) -> None:
        super().__init__()
        self.steps = steps
        torch.manual_seed(seed)
        self.maps = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False).double() for _ in steps)

    def forward(self, x: Tensor) -> Tensor:
        return self.values(x)[-1][0].sum(dim=1)

    def values(self, x: Tensor) -> list[tuple[Tensor, int]]:
        """Every variable with its degree, counted here and nowhere else."""
        made = [(x, 1)]
        for (kind, first, second), linear in zip(self.steps, self.maps, strict=True):
            (a, m), (b, n) = made[first % len(made)], made[second % len(made)]
            if kind == "product":
                made.append((a * b, m + n))
            elif kind == "linear":
                made.append((linear(a), m))
            elif kind == "contraction":
                made.append(((a.unsqueeze(1) @ b.unsqueeze(2)).squeeze(2).expand(-1, WIDTH), m + n))
            elif kind == "square":
                made.append((a**2, 2 * m))
            else:
                alike = [value for value, degree in made if degree == m]
                made.append((a + alike[second % len(alike)].flip(1), m))
        return made


steps = st.lists(
    st.tuples(
        st.sampled_from(["product", "linear", "sum", "contraction", "square"]), st.integers(0, 9), st.integers(0, 9)
    ),
    min_size=1,
    max_size=6,
)


@given(steps, st.integers(0, 1000))
def test_on_homogeneous_graphs_it_is_gradient_x_input_over_the_degree(
    chosen: list[tuple[str, int, int]], seed: int
) -> None:
    graph = Graph(chosen, seed)
    x = torch.rand(2, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) + 0.5
    degree = graph.values(x)[-1][1]
    variable = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(graph(variable).sum(), variable)
    found = axioms.attribute(graph, x, 0, "degree_lrp")
    torch.testing.assert_close(found.scores, x * gradient / degree, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(found.scores.sum(1), found.output, rtol=1e-9, atol=1e-9)


def test_a_product_of_three_is_shared_equally_however_it_is_grouped() -> None:
    for expression in (lambda a, b, c: (a * b) * c, lambda a, b, c: a * (b * c), lambda a, b, c: b * (c * a)):
        found = axioms.attribute(Expression(expression), points([2, 3, 4]), 0, "degree_lrp").scores
        torch.testing.assert_close(found, points([8, 8, 8]))


def test_a_sum_takes_the_largest_degree() -> None:
    """The counterexample of axioms/methods/degree.py, by hand: 34 / 3 against 13."""
    x = points([2, 3, 4, 5])
    factored = axioms.attribute(Expression(lambda w, x, y, z: w * (x * y + z)), x, 0, "degree_lrp").scores
    expanded = axioms.attribute(Expression(lambda w, x, y, z: w * x * y + w * z), x, 0, "degree_lrp").scores
    torch.testing.assert_close(factored, points([34 / 3, 8, 8, 20 / 3]))
    torch.testing.assert_close(expanded, points([13, 8, 8, 5]))


def rms_called(x: Tensor) -> Tensor:
    return nn.functional.rms_norm(x, x.shape[-1:], eps=1e-9)


def rms_by_rsqrt(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-9)


def rms_by_division(x: Tensor) -> Tensor:
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-9)


def rms_in_place(x: Tensor) -> Tensor:
    value = x.clone()
    value *= torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-9)
    return value


@pytest.mark.parametrize("norm", [rms_by_rsqrt, rms_by_division, rms_in_place])
def test_a_norm_starts_anew_however_it_is_written(norm: Callable[[Tensor], Tensor]) -> None:
    """A cube, normed, has degree 1: the product with x is then split in half."""

    class Normed(nn.Module):
        def __init__(self, norm: Callable[[Tensor], Tensor]) -> None:
            super().__init__()
            self.norm = norm

        def forward(self, x: Tensor) -> Tensor:
            return (self.norm(x * x * x) * x).sum(dim=1)

    x = points([1, 2, -1.5], [0.5, -1, 3])
    wanted = axioms.attribute(Normed(rms_called), x, 0, "degree_lrp").scores
    torch.testing.assert_close(axioms.attribute(Normed(norm), x, 0, "degree_lrp").scores, wanted)


def test_degrees_go_with_what_is_moved_and_written() -> None:
    """Concatenation takes the largest degree; a buffer has that of what is put into it."""

    def moved(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return torch.stack([a * b, b * a]).transpose(0, 1).reshape(-1, 2)[:, 1] * c

    def written(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        place = torch.zeros(len(a), 2, dtype=a.dtype)
        place[:, 0] = a * b
        return place[:, 0] * c

    for expression in (moved, written):
        found = axioms.attribute(Expression(expression), points([2, 3, 4]), 0, "degree_lrp").scores
        torch.testing.assert_close(found, points([8, 8, 8]))


def test_the_ledger_explains_what_the_stabilizer_keeps() -> None:
    model = Expression(lambda a, b, c: (a * b) * c)
    found = axioms.attribute(model, points([2, 3, 4]), 0, "degree_lrp", ledger=True, epsilon=0.5)
    assert found.ledger is not None
    assert found.scores.sum().item() < 24
    assert abs(found.ledger.unexplained) < 1e-12
