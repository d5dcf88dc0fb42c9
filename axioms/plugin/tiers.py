"""Checks above the chosen tier: deselected, counted, and named in the record, also under xdist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from axioms.spec import TIERS

ABOVE = pytest.StashKey[dict[str, str]]()
"""The tier of each check above the chosen one, by its id."""
SENT = "axioms_above_tier"
"""Under which a worker of xdist sends them to the controller, which collects nothing itself."""


def tiers_above(tier: str) -> Sequence[str]:
    """Return the tiers that a run of this one leaves out, the lowest first."""
    return TIERS[TIERS.index(tier) + 1 :]


def note_above(config: pytest.Config, tiers: Mapping[str, str]) -> None:
    """Remember the deselected checks, by id; a worker sends them when it ends."""
    config.stash[ABOVE] = dict(tiers)
    if hasattr(config, "workeroutput"):
        config.workeroutput[SENT] = dict(tiers)


def checks_above(config: pytest.Config) -> Mapping[str, str]:
    """Return the tier of each check that was deselected for it, by id."""
    return config.stash.get(ABOVE, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker deselected; all workers collect the same."""
    sent: dict[str, str] = getattr(node, "workeroutput", {}).get(SENT, {})
    if sent:
        node.config.stash[ABOVE] = sent


def line_above(config: pytest.Config) -> str | None:
    """Return how many checks were deselected for their tier, and how to run them; None where none was."""
    tiers = checks_above(config)
    if not tiers:
        return None
    counted = Counter(tiers.values())
    named = [tier for tier in TIERS if counted[tier]]
    last = named[-1]
    some = [f"--axioms-tier {tier} runs {counted[tier]:,} of them" for tier in named[:-1]]
    all_of_them = f"--axioms-tier {last} runs {'all' if some else 'them'}"
    noun = "check" if len(tiers) == 1 else "checks"
    return f"{len(tiers):,} {noun} above the {config.getoption('--axioms-tier')} tier deselected: " + ", ".join(
        [*some, all_of_them]
    )
