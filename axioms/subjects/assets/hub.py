"""Repositories of the hub: their data files, in the hub's own cache."""

from __future__ import annotations

import http.client
import os
import re
import urllib.error
import urllib.request
from pathlib import Path

from axioms.core.environment import switched_on
from axioms.core.errors import AssetMissing, InputError
from axioms.subjects.assets.store import OFFLINE

PROBE_SECONDS = 10.0


def snapshot(name: str, revision: str | None, patterns: list[str], kind: str = "model") -> Path:
    """Return the folder of a repository's data files in the hub's own cache, fetched where needed and possible."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    if not re.fullmatch(r"\w[\w.-]*(/[\w.-]+)?", name):
        raise InputError(f"{name!r} is neither a folder beside the spec nor a name on the hub.")
    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise InputError(f"{name!r} is neither a folder beside the spec nor a name on the hub: {error}") from None
    why = f"{OFFLINE} forbids fetching it" if switched_on(OFFLINE) else _unreachable(name, revision, kind)
    try:
        return Path(
            snapshot_download(
                name,
                repo_type=kind,
                revision=revision,
                allow_patterns=patterns,
                local_files_only=why is not None,
                endpoint=os.environ.get("HF_ENDPOINT"),
            )
        )
    except LocalEntryNotFoundError:
        why = why or "the hub did not give it (no such name or revision, or not for everyone)"
    except (HfHubHTTPError, OSError) as error:
        why = first_line(error)
    raise AssetMissing(
        f"{kind} {name!r} is not in the hub's cache, and {why}. Run this once where the "
        "hub can be reached, bring the cache here and say where it is with HF_HOME; or give the path of a folder."
    )


def _unreachable(name: str, revision: str | None, kind: str) -> str | None:
    """Return why the repository cannot be had, asking once: huggingface_hub would try again for half a minute."""
    from huggingface_hub import hf_hub_url

    if switched_on("HF_HUB_OFFLINE"):
        return "HF_HUB_OFFLINE forbids fetching it"
    file = "config.json" if kind == "model" else "README.md"
    url = hf_hub_url(name, file, repo_type=kind, revision=revision, endpoint=os.environ.get("HF_ENDPOINT"))
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=PROBE_SECONDS):
            return None
    except urllib.error.HTTPError as error:
        return (
            f"the hub answered {error.code} {error.reason}" if error.code >= http.client.INTERNAL_SERVER_ERROR else None
        )
    except (OSError, http.client.HTTPException) as error:
        return f"the hub cannot be reached ({getattr(error, 'reason', error)})"


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its name where it says nothing."""
    return str(error).strip().split("\n", 1)[0] or type(error).__name__
