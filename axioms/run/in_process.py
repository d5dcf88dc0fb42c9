"""Computing in this process: the shards of a subject one after the other."""

from __future__ import annotations

from axioms.core.errors import ModelChanged
from axioms.run.address import Address, Opened
from axioms.run.answers import Answer, Answers
from axioms.run.plan import Plan
from axioms.run.requests import Request
from axioms.run.worker import Worker


class InProcess:
    """Answers requests by one worker in this process.

    A subject of one shard is asked one request at a time. Of a larger one a single shard is held at a time, and
    everything that the run will ask of it is answered before the next takes its place.
    """

    def __init__(self, worker: Worker, answers: Answers, plan: Plan) -> None:
        self.worker = worker
        self._answers, self._plan = answers, plan
        self._opened: dict[str, Opened] = {}

    def open(self, address: Address) -> Opened:
        """Return what a subject is made of. Raises where it cannot be had."""
        if address.name not in self._opened:
            self._opened[address.name] = self.worker.open(address)
        return self._opened[address.name]

    def answers(self, address: Address, request: Request) -> list[Answer]:
        """Return the answer of each shard that the request is computed on. Raises what computing it raised."""
        opened = self.open(address)
        shards = request.shards(opened.shards)
        if len(shards) > 1 and self._answers.of_all_shards(address, opened, request) is None:
            self._pass_over(address, request)
        error = self._answers.failure(address, request)
        if error is not None:
            raise error
        return [self._answer(address, shard, request) for shard in shards]

    def _answer(self, address: Address, shard: int, request: Request) -> Answer:
        opened = self.open(address)
        answer = self._answers.get(address, opened, shard, request)
        if answer is None:
            try:
                answer = self.worker.compute(address, shard, request)
            except ModelChanged:
                self._answers.distrust(address)
                raise
            self._answers.put(address, opened, shard, request, answer)
        return answer

    def _pass_over(self, address: Address, request: Request) -> None:
        """Answer a request, and all others that are planned for this model and data, on one shard after the other."""
        group = self._plan.group(address)
        for shard in range(self.open(address).shards):
            for subject in group:
                planned = self._plan.requests(subject, self.open(subject))
                for other in (request, *planned) if subject is address else planned:
                    if shard in other.shards(self.open(subject).shards):
                        self._try(subject, shard, other)
            for subject in group:
                self.worker.forget(subject, shard)

    def _try(self, address: Address, shard: int, request: Request) -> None:
        """Answer a request, or note what it raised: that is for the check that asks."""
        if self._answers.failure(address, request) is None:
            try:
                self._answer(address, shard, request)
            except Exception as error:
                self._answers.fail(address, request, error)
