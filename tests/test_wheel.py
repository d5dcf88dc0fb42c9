"""A stranger's repository, with the wheel and no checkout: its methods get cards, and a change of 1% is caught.

It builds and installs the wheel and measures four methods on every subject, so it is a step of .ci/run by itself.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from axioms.record import RunRecord, read_record
from tests.conftest import ROOT

EXAMPLE = ROOT / "docs" / "card_example"
SHIPPED = ("axioms", "specs", "fixtures", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
MINUTES = os.environ.get("AXIOMS_WHEEL_MINUTES", "10")
"""Of each card: enough on a slow machine; one core needs two or three."""
SUBJECTS = {"specs/sentiment.yaml", "specs/linear_attention.yaml", "specs/agreement.yaml", "card/families.yaml"}
METHODS = {
    "mypkg.rules:half_lrp": ("mypkg/rules.py", "half_lrp"),
    "mypkg.plain:between": ("mypkg/plain.py", "python:mypkg.plain.between"),
    "captum:mypkg.captums.Blended": ("mypkg/captums.py", "captum:mypkg.captums.Blended"),
    "zennit:mypkg.zennits.GammaLinear": ("mypkg/zennits.py", "zennit:mypkg.zennits.GammaLinear"),
}


def test_the_example_imports_nothing_but_public_names() -> None:
    modules = sorted((EXAMPLE / "mypkg").glob("*.py"))
    assert len(modules) == 5
    for file in modules:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                assert {name.name for name in node.names} <= {"axioms", "torch"}, file.name
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] in ("captum", "zennit"), file.name
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "axioms":
                import axioms

                assert node.attr in axioms.__all__, f"{file.name}: axioms.{node.attr}"
    lines = [line for line in (EXAMPLE / "mypkg" / "rules.py").read_text().splitlines() if line.strip()]
    assert len(lines) <= 15


def test_the_page_prints_the_files_as_they_are() -> None:
    page = (ROOT / "docs" / "card.md").read_text()
    for file in EXAMPLE.rglob("*.*"):
        if file.suffix in (".py", ".ini", ".yaml") and file.name != "__init__.py":
            assert f"# {file.relative_to(EXAMPLE).as_posix()}\n{file.read_text()}```" in page, file.name


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The `bin` of an environment that has the wheel, and everything else from this one."""
    if "wheel" not in str(request.config.getoption("markexpr")):
        pytest.skip("builds the wheel and measures for minutes: pytest tests/test_wheel.py -m wheel")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in SHIPPED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True)
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    venv.create(environment)
    python = environment / "bin" / "python"
    paths = {"base": str(environment), "platbase": str(environment)}
    packages = Path(sysconfig.get_path("purelib", vars=paths))
    # Files named *.pth in a folder that a .pth names are not read, so an editable install there is not seen.
    (packages / "beside.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--force-reinstall",
        str(wheel),
    ]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    place = subprocess.run(
        [python, "-c", "import axioms; print(axioms.__file__)"], cwd=folder, env=clean(), capture_output=True, text=True
    )
    assert place.stdout.startswith(str(packages)), f"axioms must come from the wheel: {place.stdout}{place.stderr}"
    return environment / "bin"


def clean() -> dict[str, str]:
    """The environment's variables without those that would lead to the checkout."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "AXIOMS_FRESH")}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the example, outside the checkout."""
    return copied(tmp_path)


def copied(folder: Path) -> Path:
    shutil.copytree(EXAMPLE, folder / "repository", ignore=shutil.ignore_patterns("__pycache__", "reports"))
    return folder / "repository"


def run(programs: Path, repository: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=repository,
        env={**clean(), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=60 * float(MINUTES) + 300,
        check=False,
    )


def gate(programs: Path, repository: Path, *options: str) -> subprocess.CompletedProcess[str]:
    baseline = ("--axioms-baseline", "reports/baseline.json")
    return run(programs, repository, programs / "python", "-m", "pytest", "specs/", "-q", *baseline, *options)


@pytest.fixture(scope="module")
def gated(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with a baseline, which it passes."""
    repository = copied(tmp_path_factory.mktemp("gated"))
    update = gate(programs, repository, "--axioms-update-baseline=new")
    assert update.returncode == 0, update.stdout + update.stderr
    same = gate(programs, repository)
    assert same.returncode == 0, same.stdout + same.stderr
    assert "none drifted" in same.stdout
    return repository


@pytest.mark.wheel
@pytest.mark.parametrize("method", METHODS)
def test_a_card_of_ones_own_method(programs: Path, repository: Path, method: str) -> None:
    card = run(programs, repository, programs / "axioms", "card", method, "--against", "attnlrp", "--minutes", MINUTES)
    assert card.returncode == 0, card.stdout + card.stderr
    (file,) = (repository / "reports").glob("card-*.json")
    record: RunRecord = read_record(file)
    assert record.not_run == [], "raise AXIOMS_WHEEL_MINUTES"
    label = METHODS[method][1]
    assert {check.spec for check in record.checks if check.method == label} >= SUBJECTS
    assert label in card.stdout.splitlines()[0]
    for ending in (".html", ".md", ".svg"):
        assert file.with_suffix(ending).stat().st_size > 1000
    print(card.stdout)


@pytest.mark.wheel
@pytest.mark.parametrize("method", METHODS)
def test_one_percent_is_caught_and_named(programs: Path, gated: Path, method: str) -> None:
    name, label = METHODS[method]
    text = (gated / name).read_text()
    assert text.count("SHARE = 0.5\n") == 1
    (gated / name).write_text(text.replace("SHARE = 0.5\n", "SHARE = 0.505\n"))
    changed = gate(programs, gated)
    (gated / name).write_text(text)
    assert changed.returncode == 1, changed.stdout + changed.stderr
    rows = [line.split() for line in changed.stdout.splitlines() if line.startswith("drift ")]
    axioms = {row[1].partition("::")[2].partition("[")[0] for row in rows}
    assert axioms, changed.stdout
    assert {row[1] for row in rows} == {f"specs/mine.yaml::{axiom}[{label}]" for axiom in axioms}
    print(changed.stdout)
