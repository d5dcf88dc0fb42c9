"""The command-line options, and what they mean."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from axioms.core.environment import NO_CODE, switched_on
from axioms.core.errors import InputError, SpecError, display_path
from axioms.core.imports import import_modules
from axioms.core.suite import suite_specs
from axioms.spec import TIERS, MethodRef
from axioms.spec.added import Claim, read_claims, read_method
from axioms.subjects.assets import OFFLINE, cache_folder

if TYPE_CHECKING:
    from axioms.run.cache import Cache, Reuse

FRESH = "AXIOMS_FRESH"
REQUIRE_ASSETS = "AXIOMS_REQUIRE_ASSETS"
DTYPES = ("float64", "float32", "float16", "bfloat16")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the `axioms` group of `pytest --help`."""
    group = parser.getgroup("axioms", "checking attribution methods against YAML specs")
    _add_what_runs(group)
    _add_ones_own(group)
    _add_what_is_kept(group)
    parser.addini("axioms_specs", "names of the folders whose YAML files are specs", type="args", default=["specs"])
    parser.addini("axioms_import", "modules to import first, as --axioms-import does", type="args", default=[])


def _add_what_runs(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--axioms-tier",
        choices=TIERS,
        default="smoke",
        help="run specs up to this tier; the rest is deselected (smoke)",
    )
    group.addoption(
        "--axioms-device",
        metavar="DEVICE",
        help="compute on this device instead of the specs' own: auto, cpu, cuda, ...",
    )
    group.addoption("--axioms-dtype", choices=DTYPES, help="compute in this dtype instead of the specs' own")
    group.addoption("--axioms-methods", metavar="GLOB", help="only methods whose label matches, for example 'attn*'")
    group.addoption(
        "--axioms-cluster",
        metavar="ADDRESS",
        help="compute on Ray: local:N (N workers on this machine), auto (the running cluster) or ray://host:port",
    )
    group.addoption(
        "--axioms-offline",
        action="store_true",
        help="fetch nothing: checks whose model or data is not in the cache are skipped (AXIOMS_OFFLINE=1)",
    )
    group.addoption(
        "--axioms-require-assets",
        action="store_true",
        help="fail, rather than skip, checks whose model or data cannot be had; for CI (AXIOMS_REQUIRE_ASSETS=1)",
    )


def _add_ones_own(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--axioms-import",
        metavar="MODULE",
        action="append",
        default=[],
        help="import this module first, so that specs can name what it registers; may be given more than once",
    )
    group.addoption(
        "--axioms-method",
        metavar="METHOD",
        action="append",
        default=[],
        help="add a method to every spec: a name, MODULE:NAME, or 'NAME: {option: value}'; where a spec claims nothing "
        "about it, the verdict is reported and fails nothing; may be given more than once",
    )
    group.addoption(
        "--axioms-only-method",
        action="store_true",
        help="run nothing but the checks of the methods that --axioms-method adds",
    )
    group.addoption(
        "--axioms-expect",
        metavar="FILE",
        help="claims about the added methods, a YAML file {method: {axiom, or pattern of ids: holds or violated}}",
    )
    group.addoption(
        "--axioms-no-code",
        action="store_true",
        help="import nothing that a spec, an option or pytest's settings name: what does so is refused with its place "
        "(AXIOMS_NO_CODE=1); conftest.py files are pytest's own, and --noconftest leaves them out",
    )
    group.addoption(
        "--axioms-suite",
        action="store_true",
        help="run the specs that come with the package, alone or beside those that are named",
    )


def _add_what_is_kept(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--axioms-report",
        metavar="DIR",
        help="where results.json, summary.md and the paper's tables and figures go "
        "(reports/runs/<time>-<name>, to which reports/latest points)",
    )
    group.addoption(
        "--axioms-fresh",
        action="store_true",
        help="measure everything anew, also what an earlier run has measured with the same code (AXIOMS_FRESH=1)",
    )
    group.addoption(
        "--axioms-reuse",
        action="store_true",
        help="use what an earlier run has measured also of methods, rules, axioms and models that are not this "
        "package's, and beside a baseline; what their code reads or imports when called must not have changed",
    )
    group.addoption(
        "--axioms-resume",
        action="store_true",
        help="no longer needed, and does nothing: every run uses what an earlier one has measured, killed or not; "
        "--axioms-reuse also what other people's code has",
    )
    group.addoption(
        "--axioms-baseline",
        metavar="FILE",
        help="compare every metric with this baseline.json, under the tolerances of the specs, and fail on drift",
    )
    group.addoption(
        "--axioms-update-baseline",
        choices=("new", "all"),
        help="write the baseline (reports/baseline.json unless named): `new` adds what it lacks, `all` also replaces "
        "what was run; failed checks are left as they were",
    )


def import_own(config: pytest.Config) -> None:
    """Import the user's modules: those of pytest's settings, then those of the command line."""
    settings = "pytest's settings" if config.inipath is None else display_path(config.inipath)
    for place, modules in (
        (f"{settings}: axioms_import", config.getini("axioms_import")),
        ("--axioms-import", config.getoption("--axioms-import")),
    ):
        try:
            import_modules(modules, config.invocation_params.dir)
        except InputError as error:
            raise pytest.UsageError(f"{place}: {error}") from None


def add_suite(config: pytest.Config) -> None:
    """Let pytest look at the suite: in the place of everything that nobody named on the command line."""
    suite = str(suite_specs())
    if config.getoption("--axioms-suite") and suite not in config.args:
        is_named = config.args_source is config.ArgsSource.ARGS
        config.args = [*(config.args if is_named else ()), suite]


ADDED = pytest.StashKey[list[MethodRef]]()
CLAIMS = pytest.StashKey[dict[str, list[Claim]]]()
"""The methods that `--axioms-method` adds, and what `--axioms-expect` claims of them."""


def read_added(config: pytest.Config) -> None:
    """Read the methods that are added to every spec, and the claims about them."""
    folder, file = config.invocation_params.dir, config.getoption("--axioms-expect")
    texts = config.getoption("--axioms-method")
    try:
        config.stash[ADDED] = [read_method(text, folder) for text in texts]
        config.stash[CLAIMS] = {} if file is None else read_claims(folder / file)
    except (InputError, SpecError) as error:
        raise pytest.UsageError(f"{error}") from None
    claims: dict[str, list[Claim]] = config.stash[CLAIMS]
    methods: list[MethodRef] = config.stash[ADDED]
    unknown = set(claims) - {method.label for method in methods}
    if unknown or (config.getoption("--axioms-only-method") and not texts):
        named = f"--axioms-expect claims something about {', '.join(sorted(unknown))}"
        what = named if unknown else "--axioms-only-method"
        raise pytest.UsageError(f"{what}: add that method by --axioms-method.")


def rerun_command(config: pytest.Config, nodeid: str) -> str:
    """Return the command that runs a check again from here, with the options without which it would be another."""
    words = []
    for name in ("--axioms-import", "--axioms-method"):
        words += [word for value in config.getoption(name) for word in (name, value)]
    for name in ("--axioms-expect", "--axioms-device", "--axioms-dtype"):
        words += [] if config.getoption(name) is None else [name, config.getoption(name)]
    if config.getoption("--axioms-tier") != TIERS[0]:
        words += ["--axioms-tier", config.getoption("--axioms-tier")]
    file, colons, name = nodeid.partition("::")
    here = os.path.relpath(config.rootpath / file, config.invocation_params.dir)
    return f"pytest {_quoted(here + colons + name)} {shlex.join(words)}".rstrip()


def _quoted(text: str) -> str:
    """Return a text as a shell takes it whole: between double quotes, unless something in it would act there."""
    return f'"{text}"' if set(text).isdisjoint('"$`\\!') else shlex.quote(text)


def is_worker(config: pytest.Config) -> bool:
    """Tell whether this process is one of xdist's workers: only the controller writes reports."""
    return hasattr(config, "workerinput")


def assets_required(config: pytest.Config) -> bool:
    """Tell whether a missing asset is a failure."""
    return bool(config.getoption("--axioms-require-assets")) or switched_on(REQUIRE_ASSETS)


def cache_of(config: pytest.Config) -> Cache:
    """Return the cache of a session, by default for this package's own methods; a gate compares what it measures."""
    from axioms.run.cache import Cache

    if config.getoption("--axioms-fresh") or switched_on(FRESH):
        return Cache()
    reuse: Reuse = "nothing" if is_gated(config) else "ours"
    return Cache(cache_folder() / "measurements", "all" if config.getoption("--axioms-reuse") else reuse)


def is_gated(config: pytest.Config) -> bool:
    """Tell whether the numbers of a session are compared with a baseline, or become one."""
    return any(config.getoption(name) is not None for name in ("--axioms-baseline", "--axioms-update-baseline"))


def apply_switches(config: pytest.Config) -> None:
    """Set the environment variables that `--axioms-offline` and `--axioms-no-code` stand for, for this session."""
    for option, variable in (("--axioms-offline", OFFLINE), ("--axioms-no-code", NO_CODE)):
        if config.getoption(option):
            patch = pytest.MonkeyPatch()
            patch.setenv(variable, "1")
            config.add_cleanup(patch.undo)


def overrides(config: pytest.Config) -> dict[str, Any]:
    """Return what the command line changes in every spec's `run`."""
    chosen = {"device": config.getoption("--axioms-device"), "dtype": config.getoption("--axioms-dtype")}
    return {name: value for name, value in chosen.items() if value is not None}
