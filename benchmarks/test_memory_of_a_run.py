"""The peak of a run's memory with 2,000 sentences beside that with 200: `pytest` in fresh processes (not on Windows).

Also the largest peak of a cluster's workers, as Linux tells it of running processes. Were the embeddings of all
sentences held, they alone would add 190 MB here.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
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


def peak(folder: Path, n: int, *options: str) -> tuple[int, int]:
    """Return the largest resident size of a run over so many sentences: of its process, and of any worker of Ray."""
    folder.mkdir()
    draw = random.Random(0)
    texts = [" ".join(draw.choices(WORDS, k=LENGTH)) for _ in range(n)]
    (folder / "texts.tsv").write_text("\n".join(["text", *texts]) + "\n")
    specs = folder / "specs"
    specs.mkdir()
    (specs / "memory.yaml").write_text(SPEC.format(path=folder / "texts.tsv"))
    report = ["--axioms-report", str(folder / "report")]
    alone = ["-p", "no:cacheprovider", "--rootdir", str(folder), "-c", os.devnull]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", str(specs), "-q", "--axioms-fresh", *report, *alone, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    sizes, done = [0], Event()
    watch = Thread(target=_note_workers, args=(process.pid, sizes, done))
    watch.start()
    printed = process.stdout.read()
    done.set()
    watch.join()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, printed[-2000:]
    return usage.ru_maxrss, max(sizes)


def _note_workers(pid: int, sizes: list[int], done: Event) -> None:
    """Add the peak of each of the process's workers to the list, five times a second."""
    while not done.wait(0.2):
        children: dict[int, list[int]] = defaultdict(list)
        status: dict[int, str] = {}
        for path in Path("/proc").glob("[0-9]*/status"):
            with suppress(OSError):  # it has ended meanwhile
                status[int(path.parent.name)] = text = path.read_text()
                children[int(re.findall(r"PPid:\s+(\d+)", text)[0])].append(int(path.parent.name))
        open_pids = [pid]
        while open_pids:
            open_pids += children[open_pids[0]]
            text = status.get(open_pids.pop(0), "")
            if "ray::" in text.partition("\n")[0]:
                sizes += [int(size) for size in re.findall(r"VmHWM:\s+(\d+)", text)]


@pytest.mark.skipif(sys.platform == "win32", reason="the system does not say how large a process was")
def test_memory_of_a_run(settings: Any, tmp_path: Path) -> None:
    _judge(settings, "", *(peak(tmp_path / str(n), n)[0] for n in _numbers(settings)))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of a process that runs")
def test_memory_of_workers(settings: Any, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    cluster = ("--axioms-cluster", "local:2")
    _judge(settings, " of a worker of two", *(peak(tmp_path / str(n), n, *cluster)[1] for n in _numbers(settings)))


def _numbers(settings: Any) -> tuple[int, int]:
    return (20, 40) if settings.quick else (200, 2000)


def _judge(settings: Any, whose: str, small: int, large: int) -> None:
    few, many = _numbers(settings)
    assert small > 0
    unit = 1e3 if sys.platform == "linux" else 1e6  # Linux counts in kilobytes, macOS in bytes
    ratio = large / small
    settings.notes.append(
        f"peak resident memory{whose}: {small / unit:,.0f} MB at {few} sentences, "
        f"{large / unit:,.0f} MB at {many}: {ratio:.2f} times as much"
    )
    if not settings.quick:
        assert ratio <= GOAL, f"memory{whose} grows with the examples: {ratio:.2f} times, and the goal is {GOAL}"
