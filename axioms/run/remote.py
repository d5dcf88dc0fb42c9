"""A worker as a cluster runs it: in a process of its own, perhaps elsewhere. Errors are answers here."""

from __future__ import annotations

import copy
import pickle
import platform
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from axioms.core.errors import AxiomsError, SubjectWarning
from axioms.core.values import Values
from axioms.run.address import Address, Opened
from axioms.run.requests import Request
from axioms.run.setup import Setup, package_digest
from axioms.run.worker import Worker


@dataclass(frozen=True)
class Greeting:
    """What a worker says of itself when it is there."""

    host: str
    device: str
    threads: int
    package: str
    """A digest of the source of this package there."""


class RemoteWorker:
    """Holds one worker; whatever it raises is returned, so that only a lost process is an error of the cluster."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._worker = Worker(lambda what, done, total: None)

    def greet(self) -> Greeting | Exception:
        """Load the user's code, and say that this worker is ready, or why it is not."""
        import torch

        try:
            self._setup.apply()
        except Exception as error:
            return portable(error)
        device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "cpu"
        return Greeting(platform.node(), device, torch.get_num_threads(), package_digest())

    def open(self, addresses: Sequence[Address]) -> list[Opened | Exception]:
        """Load subjects that share their plain model and data."""
        return [self._open(self._setup.located_address(address)) for address in addresses]

    def compute(self, address: Address, shard: int, request: Request) -> Mapping[str, Values] | Exception:
        """Answer a request on one shard."""
        try:
            return self._worker.compute(self._setup.located_address(address), shard, request)
        except Exception as error:
            return portable(error)

    def forget(self, addresses: Sequence[Address], shard: int) -> None:
        """Let go of a shard."""
        for address in addresses:
            self._worker.forget(self._setup.located_address(address), shard)

    def _open(self, address: Address) -> Opened | Exception:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SubjectWarning)
            try:
                opened = self._worker.open(address)
            except Exception as error:
                return portable(error)
        said = (str(warning.message) for warning in caught if issubclass(warning.category, SubjectWarning))
        return replace(opened, warnings=tuple(said))


def portable(error: Exception) -> Exception:
    """Return an error that can be sent; where it is not one of ours, with the traceback as a note."""
    sent = error
    try:
        sent = copy.copy(error)
        pickle.loads(pickle.dumps(sent))
    except Exception:
        sent = RuntimeError(f"{type(error).__name__}: {error}")
    if not isinstance(error, AxiomsError):
        sent.add_note("".join(traceback.format_exception(error)))
    return sent
