"""What a method changed of a model is put back, and said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from axioms.model.weights import in_words, putting_back


def network() -> Any:
    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)).eval()
    model[0].sizes = [1, {"two": (2, [3]), "four": 4}]
    model[0].limits = [1.0, float("nan")]
    model[0].table = torch.tensor([1.0, float("nan")])
    model[0].names = {"a", "b"}
    model.config = SimpleNamespace(scale=1.0, inner=SimpleNamespace(labels={0: "no"}))
    return model


def _swap_weight(model: Any) -> None:
    model[0].weight = nn.Parameter(torch.ones(3, 2))


def _write_weight(model: Any) -> None:
    model[0].weight.data[0, 0] += 1


def _drop_bias(model: Any) -> None:
    model[0].bias = None


def _write_buffer(model: Any) -> None:
    model[1].running_mean += 1


def _swap_module(model: Any) -> None:
    model[2] = nn.Identity()


def _add_module(model: Any) -> None:
    model[2].add_module("more", nn.Identity())


def _train(model: Any) -> None:
    model[1].training = True


def _own_forward(model: Any) -> None:
    model[0].forward = lambda x: x


def _hook(model: Any) -> None:
    model[0].register_forward_hook(lambda *_: None)


def _back_hook(model: Any) -> None:
    model[2].register_full_backward_pre_hook(lambda *_: None)


def _freeze(model: Any) -> None:
    model[0].weight.requires_grad_(False)


def _cast(model: Any) -> None:
    model[0].weight.data = model[0].weight.data.double()


def _threads(model: Any) -> None:
    torch.set_default_dtype(torch.float16)


def _momentum(model: Any) -> None:
    model[1].momentum = 0.5


def _drop_attribute(model: Any) -> None:
    del model[1].momentum


def _deep_in_a_list(model: Any) -> None:
    model[0].sizes[1]["two"][1].append(4)


def _longer_list(model: Any) -> None:
    model[0].sizes.append(4)


def _new_key(model: Any) -> None:
    model[0].sizes[1]["three"] = 3


def _list_as_tuple(model: Any) -> None:
    model[0].sizes = tuple(model[0].sizes)


def _number_for_none(model: Any) -> None:
    model[0].limits[1] = 1.0


def _none_for_number(model: Any) -> None:
    model[0].limits[0] = float("nan")


def _number_for_none_in_table(model: Any) -> None:
    model[0].table[1] = 1.0


def _none_for_number_in_table(model: Any) -> None:
    model[0].table[0] = float("nan")


def _other_class(model: Any) -> None:
    model[0].__class__ = type("Mine", (nn.Linear,), {})


def _write_table(model: Any) -> None:
    model[0].table[0] = 2


def _other_table(model: Any) -> None:
    model[0].table = torch.zeros(3)


def _add_to_set(model: Any) -> None:
    model[0].names.add("c")


def _hide_method(model: Any) -> None:
    model[0].extra_repr = lambda: "mine"


def _setting(model: Any) -> None:
    model.config.scale = 2.0


def _new_setting(model: Any) -> None:
    model.config.more = 2.0


def _inner_setting(model: Any) -> None:
    model.config.inner.labels[0] = "yes"


def _new_in_class(model: Any) -> None:
    kind: Any = nn.Linear
    kind.train = lambda self, mode=True: self


def _global_hook(model: Any) -> None:
    nn.modules.module.register_module_forward_pre_hook(lambda *_: None)


CHANGES: dict[Callable[[Any], None], tuple[str, str]] = {
    _swap_weight: ("weights", "0"),
    _write_weight: ("weights", "0.weight"),
    _drop_bias: ("weights", "0"),
    _write_buffer: ("weights", "1.running_mean"),
    _swap_module: ("modules", ""),
    _add_module: ("modules", "2"),
    _train: ("training mode", "1"),
    _own_forward: ("forward", "0"),
    _hook: ("hooks", "0"),
    _back_hook: ("hooks", "2"),
    _freeze: ("requires_grad", "0.weight"),
    _cast: ("weights", "0.weight"),
    _threads: ("settings of torch", "default dtype"),
    _momentum: ("attributes", "1.momentum"),
    _drop_attribute: ("attributes", "1.momentum"),
    _deep_in_a_list: ("attributes", "0.sizes"),
    _longer_list: ("attributes", "0.sizes"),
    _new_key: ("attributes", "0.sizes"),
    _list_as_tuple: ("attributes", "0.sizes"),
    _number_for_none: ("attributes", "0.limits"),
    _none_for_number: ("attributes", "0.limits"),
    _number_for_none_in_table: ("attributes", "0.table"),
    _none_for_number_in_table: ("attributes", "0.table"),
    _other_class: ("attributes", "0.__class__"),
    _write_table: ("attributes", "0.table"),
    _other_table: ("attributes", "0.table"),
    _add_to_set: ("attributes", "0.names"),
    _hide_method: ("attributes", "0.extra_repr"),
    _setting: ("config", "scale"),
    _new_setting: ("config", "more"),
    _inner_setting: ("config", "labels"),
    _new_in_class: ("code", "torch.nn.modules.linear.Linear.train"),
    _global_hook: ("hooks", "of all modules"),
}


def look(model: Any) -> list[Any]:
    """Return all that matters here of a model, to compare."""
    parts = list(model.modules())
    return [
        [(id(part), type(part)) for part in parts],
        [(part.training, vars(part).get("forward"), list(part._forward_hooks)) for part in parts],
        [list(part._backward_pre_hooks) for part in parts],
        [(name, id(value), value.tolist(), value.dtype) for name, value in model.state_dict(keep_vars=True).items()],
        [parameter.requires_grad for parameter in model.parameters()],
        [(id(part), sorted(vars(part))) for part in parts],
        [
            repr(getattr(part, name, None))
            for part in parts
            for name in ("sizes", "limits", "table", "momentum", "config")
        ],
        [sorted(model[0].names), id(model[0].sizes), id(model[0].table), id(model.config.inner.labels)],
        ["train" in vars(nn.Linear), len(nn.modules.module._global_forward_pre_hooks)],
        torch.get_default_dtype(),
    ]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_put_back_and_named(change: Callable[[Any], None]) -> None:
    model = network()
    before = look(model)
    with putting_back(model) as changed:
        change(model)
    assert changed == [CHANGES[change]]
    assert look(model) == before


def test_an_own_forward_is_put_back_too() -> None:
    model = network()
    mine = vars(model[0])["forward"] = lambda x: x
    with putting_back(model) as changed:
        del vars(model[0])["forward"]
    assert changed == [("forward", "0")]
    assert vars(model[0])["forward"] is mine


def test_what_stays_as_it_is_is_not_named() -> None:
    """Nor are weights that are not numbers, which equal nothing, not even themselves."""
    model = network()
    model[0].weight.data[0, 0] = float("nan")
    x = torch.tensor([[1.0, 2.0]])
    with putting_back(model, {"features": x}) as changed:
        model(x)
        model[0].weight.data.copy_(model[0].weight.data.clone())
    assert changed == []


def test_what_is_new_and_hides_nothing_is_taken_away_in_silence() -> None:
    class Lazy(nn.Linear):
        @cached_property
        def doubled(self) -> Tensor:
            return 2 * self.weight

    model: Any = nn.Sequential(Lazy(2, 2))
    with putting_back(model) as changed:
        model[0].note = "mine"
        assert model[0].doubled is model[0].doubled
    assert changed == []
    assert {"note", "doubled"}.isdisjoint(vars(model[0]))


def test_equal_values_are_no_change() -> None:
    model = network()
    with putting_back(model) as changed:
        model[1].momentum = float("0.1")
        model[0].sizes = [1, {"two": (2, [3]), "four": 4}]
        model[0].limits = [1.0, float("nan")]
        model.config.inner.labels = {0: "".join(["n", "o"])}
    assert changed == []


def test_what_contains_itself_is_looked_into_to_some_depth() -> None:
    model = network()
    model[0].sizes.append(model[0].sizes)
    model[0].sizes[1]["itself"] = model[0].sizes[1]
    with putting_back(model) as changed:
        model[0].sizes[0] = 2
    assert changed == [("attributes", "0.sizes")]
    assert model[0].sizes[0] == 1


def test_a_weight_in_a_list_is_named_as_a_weight_alone() -> None:
    model = network()
    model[0].mine = [model[0].weight]
    with putting_back(model) as changed:
        _write_weight(model)
    assert changed == [("weights", "0.weight")]


def test_a_tensor_without_numbers_may_be_an_attribute() -> None:
    model = network()
    model[0].shape_of = torch.ones(3, device="meta")
    with putting_back(model) as changed:
        pass
    assert changed == []


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_sparse_attributes_and_buffers_are_compared_by_their_numbers(layout: torch.layout) -> None:
    model = network()
    model[0].links, nested = torch.eye(3).to_sparse(layout=layout), torch.nested.nested_tensor([torch.ones(2)])
    model[0].nested = nested
    model[2].register_buffer("far", torch.eye(3).to_sparse(layout=layout))
    with putting_back(model) as changed:
        pass
    assert changed == []
    with putting_back(model) as changed:
        model[0].links = torch.eye(3).mul(2).to_sparse(layout=layout)
        model[2].far.values().mul_(2) if layout == torch.sparse_csr else model[2].far.mul_(2)
        model[0].nested = torch.nested.nested_tensor([torch.zeros(2)])
    assert sorted(name for _, name in changed) == ["0.links", "0.nested", "2.far"]
    assert model[0].nested is nested
    assert model[0].links.to_dense().equal(torch.eye(3))
    assert model[2].far.to_dense().equal(torch.eye(3))


def test_what_did_not_change_in_a_list_keeps_its_memory() -> None:
    """So that it may be a part of something else, which sees what is written there."""
    model = network()
    model[0].sizes = [model[0].table[:1], 1]
    with putting_back(model) as changed:
        model[0].sizes.append(2)
    assert changed == [("attributes", "0.sizes")]
    model[0].table[0] = 5
    assert model[0].sizes == [torch.tensor([5.0]), 1]


@dataclass
class Options:
    size: int = 1


@dataclass(slots=True)
class Slots:
    size: int = 1


class Configured:
    """A config as those of transformers are."""

    def __init__(self) -> None:
        self.size = 1

    def to_dict(self) -> dict[str, int]:
        return vars(self)


class Unrelated(Configured):
    to_dict = property()


@pytest.mark.parametrize("make", [Options, Configured, lambda: SimpleNamespace(size=1)])
def test_a_config_that_parts_share_is_put_back_and_named_once(make: Callable[[], Any]) -> None:
    model = network()
    model.config = model[0].config = make()
    with putting_back(model) as changed:
        model.config.size = 2
    assert changed == [("config", "size")]
    assert model.config.size == 1


def test_what_has_no_named_settings_is_no_config() -> None:
    """An instance without a table of attributes, a class, and an object of any other kind."""
    model = network()
    model[0].slots, model[0].kind, model[0].unrelated = Slots(), Options, Unrelated()
    with putting_back(model) as changed:
        model[0].unrelated.size = 2
    assert changed == []
    assert model[0].unrelated.size == 2


def test_what_a_mere_call_changes_too_is_not_named() -> None:
    model = network()

    def call() -> None:
        model[1].momentum += 1

    with putting_back(model, call=call) as changed:
        call()
        _write_weight(model)
    assert changed == [("weights", "0.weight")]
    assert model[1].momentum == 0.1


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a file that defines a model's class, with a function, tables and a counter."""
    file: Any = ModuleType("a_file")

    class Own(nn.Linear):
        """A linear map."""

        gain = 1.0

        def forward(self, input: Tensor) -> Tensor:
            return super().forward(input)

    Own.__module__, Own.__qualname__ = file.__name__, "Own"
    file.Own, file.double, file.calls = Own, abs, 0
    file.KINDS, file.SIZES, file.__kinds__ = {"one": abs, "none": None}, {"one": 1}, {"one": abs}
    monkeypatch.setitem(sys.modules, file.__name__, file)
    return file


def read(file: Any) -> list[Any]:
    return [file.Own.gain, file.Own.forward, file.double, dict(file.KINDS)]


def _gain(file: Any) -> None:
    file.Own.gain = 2.0


def _forward(file: Any) -> None:
    file.Own.forward = lambda self, x: x


def _function(file: Any) -> None:
    file.double = max


def _entry(file: Any) -> None:
    file.KINDS["one"] = max


def _another_kind(file: Any) -> None:
    file.KINDS["none"] = max


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (_gain, "a_file.Own.gain"),
        (_forward, "a_file.Own.forward"),
        (_function, "a_file.double"),
        (_entry, "a_file.KINDS['one']"),
        (_another_kind, "a_file.KINDS['none']"),
    ],
)
def test_a_patch_of_code_is_put_back_and_named(own: Any, change: Callable[[Any], None], name: str) -> None:
    before = read(own)
    with putting_back(nn.Sequential(own.Own(2, 2))) as changed:
        change(own)
    assert changed == [("code", name)]
    assert read(own) == before


def test_what_is_new_or_counts_in_a_file_is_not_its_code(own: Any) -> None:
    with putting_back(nn.Sequential(own.Own(2, 2))) as changed:
        own.calls, own.more, own.Own.__doc__ = 1, abs, "Another text."
        own.KINDS["more"] = own.SIZES["one"] = own.__kinds__["one"] = max
    assert changed == []
    assert (own.calls, own.more, own.SIZES["one"], own.KINDS["more"]) == (1, abs, max, max)


def test_a_compiler_that_hears_of_new_modules_is_left_alone() -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    with putting_back(model) as changed:
        torch.compile(model, backend="eager")(torch.ones(1, 2))
    assert changed == []


def test_inputs_are_put_back_in_the_same_tensor() -> None:
    x = torch.tensor([[1.0, 2.0]])
    with putting_back(network(), {"features": x}) as changed:
        x[0, 1] = 7
    assert changed == [("inputs", "features")]
    assert x.tolist() == [[1.0, 2.0]]


def test_changes_in_words() -> None:
    assert in_words([("weights", "a"), ("hooks", ""), ("weights", "b"), ("weights", "c")]) == (
        "weights (a and 2 more) and hooks (the model itself)"
    )
    assert in_words([("weights", "a")]) == "weights (a)"
