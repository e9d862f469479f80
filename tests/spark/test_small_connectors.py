"""Small connectors on Spark, with workers killed: a hybrid source into a view, Redis streams into Redis."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.delivery_guarantee import DeliveryGuarantee
from riverrun.connectors.hybrid.source import HybridSource
from riverrun.connectors.redis.commands import RedisCommand
from riverrun.connectors.redis.sink import RedisSink
from riverrun.connectors.redis.stream_source import RedisStreamEntry, RedisStreamSource
from riverrun.connectors.view import ViewChanges
from riverrun.testing.waiting import wait_until
from tests.servers.redis import RedisServer, redis_server
from tests.spark.allround.chaos import Chaos, await_checkpoint, statistics
from tests.spark.allround.run import RECOVERING
from tests.spark.allround.sequences import SequenceSource
from tests.spark.conftest import MakeEnv

pytestmark = pytest.mark.spark

KEYS = range(4)


def test_a_view_follows_a_hybrid_source_although_workers_are_killed(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    env = make_env(2, dict(RECOVERING))
    history = SequenceSource(len(KEYS), 50, 1e6)
    live = SequenceSource(len(KEYS), 1000, 400.0, str(tmp_path / "gate"))
    source = HybridSource.builder(history).add_source(live).build()
    pairs = env.from_source(source, None, "history and live")
    steps: list[ViewChanges] = []
    view = pairs.to_view(lambda pair: pair[0], lambda pair: pair[1], name="latest")
    view.subscribe(steps.append)
    client = env.execute_async("view")
    chaos = Chaos(client)

    assert view.wait_for(lambda view: len(view) == len(KEYS), timeout_s=60)
    chaos.kill_and_recover("history", 1)
    await_checkpoint(client)
    chaos.kill_and_recover("history", 0)
    (tmp_path / "gate").touch()
    client.get_job_execution_result().result(90)

    assert view.snapshot() == dict.fromkeys(KEYS, 999)
    for key in KEYS:
        seen = [step.updated[key] for step in steps if key in step.updated]
        back = [pair for pair in pairwise(seen) if pair[0] >= pair[1]]
        # Each value is told once; only the live source begins again at 0.
        assert len(back) <= 1
        assert not back or back[0][0] == 49
    assert statistics(client).counts.restored == 2


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


def number(entry: RedisStreamEntry) -> int:
    return int(entry.fields[b"n"])


def push(value: int) -> RedisCommand:
    return RedisCommand.rpush("out", value)


def test_redis_streams_go_into_redis_once_although_workers_are_killed(
    server: RedisServer, make_env: MakeEnv
) -> None:
    redis: Any = server.client()
    total = 0

    def fill(count: int) -> None:
        nonlocal total
        for n in range(total, total + count):
            redis.xadd(f"in{n % 3}", {"n": n})
        total += count

    fill(300)
    env = make_env(2, dict(RECOVERING))
    source = RedisStreamSource(server.url, ["in0", "in1", "in2"], number)
    numbers = env.from_source(source, None, "streams").rebalance().map(lambda n: n).name("same")
    numbers.sink_to(RedisSink(server.url, push, DeliveryGuarantee.EXACTLY_ONCE)).name("into redis")
    client = env.execute_async("redis")
    chaos = Chaos(client)
    for task in ("streams", "into redis"):
        wait_until(lambda: redis.llen("out") > total - 300, what="records in Redis", timeout_s=60)
        fill(300)
        chaos.kill_and_recover(task)
    fill(100)
    wait_until(lambda: redis.llen("out") >= total, what="all records in Redis", timeout_s=60)
    await_checkpoint(client, 2)
    client.cancel().result(30)

    assert sorted(map(int, redis.lrange("out", 0, -1))) == list(range(total))
    redis.close()
