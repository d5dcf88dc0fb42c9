"""Other people's methods against ours and against plain re-implementations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

import axioms
from axioms.core.errors import InputError, MissingPackage, UnknownName
from axioms.core.registry import METHODS
from axioms.methods.adapters import CAPTUM, LXT, ZENNIT, required
from axioms.subjects.models.modules import Expression, LinearAttention, fixed_linear
from axioms.subjects.models.tiny import tiny

IDS = torch.tensor([[5, 7, 11, 13], [8, 30, 21, 0]])
PADDED = {"input_ids": IDS, "attention_mask": (IDS != 0).long()}
TARGET = torch.tensor([2, 0])


@pytest.fixture
def captum() -> None:
    pytest.importorskip("captum")


@pytest.fixture
def zennit() -> None:
    pytest.importorskip("zennit")


def attention() -> LinearAttention:
    torch.manual_seed(0)
    return LinearAttention(order="left", position=True, embed=True, pool="mean", length=6, width=4, classes=3).double()


def mlp() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).double()


def images() -> Tensor:
    return torch.rand(4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def scores(model: nn.Module, inputs: Any, method: str, target: Any = "predicted", **options: Any) -> Tensor:
    return axioms.attribute(model, inputs, target, method, **options).scores


@pytest.mark.usefixtures("captum")
@pytest.mark.parametrize(
    ("theirs", "ours", "their_options", "our_options"),
    [
        ("InputXGradient", "gradient_x_input", {}, {}),
        ("Saliency", "gradient", {"abs": False}, {}),
        ("FeatureAblation", "loo", {}, {}),
        ("IntegratedGradients", "integrated_gradients", {"n_steps": 2}, {"steps": 2}),
        (
            "IntegratedGradients",
            "integrated_gradients",
            {"n_steps": 2, "baselines": 0.5},
            {"steps": 2, "baseline": 0.5},
        ),
    ],
)
def test_captum_agrees_with_ours(theirs: str, ours: str, their_options: Any, our_options: Any) -> None:
    """Two nodes of Gauss-Legendre, because captum rounds the weights of the nodes to float32, where 1/2 is exact."""
    model, x = attention(), images()
    found = axioms.attribute(model, x, method=f"captum:{theirs}", **their_options)
    wanted = axioms.attribute(model, x, method=ours, **our_options)
    torch.testing.assert_close(found.scores, wanted.scores, rtol=0, atol=1e-9)
    torch.testing.assert_close(found.total, wanted.total, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("captum")
@pytest.mark.parametrize(
    ("theirs", "ours", "their_options", "our_options"),
    [
        ("IntegratedGradients", "integrated_gradients", {"n_steps": 20}, {"steps": 20}),
        ("Occlusion", "loo", {}, {}),
    ],
)
def test_captum_agrees_with_ours_in_float32(theirs: str, ours: str, their_options: Any, our_options: Any) -> None:
    """Captum casts the weights of integration steps, and every occlusion, to float32."""
    model, x = attention(), images()
    found = scores(model, x, f"captum:{theirs}", **their_options)
    torch.testing.assert_close(found, scores(model, x, ours, **our_options), rtol=1e-6, atol=1e-8)


@pytest.mark.usefixtures("captum")
def test_captum_gives_every_row_its_own_example() -> None:
    """Captum expands the batch; masks and targets must follow their examples."""
    model = tiny(architecture="bert")
    found = scores(model, PADDED, "captum:IntegratedGradients", TARGET, n_steps=2)
    wanted = scores(model, PADDED, "integrated_gradients", TARGET, steps=2)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-9)
    together = scores(model, PADDED, "captum:DeepLift", TARGET)  # which puts the baselines into the batch
    apart = scores(model, PADDED, "captum:DeepLift", TARGET, batch_size=1)
    torch.testing.assert_close(together, apart, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("captum")
def test_captum_removes_tokens_as_a_whole() -> None:
    model = tiny(architecture="bert")
    embedded = model.get_input_embeddings()(IDS).detach()  # type: ignore[operator]

    def output(features: Tensor) -> Tensor:
        with torch.no_grad():
            logits = model(inputs_embeds=features, attention_mask=PADDED["attention_mask"]).logits
        return logits.gather(1, TARGET[:, None])[:, 0]

    found = scores(model, PADDED, "captum:FeatureAblation", TARGET)
    occluded = scores(model, PADDED, "captum:Occlusion", TARGET)
    for token in range(IDS.shape[1]):
        cut = embedded.clone()
        cut[:, token] = 0
        wanted = output(embedded) - output(cut)
        torch.testing.assert_close(found[:, token], wanted, rtol=0, atol=1e-9)
        torch.testing.assert_close(occluded[:, token], wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.usefixtures("captum")
def test_captum_deep_lift_is_the_rescale_rule() -> None:
    """Through one ReLU the multiplier is (relu(z) - relu(z0)) / (z - z0)."""
    model, x = mlp(), images()
    first: Any = model[0]
    last: Any = model[2]
    with torch.no_grad():
        z, z0 = first(x), first(torch.zeros_like(x))
        multiplier = (z.relu() - z0.relu()) / (z - z0)
        wanted = x * ((last.weight[1] * multiplier) @ first.weight)
    found = axioms.attribute(model, x, 1, "captum:DeepLift")
    torch.testing.assert_close(found.scores, wanted, rtol=0, atol=1e-9)
    torch.testing.assert_close(found.scores.sum(1), found.total, rtol=0, atol=1e-9)


@pytest.mark.usefixtures("captum")
def test_captum_shapley_values_are_drawn_per_example() -> None:
    """Every order of a linear map gives the same; of a product they differ, by the seed and not by the batch."""
    linear, x = fixed_linear([[3.0, -1.0, 2.0]], [0.5]), torch.rand(3, 3, dtype=torch.float64)
    found = scores(linear, x, "captum:ShapleyValueSampling", n_samples=3)
    torch.testing.assert_close(found, x * torch.tensor([3.0, -1.0, 2.0]), rtol=1e-6, atol=1e-7)
    product = Expression(lambda a, b, c: a * b * c + a * a * c)
    options: dict[str, Any] = {"method": "captum:ShapleyValueSampling", "n_samples": 2}
    together = axioms.attribute(product, x, **options)
    apart = axioms.attribute(product, x, batch_size=1, **options)
    torch.testing.assert_close(together.scores, apart.scores, rtol=0, atol=0)
    assert not torch.equal(axioms.attribute(product, x, seed=1, **options).scores, together.scores)


@pytest.mark.usefixtures("captum")
def test_captum_lrp_refuses_in_a_sentence() -> None:
    with pytest.raises(InputError, match=r"captum's LRP failed on this model: Module of type .*Embedding"):
        scores(tiny(architecture="bert"), PADDED, "captum:LRP")


@pytest.mark.usefixtures("zennit")
@pytest.mark.parametrize("epsilon", [1e-6, 0.3])
def test_zennit_epsilon_plus_by_hand(epsilon: float) -> None:
    """R_x = x W' (R / (z + epsilon sign z)) in linear layers, the identity through ReLU; the bias takes its share."""
    model, x, target = mlp(), images(), torch.tensor([0, 1, 2, 1])
    first: Any = model[0]
    last: Any = model[2]

    def back(layer: Any, inputs: Tensor, relevance: Tensor) -> Tensor:
        z = inputs @ layer.weight.T + layer.bias
        return inputs * ((relevance / (z + epsilon * torch.where(z < 0, -1.0, 1.0))) @ layer.weight)

    with torch.no_grad():
        hidden = first(x).relu()
        start = model(x) * nn.functional.one_hot(target, 3)
        wanted = back(first, x, back(last, hidden, start))
    found = scores(model, x, "zennit:EpsilonPlus", target, epsilon=epsilon)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-9)


@pytest.mark.usefixtures("zennit")
def test_zennit_guided_backprop_starts_from_one() -> None:
    model, x = mlp(), images()
    first: Any = model[0]
    last: Any = model[2]
    with torch.no_grad():
        wanted = (last.weight[1].clamp(min=0) * (first(x) > 0)) @ first.weight
    torch.testing.assert_close(scores(model, x, "zennit:GuidedBackprop", 1), wanted, rtol=0, atol=1e-9)


@pytest.mark.usefixtures("zennit")
def test_a_composite_of_ones_own_is_zennits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_composites.py").write_text(
        "from zennit.composites import LayerMapComposite\nfrom zennit.rules import Epsilon, Pass\n"
        "from zennit.types import Activation, Linear\n\n\nclass Mine(LayerMapComposite):\n"
        "    def __init__(self, *, epsilon: float = 1e-6):\n"
        "        super().__init__([(Linear, Epsilon(epsilon=epsilon)), (Activation, Pass())])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    model, x, target = mlp(), images(), torch.tensor([0, 1, 2, 1])
    mine = scores(model, x, "zennit:own_composites.Mine", target, epsilon=0.3)
    torch.testing.assert_close(mine, scores(model, x, "zennit:EpsilonPlus", target, epsilon=0.3), rtol=0, atol=1e-12)
    with pytest.raises(UnknownName, match=r"has no class 'Mime' with a method `context`. Did you mean 'Mine'"):
        METHODS.get("zennit:own_composites.Mime")


@pytest.mark.usefixtures("zennit")
def test_zennit_leaves_no_hooks() -> None:
    model = mlp()
    scores(model, images(), "zennit:EpsilonPlus")
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in model.modules())


@pytest.mark.parametrize(
    "name",
    [*(f"captum:{name}" for name in CAPTUM), *(f"zennit:{name}" for name in ZENNIT), *(f"lxt:{name}" for name in LXT)],
)
def test_every_name_resolves_to_what_the_package_has(name: str) -> None:
    entry = METHODS.get(name)
    assert entry.name == name
    assert entry is METHODS.get(name)
    assert entry.options_model()().model_dump() == {**CAPTUM, **ZENNIT, **LXT}[name.partition(":")[2]]
    package, _, member = name.partition(":")
    if package != "lxt":
        pytest.importorskip(package)
        assert hasattr(required({"captum": "captum.attr", "zennit": "zennit.composites"}[package]), member)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("captum:Saliancy", "unknown method 'captum:Saliancy'. Did you mean 'Saliency'? Known: Deconvolution, "),
        ("zennit:epsilon_plus", "unknown method 'zennit:epsilon_plus'. Did you mean 'EpsilonPlus'? Known: "),
        (
            "captm:Saliency",
            "unknown method 'captm:Saliency'. Did you mean 'captum'? Known: captum, lxt, python, zennit.",
        ),
        ("python:json", "write python:module.function"),
        ("python:no_such_module.f", "cannot import 'no_such_module': there is no such module"),
        ("python:json.lods", "'json' has no function 'lods'. Did you mean 'loads'"),
    ],
)
def test_unknown_names_are_answered(name: str, message: str) -> None:
    with pytest.raises((UnknownName, InputError)) as error:
        METHODS.get(name)
    assert message in str(error.value)


def test_options_are_checked_without_the_package() -> None:
    options = METHODS.get("captum:IntegratedGradients").options_model()
    assert options.model_validate({"n_steps": 20, "baselines": 1}).model_dump()["n_steps"] == 20
    for wrong in ({"n_steps": "20"}, {"steps": 20}):
        with pytest.raises(ValidationError):
            options.model_validate(wrong)
    assert METHODS.get("captum:ShapleyValueSampling").takes("seed")


def test_resolving_imports_neither_the_packages_nor_torch() -> None:
    code = (
        "import sys; from axioms.core.registry import METHODS; import axioms.methods\n"
        "METHODS.get('captum:Saliency').options_model(); METHODS.get('zennit:EpsilonPlus')\n"
        "print([name for name in ('torch', 'captum', 'zennit') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60).strip() == "[]"


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("captum", "captum.attr"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackage, match=r"^captum is not installed: pip install captum$"):
        scores(mlp(), images(), "captum:Saliency")


def test_lxt_says_why_not() -> None:
    with pytest.raises(MissingPackage, match=r"lxt:attnlrp cannot run here.*transformers==4.52.4"):
        scores(mlp(), images(), "lxt:attnlrp")


def test_a_missing_package_is_a_skip(pytester: pytest.Pytester, good_spec: str) -> None:
    folder = pytester.mkdir("specs")
    (folder / "mine.yaml").write_text(good_spec.replace("[loo, attnlrp]", "[attnlrp, 'lxt:attnlrp']"))
    result = pytester.runpytest("-rs", "specs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*lxt:attnlrp cannot run here*"])


PYTHON = """
def shared(model, inputs, target, *, share: float = 0.5):
    '''A share of the features.'''
    return share * inputs.features


def loose(model, inputs, target, **options):
    return options["factor"] * inputs.features
"""


def test_a_function_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "adapters_mine.py").write_text(PYTHON)
    monkeypatch.syspath_prepend(tmp_path)
    x = images()
    torch.testing.assert_close(scores(mlp(), x, "python:adapters_mine.shared", share=0.25), 0.25 * x)
    torch.testing.assert_close(scores(mlp(), x, "python:adapters_mine.loose", factor=3), 3 * x)
    entry = METHODS.get("python:adapters_mine.shared")
    assert entry.summary == "A share of the features."
    with pytest.raises(ValidationError):
        entry.options_model().model_validate({"shore": 1.0})
    assert METHODS.get("python:adapters_mine.loose").options_model().model_validate({"factor": 3})


def test_specs_name_them(pytester: pytest.Pytester, good_spec: str) -> None:
    pytest.importorskip("captum")
    pytester.makepyfile(adapters_ours=PYTHON)
    methods = (
        "[{captum:IntegratedGradients: {n_steps: 2}}, captum:InputXGradient, {python:adapters_ours.shared: {as: p}}]"
    )
    folder = pytester.mkdir("specs")
    (folder / "mine.yaml").write_text(good_spec.replace("[loo, attnlrp]", methods))
    result = pytester.runpytest("-q", "specs")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*conservation?p?*"])


@pytest.mark.parametrize("seed", [0, 3])
def test_what_captum_draws_belongs_to_the_seed_and_the_example(captum: None, seed: int) -> None:
    """Whatever the batch: the numbers of `seed` times a million and three, and the example's place."""
    sampling = required("captum.attr").ShapleyValueSampling
    model = Expression(lambda a, b, c: a * b * c + torch.tanh(a - c))
    x = torch.rand(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + 1
    found = axioms.attribute(model, x, method="captum:ShapleyValueSampling", n_samples=2, seed=seed)
    for example in range(3):
        torch.manual_seed(seed * 1_000_003 + example)
        wanted = sampling(lambda rows: model(rows)).attribute(x[example : example + 1], n_samples=2)
        torch.testing.assert_close(found.scores[example : example + 1], wanted.to(x), rtol=1e-6, atol=1e-6)
    again = axioms.attribute(model, x, method="captum:ShapleyValueSampling", n_samples=2, seed=seed, batch_size=2)
    torch.testing.assert_close(again.scores, found.scores)
    torch.testing.assert_close(found.total, model(x) - model(torch.zeros_like(x)))
    state = torch.get_rng_state()
    axioms.attribute(model, x, method="captum:ShapleyValueSampling", n_samples=2)
    assert torch.equal(torch.get_rng_state(), state)


def test_windows_and_strides_count_features(captum: None) -> None:
    model = Expression(lambda a, b, c, d: a + 10 * b + 100 * c + 1000 * d)
    x = torch.ones(2, 4, dtype=torch.float64)

    def occluded(**options: Any) -> list[float]:
        return axioms.attribute(model, x, method="captum:Occlusion", **options).scores[1].tolist()

    assert occluded() == [1, 10, 100, 1000]
    assert occluded(window=2, stride=2) == [11, 11, 1100, 1100]
    assert occluded(window=2) == [11, (11 + 110) / 2, (110 + 1100) / 2, 1100]
    ablated = axioms.attribute(model, x, method="captum:FeatureAblation", baselines=3.0).scores[0].tolist()
    assert ablated == [-2, -20, -200, -2000]


@pytest.mark.parametrize("name", ["FeatureAblation", "Occlusion"])
def test_a_token_is_removed_as_a_whole(captum: None, name: str) -> None:
    model = tiny(architecture="bert")
    found = axioms.attribute(model, PADDED, target=TARGET, method=f"captum:{name}").scores
    with torch.no_grad():
        loo = axioms.attribute(model, PADDED, target=TARGET, method="loo", remove="zero_embedding").scores
    there = PADDED["attention_mask"] == 1
    torch.testing.assert_close(found[there], loo[there], rtol=1e-5, atol=1e-6)


def test_a_composite_starts_from_the_output_or_from_one(zennit: None) -> None:
    model = fixed_linear([[2.0, -1.0, 3.0]], None)
    x = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    layer = nn.Sequential(nn.Linear(3, 1, bias=False).double())
    layer[0].weight.data = torch.tensor([[2.0, -1.0, 3.0]], dtype=torch.float64)
    gradient = axioms.attribute(layer, x, method="zennit:GuidedBackprop").scores
    torch.testing.assert_close(gradient, torch.tensor([[2.0, -1.0, 3.0]], dtype=torch.float64))
    shares = axioms.attribute(layer, x, method="zennit:EpsilonPlus").scores
    torch.testing.assert_close(shares.sum(1), model(x)[:, 0].detach(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", CAPTUM)
def test_options_have_captums_own_defaults(captum: None, name: str) -> None:
    """But for the baseline, which is a number here, and for windows and strides, which count features."""
    import inspect

    known = inspect.signature(getattr(required("captum.attr"), name).attribute).parameters
    own = {"baselines": 0.0, "window": 1, "stride": 1, "seed": 0}
    for option, default in CAPTUM[name].items():
        assert default == own.get(option, known[option].default if option in known else None), option
        assert option in own or option in known


@pytest.mark.parametrize("name", ZENNIT)
def test_options_have_zennits_own_defaults(zennit: None, name: str) -> None:
    """But for the box of the input, which zennit wants stated."""
    import inspect

    known = inspect.signature(getattr(required("zennit.composites"), name)).parameters
    for option, default in ZENNIT[name].items():
        wanted = {"low": 0.0, "high": 1.0}.get(option, known[option].default)
        assert default == wanted, option


def test_which_methods_change_modules_alone() -> None:
    hooked = {"Deconvolution", "DeepLift", "GuidedBackprop", "LRP"}
    assert {name for name in CAPTUM if METHODS.get(f"captum:{name}").on_modules} == hooked
    assert all(METHODS.get(f"zennit:{name}").on_modules for name in ZENNIT)
    assert not any(METHODS.get(f"lxt:{name}").on_modules for name in LXT)
    assert METHODS.get("captum:LRP").passes is None
