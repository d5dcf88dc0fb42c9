"""Where runs are kept: each in reports/runs/<time>-<name>, and `reports/latest` points to the newest."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from axioms.core.errors import InputError, did_you_mean, display_path
from axioms.record import RESULTS

REPORTS, RUNS, LATEST = "reports", "runs", "latest"
LONGEST_NAME = 60
MOST_NAMED = 3
"""Files that a run's name mentions."""
MOST_LISTED = 12
"""Runs that an error names."""


def run_name(files: Sequence[str], keyword: str = "", tier: str = "smoke") -> str:
    """Return what a run is called: the files or folders that it was asked for, the keyword of `-k` and the tier."""
    stems = list(dict.fromkeys(Path(file.partition("::")[0]).stem for file in files))
    names = [stem for stem in stems if stem][:MOST_NAMED] or ["run"]
    parts = [*names, *(["more"] if len(stems) > MOST_NAMED else []), *(["k", keyword] if keyword else [])]
    name = "-".join([*parts, *([tier] if tier != "smoke" else [])])
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:LONGEST_NAME]


def new_folder(root: Path, name: str) -> Path:
    """Return the folder of a run that starts now, below the root of the project; nothing is written yet."""
    return _free(root / REPORTS / RUNS, f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}")


def _free(folder: Path, name: str) -> Path:
    """Return a path in the folder that nothing has yet: two runs of one second are two runs."""
    number = 1
    while (path := folder / (name if number == 1 else f"{name}-{number}")).exists():
        number += 1
    return path


def claimed(folder: Path) -> Path:
    """Make the folder of a run, under another name where a run of the same second has this one; return it."""
    while True:
        path = _free(folder.parent, folder.name)
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path


def point_latest(folder: Path) -> Path:
    """Let `latest` beside `runs` lead to this run: a link, or a file that names it where links cannot be made.

    A real folder of that name, which earlier releases wrote, is kept among the runs.
    """
    latest = folder.parent.parent / LATEST
    target = f"{RUNS}/{folder.name}"
    folder.mkdir(parents=True, exist_ok=True)
    if latest.is_dir() and not latest.is_symlink():
        written = datetime.fromtimestamp(latest.stat().st_mtime, UTC)
        latest.rename(_free(folder.parent, f"{written:%Y%m%d-%H%M%S}-{LATEST}"))
    partial = latest.with_name(f".{LATEST}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    try:
        partial.symlink_to(target, target_is_directory=True)
    except OSError:
        partial.write_text(f"{target}\n", encoding="utf-8")
    os.replace(partial, latest)
    return latest


def find_run(named: Path) -> Path:
    """Return the folder or file that a user means: a path, or the name of a run, with or without its time.

    Paths are looked for here and in the folders above, up to the project's root; so is reports/runs. Of several runs
    of one name it is the newest. What is not there is returned as it is: reading it says so.
    """
    bases = [Path(), *Path.cwd().parents]
    for base in bases:
        if (base / named).exists():
            return _followed(base / named)
    if len(named.parts) != 1:
        return named
    folder = next((base / REPORTS / RUNS for base in bases if (base / REPORTS / RUNS).is_dir()), None)
    if folder is None:
        return named
    if str(named) == LATEST and (folder.parent / LATEST).exists():
        return _followed(folder.parent / LATEST)
    runs = {run.name: run for run in sorted(folder.iterdir()) if (run / RESULTS).is_file()}
    alike = [run for name, run in runs.items() if str(named) in _names(name)]
    if alike:
        return alike[-1]
    newest = [list(_names(name))[-1] for name in list(runs)[:-MOST_LISTED:-1]]
    hint = did_you_mean(str(named), dict.fromkeys(newest))
    raise InputError(f"there is no file, folder or run {str(named)!r}; runs are kept in {display_path(folder)}.{hint}")


def _names(folder: str) -> Iterator[str]:
    """Yield what a run may be called: all of its folder's name, or what stands behind the time."""
    yield folder
    yield re.sub(r"^\d{8}-\d{6}-", "", folder)


def _followed(path: Path) -> Path:
    """Return where a file `latest` points to, or the path itself."""
    if path.name != LATEST or not path.is_file():
        return path
    return path.parent / path.read_text(encoding="utf-8").strip()
