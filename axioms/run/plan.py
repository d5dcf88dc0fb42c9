"""What a run is going to ask: known before the first check runs, so that a shard is held once for all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from axioms.run.address import Address, Opened
from axioms.run.requests import Request, requests_of
from axioms.spec import Check, Run, Subject


class Plan:
    """The checks of a run by their subjects, with the settings that the command line changes."""

    def __init__(self, checks: Iterable[Check] = (), overrides: Mapping[str, Any] | None = None) -> None:
        self._checks, self._overrides = list(checks), dict(overrides or {})
        self._addresses: dict[tuple[int, int, str], tuple[Address, Subject, Run]] = {}

    def address(self, check: Check) -> Address:
        """Return where the subject of a check is found; the same object for checks that share theirs."""
        place = (id(check.subject), id(check.run), str(check.file.parent))
        if place not in self._addresses:
            run = check.run.model_copy(update=self._overrides)
            # The subject and the run are held, so that no other objects get their ids.
            self._addresses[place] = (Address(check.subject, run, check.file), check.subject, check.run)
        return self._addresses[place][0]

    @property
    def groups(self) -> list[str]:
        """The names of the plain subjects of the run."""
        return list(self._groups)

    def group(self, address: Address) -> list[Address]:
        """Return all subjects that share their plain model and data with this one, which comes first."""
        others = self._groups.get(address.plain.name, {})
        return [address, *(other for name, (other, _) in others.items() if name != address.name)]

    def addresses(self, plain: str) -> list[Address]:
        """Return all subjects of a group."""
        return [address for address, _ in self._groups[plain].values()]

    def requests(self, address: Address, opened: Opened) -> list[Request]:
        """Return everything that the checks of a subject ask, each request once."""
        checks = self._groups.get(address.plain.name, {}).get(address.name, (address, []))[1]
        requests = [request for check in checks for request in requests_of(check, opened)]
        return list({request.name: request for request in requests}.values())

    @cached_property
    def _groups(self) -> dict[str, dict[str, tuple[Address, list[Check]]]]:
        """By plain subject, and by subject, the checks."""
        groups: dict[str, dict[str, tuple[Address, list[Check]]]] = {}
        for check in self._checks:
            address = self.address(check)
            subjects = groups.setdefault(address.plain.name, {})
            subjects.setdefault(address.name, (address, []))[1].append(check)
        return groups
