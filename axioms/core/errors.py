"""Errors that a user can act on: each is a sentence, none needs a traceback."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from axioms.core.printable import printable


class AxiomsError(Exception):
    """Base of every error that we raise on purpose."""


class UnknownName(AxiomsError):
    """A name that no registry knows."""


class NameTaken(AxiomsError, ValueError):
    """A name under which something else is registered already."""


class UncoveredOperation(AxiomsError):
    """An operation that mixes variables and for which no rule exists."""


class InputError(AxiomsError):
    """Inputs, options or data that a method or a subject cannot take."""


class BuildFailed(InputError):
    """A user's function that builds a model and raised."""


class ModelFailed(InputError):
    """A model that raised in its own forward pass."""


class MethodFailed(InputError):
    """A user's method or rule that raised, or that gave something that no method may give."""


class ModelChanged(MethodFailed):
    """A user's method or axiom that changed the model or its inputs, which have been put back."""


class NotDefined(InputError):
    """A method that is not defined for this model, and says so: what `refused_by` claims."""


class MissingPackage(AxiomsError):
    """A method whose package is not there, or cannot be used here: its checks are skipped, and this is the reason."""


class AssetMissing(AxiomsError):
    """A model or data that is neither in the cache nor to be had: its checks are skipped, and this is the reason."""

    def __init__(self, reason: str, asset: str | None = None) -> None:
        """`asset` is the name of the one that was asked for, if it is of a manifest."""
        super().__init__(reason)
        self.asset = asset


class ClusterError(AxiomsError):
    """A cluster that cannot be used, or that can no longer be: the run ends here."""


class NotApplicable(AxiomsError):
    """A rewrite whose pattern does not occur in the model."""


class RewriteError(AxiomsError):
    """A rewrite that changed the function: an error in the rewrite, whatever a method makes of it."""


class SubjectWarning(UserWarning):
    """Something about a model or its data that the user should know and that has been dealt with."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a spec, and where."""

    file: Path
    line: int
    where: str
    what: str

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return printable(f"{display_path(self.file)}:{self.line}: {place}{self.what}")


class SpecError(AxiomsError):
    """Everything that is wrong with one spec file, at once."""

    def __init__(self, problems: list[Problem]) -> None:
        # An alias repeats its target, and with it the target's problem: the reader needs it once.
        self.problems = list(dict.fromkeys(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def said(error: Exception) -> str:
    """Return what an exception says, and the file and line that raised it: "KeyError 'x' (rules.py, line 11)"."""
    import traceback  # only where something is wrong

    frames = traceback.extract_tb(error.__traceback__)
    ours = f"{Path(__file__).parents[1]}"
    users = [frame for frame in frames if "site-packages" not in frame.filename and not frame.filename.startswith(ours)]
    frame = (users or frames)[-1]
    what = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return f"{what} ({display_path(Path(frame.filename))}, line {frame.lineno})"


def display_path(path: Path) -> str:
    """The path as a reader would type it: relative to the working directory where that is shorter."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(path)


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """A suggestion where one is close, and what is allowed: " Did you mean 'attnlrp'? Known: ..."."""
    import difflib  # only where something is wrong

    names = sorted(allowed)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    suggestion = f" Did you mean {close[0]!r}?" if close else ""
    return f"{suggestion} Known: {', '.join(names)}." if names else suggestion
