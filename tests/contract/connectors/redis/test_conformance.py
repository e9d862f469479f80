"""Redis's source and sink pass what every connector must."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from riverrun.api.delivery_guarantee import DeliveryGuarantee
from riverrun.connectors.redis.commands import RedisCommand
from riverrun.connectors.redis.sink import RedisSink
from riverrun.connectors.redis.stream_source import RedisStreamEntry, RedisStreamSource
from riverrun.testing.conformance.sinks import Crash, SinkTarget, check_sink
from riverrun.testing.conformance.sources import check_source
from tests.servers.redis import RedisServer


def number(entry: RedisStreamEntry) -> int:
    return int(entry.fields[b"n"])


def push(value: int) -> RedisCommand:
    return RedisCommand.rpush("out", value)


def test_streams_are_read_once(server: RedisServer, redis: Any) -> None:
    for n in range(120):
        redis.xadd(f"in{n % 4}", {"n": n})
    streams = [f"in{n}" for n in range(4)]

    check_source(
        lambda: RedisStreamSource(server.url, streams, number, bounded=True),
        range(120),
        seeds=range(4),
    )


def test_commands_are_done_once(server: RedisServer, redis: Any) -> None:
    @contextmanager
    def target(guarantee: DeliveryGuarantee) -> Iterator[SinkTarget]:
        redis.flushall()
        sink = RedisSink(server.url, push, guarantee)
        yield SinkTarget(sink, lambda: map(int, redis.lrange("out", 0, -1)))

    check_sink(lambda: target(DeliveryGuarantee.EXACTLY_ONCE), range(24))
    check_sink(
        lambda: target(DeliveryGuarantee.AT_LEAST_ONCE),
        range(24),
        crashes=(Crash.WRITING, Crash.SAVED),
        parallelisms=((2, 1),),
        at_least_once=True,
        zombies=False,
    )
