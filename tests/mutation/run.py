"""Mutation testing: a seeded sample of small edits to the package, and whether a test or a spec notices each.

    python -m tests.mutation.record                    # which tests execute which line (once)
    python -m tests.mutation.run --seed 1 --sample 400 # some ten minutes; again to resume

Each mutant is a fork of one process that has imported and collected everything (session.py, trial.py). Results are kept
beside the map in a file of JSON lines. One is used again as long as the mutated file is the same and, where the mutant
survived, so are the tests that ran. `equivalent.yaml` lists the mutants that nobody could notice, with the reason.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import random
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.mutation.operators import Mutant, compiles, mutants_of
from tests.mutation.record import MAP, ROOT, SOURCES, unit_of
from tests.mutation.session import run_trials
from tests.mutation.trial import Trial

RESULTS = MAP.parent / "results.jsonl"
EQUIVALENT = Path(__file__).parent / "equivalent.yaml"
PRELOADED = ("_pytest", "hypothesis", "matplotlib", "numpy", "pydantic", "scipy", "torch", "transformers", "yaml")
"""Packages that are imported before the first fork, as far as the tests import them."""
DECLARED = "tests/core/test_declared.py"
"""Tests of what is declared while a module is imported: options, metrics, costs."""
EXCLUDED = ("axioms/methods/lxt/worker.py",)
"""Files that run in another environment, out of a mutant's reach."""


@dataclass(frozen=True)
class Map:
    """What a run under coverage has told: the cost of each test, and the tests that execute each line."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]
    modules: list[str]

    @classmethod
    def read(cls) -> Map:
        """Read what tests.mutation.record wrote."""
        if not MAP.exists():
            sys.exit("there is no map of tests to lines; run `python -m tests.mutation.record` first")
        content = json.loads(MAP.read_text())
        lines = {file: {int(line): tests for line, tests in rows.items()} for file, rows in content["lines"].items()}
        seconds = {test: cost for test, cost in content["seconds"].items() if _exists(test)}
        return cls(seconds, lines, content["modules"])

    def choose(self, mutant: Mutant, budget: float) -> list[str]:
        """Return what should notice a mutant: mirrored tests first, then the cheapest that execute its lines.

        Of a test with parameters one case comes before the second of any other, so that what runs is not all alike.

        A line that runs at import has no test of its own: those of the function it decorates stand in, or the file's,
        and those of what is declared.
        """
        executing, own = set[str](), [mirrored(mutant.file)]
        for first, last in ((mutant.line, mutant.end_line), mutant.scope, (1, sys.maxsize)):
            if not executing:
                rows = self.lines.get(mutant.file, {}).items()
                executing = {test for line, tests in rows if first <= line <= last for test in tests}
                own += [] if executing else [DECLARED]
        mirrors = {test for test in self.seconds if test.split("::")[0] in own}
        known = (executing | mirrors) & set(self.seconds)
        chosen: list[str] = []
        spent, seen = 0.0, Counter[str]()
        order: list[tuple[bool, int, float, str]] = []
        for test in sorted(known, key=lambda name: (self.seconds[name], name)):
            order.append(
                (test not in mirrors or test not in executing, seen[test.split("[")[0]], self.seconds[test], test)
            )
            seen[test.split("[")[0]] += 1
        for *_, test in sorted(order):
            if spent + self.seconds[test] <= budget or not chosen:
                chosen.append(test)
                spent += self.seconds[test]
        return chosen


def _exists(test: str) -> bool:
    """Tell whether a test that the map knows is still there, by its name."""
    path, _, name = test.partition("::")
    return (ROOT / path).exists() and name.split("::")[-1].split("[")[0] in (ROOT / path).read_text()


def mirrored(file: str) -> str:
    """Return the test file of a source file, whether it exists or not."""
    path = Path(file)
    return str(Path("tests", *path.parts[1:-1], f"test_{path.name}"))


def draw(pool: list[Mutant], size: int, seed: int) -> list[Mutant]:
    """Draw from each package in proportion to its mutants, and from its operators in turn, so that none is rare.

    In random order: as much of it as there was time for is a sample too.
    """
    generator, sample = random.Random(seed), []
    packages = defaultdict(list)
    for mutant in pool:
        packages[Path(mutant.file).parts[1]].append(mutant)
    for mutants in packages.values():
        operators: dict[str, list[Mutant]] = defaultdict(list)
        for mutant in generator.sample(mutants, len(mutants)):
            operators[mutant.operator].append(mutant)
        share, turns = round(size * len(mutants) / len(pool)), list(operators.values())
        while share > 0 and any(turns):
            for queue in filter(None, turns):
                mutant = queue.pop()
                if share > 0 and compiles(mutant.source):
                    sample.append(mutant)
                    share -= 1
    generator.shuffle(sample)
    return sample


def all_mutants(only: str) -> list[Mutant]:
    """Return every mutant of the packages, or of the files whose name contains `only`."""
    files = sorted(str(file.relative_to(ROOT)) for name in SOURCES for file in (ROOT / "axioms" / name).rglob("*.py"))
    chosen = [file for file in files if only in file and file not in EXCLUDED]
    return [mutant for file in chosen for mutant in mutants_of(file, (ROOT / file).read_text())]


def equivalents() -> dict[tuple[str, str, str], str]:
    """Return the reason for each mutant that is listed as equivalent, by file, line before and line after."""
    return {(row["file"], row["was"], row["now"]): row["why"] for row in yaml.safe_load(EQUIVALENT.read_text()) or []}


def digest_of(files: Iterable[str]) -> str:
    """Return a digest of what is in some files."""
    digest = hashlib.sha256()
    for file in sorted(set(files)):
        digest.update((ROOT / file).read_bytes())
    return digest.hexdigest()[:16]


def trial_of(mutant: Mutant, tests: list[str], seconds: dict[str, float]) -> Trial:
    """Return what is to be run for a mutant."""
    source = digest_of([mutant.file])
    return Trial(
        mutant, tests, sum(seconds[test] for test in tests), source, digest_of(test.split("::")[0] for test in tests)
    )


def kept_results() -> dict[tuple[str, int, str], dict[str, Any]]:
    """Return the results of earlier runs, the latest of each mutant."""
    if not RESULTS.exists():
        return {}
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    return {(row["identity"], row["line"], row["source"]): row for row in rows}


def evaluate(sample: list[Mutant], tests: Map, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return one result a mutant: kept ones, and those of the trials that are still to be run."""
    kept, results, trials = kept_results(), [], []
    for mutant in sample:
        trial = trial_of(mutant, tests.choose(mutant, options.budget), tests.seconds)
        row = kept.get((mutant.identity, mutant.line, trial.source))
        is_final = row is not None and (row["outcome"] in ("killed", "timeout") or row["tests"] == trial.tests_digest)
        if row is not None and is_final and not options.again:
            results.append(row)
        else:
            trials.append(trial)
    print(f"{len(sample)} mutants, {len(results)} of them known, {len(trials)} to run", flush=True)
    if trials:
        warnings.simplefilter("ignore")
        for name in (name for name in tests.modules if name.split(".")[0] in PRELOADED):
            try:
                importlib.import_module(name)
            except Exception:  # a module that is made on the fly, or an optional one
                continue
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("a") as file:
        for number, row in enumerate(run_trials(trials, options.jobs), 1):
            file.write(json.dumps(row) + "\n")
            file.flush()
            results.append(row)
            print(
                f"{number}/{len(trials)} {row['outcome']:9} {row['seconds']:5.0f} s  {row['file']}:{row['line']}",
                flush=True,
            )
    return results


def fails_without_mutant(results: list[dict[str, Any]], seconds: dict[str, float]) -> str:
    """Return a test that noticed some mutant and fails on the source as it is, so that its word counts for nothing."""
    killers = sorted({unit_of(row["by"]) for row in results if row["outcome"] == "killed"} & set(seconds))
    if not killers:
        return ""
    file = results[0]["file"]
    plain = Mutant(file, 1, 1, "none", "", "", (ROOT / file).read_text(), (1, 1))
    (row,) = run_trials([trial_of(plain, killers, seconds)], 1)
    return "" if row["outcome"] == "survived" else row["by"]


def report(results: list[dict[str, Any]]) -> float:
    """Print the score of each module and the survivors; return the share of killed among those not equivalent."""
    reasons, survivors = equivalents(), []
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for row in results:
        outcome = row["outcome"]
        if outcome == "survived":
            if (row["file"], row["was"], row["now"]) in reasons:
                outcome = "equivalent"
            else:
                survivors.append(row)
        table[row["file"]][outcome] += 1
        table["axioms/" + row["file"].split("/")[1]][outcome] += 1
        table["all"][outcome] += 1
    print(f"\n{'module':50} {'mutants':>7} {'equivalent':>10} {'killed':>6} {'survived':>8} {'not run':>7}  score")
    for name in sorted(table, key=lambda name: (name == "all", name)):
        counts = table[name]
        killed = counts["killed"] + counts["timeout"]
        total = killed + counts["survived"]
        score = f"{killed / total:6.1%}" if total else "     -"
        line = f"{name:50} {counts.total():7} {counts['equivalent']:10} {killed:6} {counts['survived']:8}"
        print(f"{line} {counts['not run']:7} {score}")
    for row in sorted(survivors, key=lambda row: (row["file"], row["line"])):
        print(f"\n{row['file']}:{row['line']}  {row['operator']}, survived {row['count']} tests")
        print(f"  - {row['was']}\n  + {row['now']}")
    counts = table["all"]
    killed = counts["killed"] + counts["timeout"]
    return killed / max(1, killed + counts["survived"])


def main() -> int:
    """Draw, run and report; the exit status says whether the score is reached."""
    parser = argparse.ArgumentParser(description="Mutate a seeded sample of the package and see what notices.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=400)
    parser.add_argument("--only", default="", help="only files whose path contains this, for example engine/rules")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of tests per mutant, by the map")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="run every mutant of the sample anew")
    parser.add_argument("--score", type=float, default=0.95, help="the share that must be killed")
    options = parser.parse_args()
    # A fork that has inherited a pool of threads, but not its threads, waits for them for ever.
    os.environ["OMP_NUM_THREADS"] = "1"
    if "torch" in sys.modules:
        sys.exit("torch was imported before the number of threads was set; run this as `python -m tests.mutation.run`")
    os.chdir(ROOT)
    sample = draw(all_mutants(options.only), options.sample, options.seed)
    tests = Map.read()
    results = evaluate(sample, tests, options)
    score = report(results)
    broken = fails_without_mutant(results, tests.seconds)
    if broken:
        sys.exit(f"{broken} fails without any mutant, so the score means nothing; mend it, or record the map again")
    print(f"\n{score:.1%} of the mutants that are not equivalent were killed; {options.score:.0%} are wanted")
    return int(score < options.score)


if __name__ == "__main__":
    sys.exit(main())
