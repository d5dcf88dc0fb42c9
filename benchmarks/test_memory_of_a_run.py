"""The peak of a run's memory with 2,000 sentences beside that with 200: `pytest` in fresh processes (not on Windows).

Were the embeddings of all sentences held, they alone would add 190 MB here.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

WORDS = (
    "the a film story actor scene plot good bad slow quick warm cold never always seems feels looks very quite".split()
)
LENGTH = 60
SPEC = """
claim: Memory does not grow with the number of examples.
subject:
  model: minilm-sentiment
  data: {{text-file: {{path: {path}}}}}
run: {{batch_size: 16}}
methods: [attnlrp]
checks:
  - {{axiom: conservation, record: [ratio.mean]}}
"""
GOAL = 1.1


def peak(folder: Path, n: int) -> int:
    """Return the largest resident size of a run over so many sentences, as the system counted it for the process."""
    folder.mkdir()
    draw = random.Random(0)
    texts = [" ".join(draw.choices(WORDS, k=LENGTH)) for _ in range(n)]
    (folder / "texts.tsv").write_text("\n".join(["text", *texts]) + "\n")
    specs = folder / "specs"
    specs.mkdir()
    (specs / "memory.yaml").write_text(SPEC.format(path=folder / "texts.tsv"))
    arguments = ["-m", "pytest", str(specs), "-q", "--axioms-fresh", "--axioms-report", str(folder / "report")]
    process = subprocess.Popen(
        [sys.executable, *arguments, "-p", "no:cacheprovider", "--rootdir", str(folder), "-c", os.devnull],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, printed[-2000:]
    return usage.ru_maxrss


@pytest.mark.skipif(sys.platform == "win32", reason="the system does not say how large a process was")
def test_memory_of_a_run(settings: Any, tmp_path: Path) -> None:
    few, many = (20, 40) if settings.quick else (200, 2000)
    small, large = (peak(tmp_path / str(n), n) for n in (few, many))
    unit = 1e3 if sys.platform == "linux" else 1e6  # Linux counts in kilobytes, macOS in bytes
    ratio = large / small
    settings.notes.append(
        f"peak resident memory: {small / unit:,.0f} MB at {few} sentences, "
        f"{large / unit:,.0f} MB at {many}: {ratio:.2f} times as much"
    )
    if not settings.quick:
        assert ratio <= GOAL, f"memory grows with the examples: {ratio:.2f} times, and the goal is {GOAL}"
