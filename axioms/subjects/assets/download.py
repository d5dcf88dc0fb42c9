"""One file over HTTP by pooch: continued where an earlier attempt stopped, accepted only if its SHA-256 is right."""

from __future__ import annotations

import hashlib
import http.client
from collections.abc import Callable
from pathlib import Path

from axioms.core.bar import FETCHING

Report = Callable[[str, int, int], None]
"""Progress: what, how much is done, how much there is."""

TIMEOUT = 20.0
ATTEMPTS = 4
CHUNK = 1 << 16
"""Bytes that are written at a time, and lost at most where a connection breaks."""
MEGABYTE = 1_000_000


class FetchFailed(Exception):
    """A source could not give what was asked of it; the text says why, in half a sentence."""


class WrongContent(FetchFailed):
    """A source gave something else than what the manifest describes."""


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def download(url: str, folder: Path, sha256: str, what: str, report: Report) -> Path:
    """Return the downloaded file with this SHA-256 in the folder. A part that stays behind is continued next time."""
    import pooch
    from requests import RequestException
    from requests.exceptions import ChunkedEncodingError

    part = folder / f"{sha256}.part"
    failure = FetchFailed("gave nothing")
    for _ in range(ATTEMPTS):
        start = part.stat().st_size if part.exists() else 0
        headers = {"Range": f"bytes={start}-"} if start else {}
        get = pooch.HTTPDownloader(_Progress(what, start, report), CHUNK, timeout=TIMEOUT, headers=headers)
        try:
            with part.open("ab") as stream:
                get(url, stream, None)
        except RequestException as error:
            has_grown = part.stat().st_size > start
            if not has_grown and not start:
                part.unlink()
            answer = getattr(error.response, "status_code", None)
            if has_grown or isinstance(error, ChunkedEncodingError):
                failure = FetchFailed(f"broke off the connection ({_cause(error)})")
                continue
            if answer is None:
                raise FetchFailed(f"cannot be reached ({_cause(error)})") from None
            if answer != http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise FetchFailed(f"answered {answer} {http.client.responses.get(answer, '')}") from None
            # Nothing is left to ask for: the part is complete, or longer than it should be.
        if sha256_of(part) == sha256:
            return part
        part.unlink()
        failure = WrongContent("sent a file with another SHA-256 than the manifest's")
        if not start:
            break
    raise failure


class _Progress:
    """What pooch asks of a progress bar, shown by a report in megabytes."""

    def __init__(self, what: str, start: int, report: Report) -> None:
        self.what, self.start, self.report = what, start, report
        self.done = self.total = 0
        self.shown = (-1, 0)

    def update(self, count: int) -> None:
        """Show that so many more bytes came."""
        self.done = min(self.done + count, self.total)
        megabytes = (self.start + self.done) // MEGABYTE, max((self.start + self.total) // MEGABYTE, 1)
        if megabytes != self.shown:
            self.shown = megabytes
            self.report(f"{FETCHING} {self.what} (MB)", *megabytes)

    def reset(self) -> None:
        """Count from the start, as pooch does before it says that all is there."""
        self.done = 0

    def close(self) -> None:
        """Do nothing: a report ends with its last number."""


def _cause(error: BaseException) -> str:
    """Return what the innermost error says: those of requests are a paragraph each."""
    while error.__context__ is not None:
        error = error.__context__
    return str(error) or type(error).__name__
