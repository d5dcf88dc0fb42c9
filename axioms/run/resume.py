"""An interrupted run continued: records of checks that had finished, where nothing they depend on has changed.

Every record says with which code it was made and what was stated: digests of the source and the versions
(`kept.py`), and of the check as its spec and fixtures describe it. A record of the same check with the same two is
taken over as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from axioms.core.errors import InputError

if TYPE_CHECKING:
    from axioms.spec import Check, MethodRef

DIGITS = 16


class Interrupted:
    """The records of a run that did not get to its end."""

    def __init__(self, folder: Path) -> None:
        """Read a run's results.json; nothing is there to resume where there is none, or it is not one of ours."""
        from axioms.run.records import read_results

        try:
            self.records: list[dict[str, Any]] = read_results(folder)["checks"]
        except InputError:
            self.records = []
        self._by_id = {record["id"]: record for record in self.records}

    def finished(self, nodeid: str, state: Mapping[str, str], methods: Sequence[MethodRef]) -> dict[str, Any] | None:
        """The record of a check that passed in the same state. A failed one is run again, to say why it failed.

        So is a method that is reached by an adapter: nobody here has a digest of other people's code.
        """
        record = self._by_id.get(nodeid)
        if record is None or not record["passed"] or any(":" in method.name for method in methods):
            return None
        return record if {name: record.get(name) for name in state} == dict(state) else None


def state_of(check: Check, overrides: Mapping[str, Any]) -> dict[str, str]:
    """The digests of a record: of the code, and of what is stated about the check."""
    from axioms.run.cache import code_digest

    subject = json.dumps(check.subject.model_dump(mode="json"), sort_keys=True)
    stated = repr((check, sorted(overrides.items()), _fixtures(subject, check.file)))
    return {"code": code_digest()[:DIGITS], "stated": hashlib.sha256(stated.encode()).hexdigest()[:DIGITS]}


def methods_of(check: Check) -> list[MethodRef]:
    """Every method that a check looks at."""
    compared = [] if check.comparison is None else [check.comparison.better, check.comparison.than]
    return [*compared, *([] if check.method is None else [check.method])]


@cache
def _fixtures(subject: str, file: Path) -> str:
    """What the fixtures of a subject say, and the size and time of their files."""
    from axioms.run.cache import descriptors

    found = descriptors(json.loads(subject), file)
    files = [
        Path(each["file"]).parent / named
        for each in found
        for named in (each["weights"], *each["files"].values())
        if named
    ]
    stats = [(each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in files if each.is_file()]
    return json.dumps([found, stats], sort_keys=True, default=str)
