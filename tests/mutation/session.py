"""Mutants of functions: one session that has imported and collected everything, and a fork of it for each of them.

In the fork the function gets the mutant's code, wherever it is known. A function that has run before, while modules
were imported and tests collected, is left to trial.py: what it has made (a table, a cache) would be without the mutant.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from tests.mutation.record import ROOT, unit_of
from tests.mutation.trial import FirstFailure, Row, Trial, arguments_in, fork_each, limit, run_imported

OPTIMIZED = 1
"""The flag of functions, which neither a module's code nor a class's has."""

Pairs = list[tuple[CodeType, CodeType]]


def run_trials(trials: list[Trial], jobs: int) -> Iterator[Row]:
    """Run the trials, some at a time, and yield each result as it comes."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _serve(trials, jobs, writing)
    os.close(writing)
    done: set[int] = set()
    with os.fdopen(reading) as lines:
        for line in lines:
            number, row = json.loads(line)
            done.add(number)
            yield row
    os.waitpid(pid, 0)
    rest = [trial for number, trial in enumerate(trials) if number not in done]
    yield from (row for _, row in fork_each(rest, jobs, run_imported))


def _serve(trials: list[Trial], jobs: int, writing: int) -> None:
    """Collect the tests and run what can be run here; each result is a line of JSON with the trial's number."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        session = Session(trials, jobs, writing)
        files = sorted({test.split("::")[0] for trial in trials for test in trial.tests})
        with Path(folder, "output").open("w") as output:
            os.dup2(output.fileno(), 1)
            sys.setprofile(session.note_call)
            for module in sorted({trial.module for trial in trials}):
                importlib.import_module(module)
            pytest.main([*arguments_in(Path(folder)), *files], plugins=[session])
    os._exit(0)


class Session:
    """Runs no test itself: it forks, and the fork runs those of one mutant."""

    def __init__(self, trials: list[Trial], jobs: int, writing: int) -> None:
        self.trials, self.jobs, self.writing = trials, jobs, writing
        self.ran: set[tuple[str, int, str]] = set()
        self.functions: dict[tuple[str, int, str], list[FunctionType]] = defaultdict(list)

    def note_call(self, frame: FrameType, event: str, _: Any) -> None:
        """Remember a function of the package that runs before the forks."""
        if event == "call":
            self.ran.add(_place(frame.f_code))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Fork for each mutant whose functions can be given other code."""
        sys.setprofile(None)
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType):
                self.functions[_place(thing.__code__)].append(thing)
        items: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in session.items:
            items[unit_of(item.nodeid)].append(item)
        numbers = {id(trial): number for number, trial in enumerate(self.trials)}
        pairs = {id(trial): self._pairs(trial) for trial in self.trials if all(test in items for test in trial.tests)}

        def run(trial: Trial, folder: Path) -> None:
            limit(trial, folder)
            for before, after in pairs[id(trial)] or []:
                for function in self.functions[_place(before)]:
                    if function.__code__ == before:  # there may be two in one line
                        function.__code__ = after
            session.config.pluginmanager.register(FirstFailure(folder / "by"))
            session.items = [item for test in trial.tests for item in items[test]]
            for item, following in zip(session.items, [*session.items[1:], None], strict=True):
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            (folder / "by").write_text("")

        with os.fdopen(self.writing, "w") as results:
            for trial, row in fork_each([trial for trial in self.trials if pairs.get(id(trial))], self.jobs, run):
                print(json.dumps((numbers[id(trial)], row)), file=results, flush=True)
        return True

    def _pairs(self, trial: Trial) -> Pairs | None:
        """Return the functions that a mutant changes; None where that is not all, or where one of them has run."""
        file = str(ROOT / trial.mutant.file)
        before, after = (compile(text, file, "exec") for text in (Path(file).read_text(), trial.mutant.source))
        pairs = changed_functions(before, after)
        return None if pairs is None or any(_place(old) in self.ran for old, _ in pairs) else pairs


def changed_functions(before: CodeType, after: CodeType) -> Pairs | None:
    """Return the functions whose code differs, with those inside them; None where what runs at import differs."""
    inner = [[part for part in code.co_consts if isinstance(part, CodeType)] for code in (before, after)]
    if before == after:
        return []
    is_function = bool(before.co_flags & OPTIMIZED)
    if len(inner[0]) != len(inner[1]) or len(before.co_freevars) != len(after.co_freevars):
        return None
    if not is_function and _own(before) != _own(after):
        return None
    below = [changed_functions(*parts) for parts in zip(*inner, strict=True)]
    own: Pairs = [(before, after)] if is_function else []
    return None if None in below else [*own, *(pair for pairs in below if pairs for pair in pairs)]


def _own(code: CodeType) -> tuple[Any, ...]:
    """Return what a code does by itself, without the functions in it."""
    constants = tuple((type(part), part) for part in code.co_consts if not isinstance(part, CodeType))
    return code.co_code, code.co_names, constants


def _place(code: CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_qualname
