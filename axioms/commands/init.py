"""`axioms init`: set up a repository's specs, baseline and workflow."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

from axioms.commands.new.files import SETTINGS_FILE, WORKFLOW_FILE, write_missing
from axioms.commands.new.repository_templates import IGNORED, SETTINGS, WORKFLOW
from axioms.commands.new.templates import SPEC
from axioms.commands.settings import find_settings
from axioms.core.errors import display_path
from axioms.spec.files import specs_below

SPECS, EXAMPLE, BASELINE = Path("specs"), "example", Path("reports/baseline.json")
MEASURE = ["pytest", "specs", "-q", "--axioms-update-baseline=new"]
ABOUT = """\
Set up this folder as a repository with specs: specs/example.yaml (unless specs/ has some), pytest.ini (unless pytest
has settings already), .gitignore, .github/workflows/axioms.yml, and reports/baseline.json, which is measured by a run
of the specs: `pytest specs --axioms-update-baseline=new`. A file that is there is left as it is, and named.

`axioms new rule NAME` then adds a rule of your own with its tests and specs.
Exit code: 0 if the specs pass, 1 if a check failed (its numbers are not in the baseline), 2 if a file cannot be
written."""


def add_parser(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "init",
        help="set up this folder's specs/, baseline and CI workflow",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write what is missing, measure the baseline, and print what to do next."""
    files = {Path(".gitignore"): IGNORED, WORKFLOW_FILE: WORKFLOW}
    if not specs_below(SPECS):
        files[SPECS / f"{EXAMPLE}.yaml"] = SPEC.replace("NAME", EXAMPLE)
    settings = find_settings(Path.cwd())
    if settings is None:
        files[SETTINGS_FILE] = SETTINGS.replace(" MODULES", "")
    written, left = write_missing(files)
    for file in written:
        print(f"written: {display_path(file)}")
    for file in [*left, *([] if settings is None else [settings.file])]:
        print(f"left as it is: {display_path(file)}")
    if Path(".gitignore") in left:
        print(f"git should keep {BASELINE} and leave out the rest of reports/: reports/* and !{BASELINE} in .gitignore")
    if BASELINE.exists():
        print(f"left as it is: {BASELINE}")
        code = 0
    else:
        code = _measure_baseline()
    print("next: axioms new rule NAME for a rule of your own; git add . and push for the workflow")
    return code


def _measure_baseline() -> int:
    """Run the specs, whose numbers become the baseline; return 1 where one of them fails."""
    print(f"measuring the baseline: {' '.join(MEASURE)}", flush=True)
    code = subprocess.run([sys.executable, "-m", *MEASURE], check=False).returncode
    if code:
        print(
            f"some checks failed (above): their numbers are not in {BASELINE}. Mend them, then run "
            f"{' '.join(MEASURE)} again.",
            file=sys.stderr,
        )
    return 1 if code else 0
