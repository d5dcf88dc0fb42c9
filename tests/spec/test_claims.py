"""What decides a claim: names of checks, the default, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from axioms.core.errors import SpecError
from axioms.spec import Claim, expand_file

BASE = """claim: c
subject: {model: {linear: {weight: [[3, -1]]}}, data: {points: [[1, 1], [2, 5]]}}
methods: [loo, attnlrp, cp_lrp, random]
checks:
  - {axiom: loo_correlation, expect: {relative_gap.max: {le: 1e-9}}}
  - {axiom: conservation, methods: [attnlrp, cp_lrp]}
  - {axiom: purity, methods: [attnlrp], record: [changes.max]}
compare:
  - {metric: conservation.ratio, better: cp_lrp, than: attnlrp, record: true}
  - {metric: conservation.ratio, better: cp_lrp, than: random}
"""


def claims(tmp_path: Path, more: str = "", base: str = BASE) -> list[Claim]:
    file = tmp_path / "mine.yaml"
    file.write_text(base + more)
    return expand_file(file).claims


def names(claim: Claim) -> list[str]:
    return [f"{check.function}[{check.id}]" for check in claim.checks]


REAL = ["loo_correlation[attnlrp]", "loo_correlation[cp_lrp]", "conservation[attnlrp]", "conservation[cp_lrp]"]


def test_without_a_word_every_judged_check_that_is_no_control_decides(tmp_path: Path) -> None:
    (claim,) = claims(tmp_path)
    assert names(claim) == REAL, "neither leave-one-out with itself, nor random, nor what is recorded"
    assert not claim.is_open


@pytest.mark.parametrize(
    ("named", "wanted"),
    [
        ("conservation", REAL[2:]),
        ("conservation of cp_lrp", REAL[3:]),
        ("'conservation[cp_lrp]'", REAL[3:]),
        ("loo_correlation", REAL[:2]),
    ],
)
def test_names(tmp_path: Path, named: str, wanted: list[str]) -> None:
    (claim,) = claims(tmp_path, f"decided_by: [{named}]\n")
    assert names(claim) == wanted


def test_an_open_claim_may_rest_on_what_is_recorded(tmp_path: Path) -> None:
    for named in ("cp_lrp over attnlrp", "cp_lrp over attnlrp in conservation.ratio"):
        (claim,) = claims(tmp_path, f"status: open\ndecided_by: [{named}]\n")
        assert names(claim) == ["compare[cp_lrp-over-attnlrp]"]
        assert claim.is_open


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            "decided_by: [conservation of cp_lpr]",
            "called 'conservation of cp_lpr'. Did you mean 'conservation of cp_lrp'?",
        ),
        ("decided_by: [loo_correlation of loo]", "'loo_correlation of loo' is a control, which decides no claim"),
        ("decided_by: [cp_lrp over random]", "'cp_lrp over random' is a control"),
        ("decided_by: [cp_lrp over attnlrp]", "'cp_lrp over attnlrp' is recorded, not judged"),
        ("paper: {you2026: C1}", "there is no paper 'you2026'. Did you mean 'you2025'?"),
        ("paper: {you2025: C99}", "you2025 has no claim 'C99'; it has C1, C2"),
        ("status: maybe", "status: input should be 'asserted' or 'open'"),
        ("claims: [{claim: d, decided_by: [nothing]}]", "claims[0].decided_by[0]: no check of this spec is called"),
    ],
)
def test_refused(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(SpecError) as error:
        claims(tmp_path, more + "\n")
    assert said in str(error.value)


RECORDED = "\n".join(line for line in BASE.splitlines() if "loo_corr" not in line and "conserv" not in line) + "\n"


def test_a_spec_that_judges_nothing_is_an_error_once_it_speaks_of_its_claim(tmp_path: Path) -> None:
    base = RECORDED.replace("compare:\n", "")
    (claim,) = claims(tmp_path, base=base)
    assert (claim.checks, claim.is_open) == ((), True), "an old spec stays valid, and its claim undecided"
    with pytest.raises(SpecError, match="nothing here decides it"):
        claims(tmp_path, "status: open\n", base=base)


def test_further_claims_take_their_checks_from_the_first(tmp_path: Path) -> None:
    first, second = claims(tmp_path, "claims: [{claim: d, status: open, decided_by: [conservation of cp_lrp]}]\n")
    assert names(first) == REAL[:3]
    assert names(second) == REAL[3:]
    checks = {f"{check.function}[{check.id}]": check for check in expand_file(tmp_path / "mine.yaml").checks}
    assert [checks[name].is_open for name in REAL] == [False, False, False, True]


def test_what_extends_a_spec_has_its_claims_unless_it_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(BASE + "paper: {you2025: C12}\nstatus: open\ndecided_by: [conservation]\n")
    (same,) = claims(tmp_path, base="extends: base.yaml\nrun: {seed: 1}\n")
    assert (same.stated.paper, same.is_open, names(same)) == ({"you2025": "C12"}, True, REAL[2:])
    (other,) = claims(tmp_path, base="extends: base.yaml\nclaim: mine\n")
    assert (other.stated.paper, other.is_open, names(other)) == (None, False, REAL)
    (fewer,) = claims(
        tmp_path, base="extends: base.yaml\nchecks: [{axiom: loo_correlation, expect: {pearson.min: {ge: 0}}}]\n"
    )
    assert names(fewer) == REAL[:2], "what a base names may be gone"
