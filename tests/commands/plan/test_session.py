"""What a session takes beside its passes: told apart by two sessions, whatever options the user has set."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from axioms.commands.plan import session
from axioms.commands.plan.device import Device
from axioms.core.errors import AxiomsError


def test_two_sessions_tell_start_and_checks_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line through both: 4 seconds to start, and a hundredth for each of the trifle's 35 checks."""
    monkeypatch.setattr(session, "_seconds_of_session", lambda copies: 4.0 + copies * 35 * 0.01)
    monkeypatch.setattr(session, "_beside_passes", lambda device: 0.002)
    measured = session.measure_session(Device("here", {}))
    assert measured.start == pytest.approx(4.0)
    assert measured.check == pytest.approx(0.012)


def test_a_noisy_machine_gives_no_negative_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_seconds_of_session", lambda copies: 5.0 - copies / 10)
    monkeypatch.setattr(session, "_beside_passes", lambda device: 0.0)
    measured = session.measure_session(Device("here", {}))
    assert measured.check == 0
    assert measured.start > 0


def test_options_of_the_user_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def run(command: list[str], **given: Any) -> subprocess.CompletedProcess[str]:
        seen.update(given, command=command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setenv("PYTEST_ADDOPTS", "-n 4")
    monkeypatch.setattr(subprocess, "run", run)
    session._seconds_of_session(2)
    assert "PYTEST_ADDOPTS" not in seen["env"]
    assert "--axioms-fresh" in seen["command"]


def test_a_session_that_fails_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 3, "", "INTERNALERROR> no space left\n")
    monkeypatch.setattr(subprocess, "run", lambda *args, **given: failed)
    with pytest.raises(AxiomsError, match="timed to calibrate, failed: INTERNALERROR> no space left"):
        session._seconds_of_session(1)
