"""One file over HTTP: resumed where it stopped, accepted only if its SHA-256 is right."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from axioms.core.bar import FETCHING

Report = Callable[[str, int, int], None]
"""Progress: what, how much is done, how much there is."""

TIMEOUT = 20.0
ATTEMPTS = 4
CHUNK = 1 << 20
MEGABYTE = 1_000_000


class FetchFailed(Exception):
    """A source could not give what was asked of it; the text says why, in half a sentence."""


class WrongContent(FetchFailed):
    """A source gave something else than what the manifest describes."""


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def download(url: str, part: Path, sha256: str, what: str, report: Report) -> None:
    """Bring `part` to completion. What it holds already is kept, and after an interruption it can be continued."""
    part.parent.mkdir(parents=True, exist_ok=True)
    failure = FetchFailed("gave nothing")
    for _ in range(ATTEMPTS):
        resumed = part.exists() and part.stat().st_size > 0
        try:
            _continue(url, part, what, report)
        except urllib.error.HTTPError as error:
            if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise FetchFailed(f"answered {error.code} {error.reason}") from None
            # Nothing is left to ask for: the part is complete, or longer than it should be.
        except urllib.error.URLError as error:
            raise FetchFailed(f"cannot be reached ({error.reason})") from None
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, OSError) and error.filename is not None:
                raise  # the disk, not the network
            failure = FetchFailed(f"broke off the connection ({error or type(error).__name__})")
            continue
        if sha256_of(part) == sha256:
            return
        part.unlink()
        failure = WrongContent("sent a file with another SHA-256 than the manifest's")
        if not resumed:
            break
    raise failure


def _continue(url: str, part: Path, what: str, report: Report) -> None:
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        if response.status != http.client.PARTIAL_CONTENT:
            have = 0  # the whole file comes again
        length = response.headers.get("Content-Length")
        total = have + int(length) if length is not None else 0
        with part.open("ab" if have else "wb") as stream:
            while chunk := response.read(CHUNK):
                stream.write(chunk)
                have += len(chunk)
                report(f"{FETCHING} {what} (MB)", have // MEGABYTE, max(total // MEGABYTE, 1))
    if have < total:
        raise ConnectionError(f"{have:,} of {total:,} bytes came")
