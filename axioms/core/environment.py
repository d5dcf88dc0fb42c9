"""Switches that are environment variables."""

from __future__ import annotations

import os

NO_CODE = "AXIOMS_NO_CODE"
"""Nothing is imported that the user, a spec or pytest's settings name."""


def switched_on(variable: str) -> bool:
    """Whether an environment variable says yes."""
    return os.environ.get(variable, "").lower() not in ("", "0", "false", "no")
