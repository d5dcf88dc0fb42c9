"""The case of a check: its subject, built once for all checks that share it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from axioms.run.build import build_subject, rewritten_subject
from axioms.run.cache import Cache, Key, key_of
from axioms.run.case import Case, Report
from axioms.run.digests import descriptors
from axioms.spec import Check, Run


class Cases:
    """Builds the subjects of checks; the cache holds the recent ones, and remembers which cannot be built."""

    def __init__(self, cache: Cache, report: Report) -> None:
        self._cache, self._report = cache, report

    def case(self, check: Check, run: Run) -> Case:
        """Return the case of a check. Raises where its assets are missing, or its rewrite does not apply."""
        described = [check.subject.model_dump(mode="json"), run.model_dump()]
        name = key_of("", *described, str(check.file.parent)).digest
        return self._cache.attempt(Key(name, name), lambda: self._build(name, described, check, run))

    def _build(self, name: str, described: list[Any], check: Check, run: Run) -> Case:
        fixtures = descriptors(described, check.file)
        for fixture in fixtures:
            if fixture["asset"] is not None:
                self._cache.raise_failure(fixture["asset"])
        described = [*described, *fixtures]
        pair = check.subject.pair
        if pair is None or pair.rewrite is None:
            subject = build_subject(check.subject, run, check.file, self._report)
            return Case(name, subject, described, run, self._cache, self._report)
        alone = check.subject.model_copy(update={"model": pair.model, "pair": None})
        plain = self.case(replace(check, subject=alone), run)
        subject = rewritten_subject(plain.subject, pair.rewrite, run)
        return Case(name, subject, described, run, self._cache, self._report, plain)
