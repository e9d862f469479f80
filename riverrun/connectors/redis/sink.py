"""A sink that does a command in Redis for each record."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from riverrun.api.delivery_guarantee import DeliveryGuarantee
from riverrun.api.sink import Committable, Committer, Sink, SinkWriter, SinkWriterContext
from riverrun.connectors.redis.commands import RedisMapper, RedisValue, commands_of
from riverrun.connectors.redis.connection import RedisClient, RedisServer
from riverrun.core.errors import ProgramError
from riverrun.core.time import Duration, DurationLike, to_millis

__all__ = ["RedisSink"]

COMMIT_PIECE: Final = 4096
"""Commands of one transaction, so that none holds the server up for long."""


class RedisSink(Sink[Any]):
    """Does what ``mapper`` makes of each record, a run in one round trip.

    With AT_LEAST_ONCE commands are done at once, and again after a failure: fine for those whose second
    time changes nothing, such as SET and HSET by key.

    With EXACTLY_ONCE commands wait for their checkpoint and are then done in a transaction together with
    a mark of how far it is (a key ``riverrun:...`` of each writer of each attempt); what the mark covers
    is not done again. It takes one server, or keys in one slot of a cluster, and a server that keeps what it
    acknowledged (``appendonly yes``, ``appendfsync always``) if it may crash. A transaction in Redis goes
    on past a command that fails (a key of another kind): such a command fails the job, and is not done.

    Args:
        url: where the server is, such as ``redis://host:6379/0``.
        mapper: the commands of a record.
        delivery_guarantee: AT_LEAST_ONCE or EXACTLY_ONCE.
        settings: more arguments of the client of the package ``redis``.
        max_retries: how often in a row to try again when the server is not there; negative: for ever.
        mark_ttl: how long marks stay after the last commit; a job must not go on from an older checkpoint.
    """

    def __init__(
        self,
        url: str,
        mapper: RedisMapper,
        delivery_guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE,
        *,
        settings: Mapping[str, Any] | None = None,
        max_retries: int = 5,
        mark_ttl: DurationLike = Duration.of_days(30),  # noqa: B008  (immutable)
    ) -> None:
        if not callable(mapper):
            raise TypeError(
                f"redis sink: the mapper is {mapper!r}; expected a callable from a record to a "
                f"RedisCommand"
            )
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise TypeError(
                f"redis sink: the guarantee is {delivery_guarantee!r}; expected a DeliveryGuarantee"
            )
        self.server = RedisServer(url, "redis sink", dict(settings or {}), max_retries)
        self.mapper = mapper
        self.delivery_guarantee = delivery_guarantee
        self.mark_ttl_ms = to_millis(mark_ttl)

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        if self.delivery_guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return _DoingWriter(self)
        # A writer's own name: numbers of checkpoints come again with other records, after a job was
        # started anew or has gone back to an older one, and would be taken for done.
        job = context.runtime_context().get_job_id()
        writer = f"{job}:{context.operator_id}:{context.subtask_index}:{uuid.uuid4().hex}"
        return _HoldingWriter(self, writer)

    def create_committer(self, context: SinkWriterContext) -> Committer | None:
        del context
        if self.delivery_guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return None
        return _MarkingCommitter(self)


@dataclass(frozen=True, slots=True)
class RedisEpoch:
    """Commands that wait for their checkpoint."""

    writer: str
    """Who wrote it, whoever commits it: another one in each attempt."""
    number: int
    """Which of the writer's it is, from 1."""
    commands: tuple[tuple[RedisValue, ...], ...]


class _DoingWriter(SinkWriter[Any]):
    def __init__(self, sink: RedisSink) -> None:
        self._sink = sink
        self._client: RedisClient | None = None

    def open(self) -> None:
        self._client = self._sink.server.connect()

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self.write_run([value], None)

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        assert self._client is not None  # noqa: S101  (opened before it writes)
        commands = commands_of(self._sink.mapper, values)
        if not commands:
            return

        def do(redis: Any) -> None:
            with redis.pipeline(transaction=False) as pipeline:
                for command in commands:
                    pipeline.execute_command(*command)
                pipeline.execute()

        self._client.run(do)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


class _HoldingWriter(SinkWriter[Any]):
    def __init__(self, sink: RedisSink, name: str) -> None:
        self._mapper = sink.mapper
        self._name = name
        self._numbers = itertools.count(1)
        self._held: list[tuple[RedisValue, ...]] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self.write_run([value], None)

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        self._held += commands_of(self._mapper, values)

    def prepare_commit(self) -> list[Any]:
        held, self._held = self._held, []
        return [
            RedisEpoch(self._name, next(self._numbers), tuple(held[start : start + COMMIT_PIECE]))
            for start in range(0, len(held), COMMIT_PIECE)
        ]


class _MarkingCommitter(Committer):
    def __init__(self, sink: RedisSink) -> None:
        self._ttl_ms = sink.mark_ttl_ms
        # A server that is not there is found out before any record is written.
        self._client: RedisClient = sink.server.connect()

    def commit(self, committables: Sequence[Committable]) -> None:
        for each in sorted(committables, key=lambda one: (one.checkpoint, one.number)):
            if not isinstance(each.value, RedisEpoch):
                raise ProgramError(
                    f"redis sink: the checkpoint has a {type(each.value).__name__} to commit; "
                    f"expected what a RedisSink prepared; give the new sink another uid"
                )
            self._client.run(partial(self._commit, each.value))

    def close(self) -> None:
        self._client.close()

    def _commit(self, epoch: RedisEpoch, redis: Any) -> None:
        """Do the commands unless the mark says that they were done."""
        mark = f"riverrun:{epoch.writer}"
        with redis.pipeline(transaction=True) as pipeline:
            # Only this committer writes the mark, unless it is one of an attempt that nobody
            # believes in any more: then the transaction fails, and the mark is looked at again.
            pipeline.watch(mark)
            found = pipeline.get(mark)
            if found is not None and int(found) >= epoch.number:
                pipeline.unwatch()
                return
            pipeline.multi()
            for command in epoch.commands:
                pipeline.execute_command(*command)
            pipeline.set(mark, epoch.number, px=self._ttl_ms)
            pipeline.execute()
