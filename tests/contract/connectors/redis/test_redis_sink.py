"""Commands into a real Redis server, which may be killed."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest

from riverrun.api.delivery_guarantee import DeliveryGuarantee
from riverrun.api.functions import MapFunction
from riverrun.api.runtime_context import RuntimeContext
from riverrun.api.sink import Committable, SinkWriter, SinkWriterContext
from riverrun.connectors.datagen import DataGeneratorSource
from riverrun.connectors.redis.commands import RedisCommand, RedisMapper
from riverrun.connectors.redis.sink import RedisSink
from riverrun.core.errors import ExternalError
from riverrun.core.time import Duration
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.servers.redis import RedisServer
from tests.unit.connectors.conftest import Client

EXACTLY_ONCE = DeliveryGuarantee.EXACTLY_ONCE


def context(subtask: int = 0) -> SinkWriterContext:
    return SinkWriterContext(subtask, 2, "Sink", Client(), checkpointing=True, operator_id="op")


def open_writer(sink: RedisSink, opened: list[Any]) -> SinkWriter[Any]:
    writer = sink.create_writer(context())
    opened.append(writer)
    writer.open()
    return writer


def commands(value: Any) -> list[RedisCommand]:
    return [
        RedisCommand.set(f"key:{value}", value),
        RedisCommand.set("fleeting", value, Duration.of_minutes(1)),
        RedisCommand.hset("hash", {"last": value, str(value): 1.5}),
        RedisCommand.lpush("head first", value),
        RedisCommand.rpush("tail first", value, b"\xc3\xbc"),
        RedisCommand.sadd("set", value),
        RedisCommand.zadd("ranks", f"m{value}", value),
        RedisCommand.xadd("stream", {"v": value}, maxlen=1000),
        RedisCommand.publish("channel", value),
        RedisCommand.of("INCRBY", "sum", value),
        RedisCommand.set("gone", value),
        RedisCommand.delete("gone"),
    ]


def test_every_kind_of_command_is_done(server: RedisServer, redis: Any, opened: list[Any]) -> None:
    listener = redis.pubsub()
    opened.append(listener)
    listener.subscribe("channel")
    assert listener.get_message(timeout=10)["type"] == "subscribe"
    writer = open_writer(RedisSink(server.url, commands), opened)

    writer.write_run([1, 2], None)
    writer.write(3, 5)

    assert [redis.get(f"key:{n}") for n in (1, 2, 3)] == ["1", "2", "3"]
    assert redis.ttl("fleeting") > 0
    assert redis.hgetall("hash") == {"last": "3", "1": "1.5", "2": "1.5", "3": "1.5"}
    assert redis.lrange("head first", 0, -1) == ["3", "2", "1"]
    assert redis.lrange("tail first", 0, -1) == ["1", "ü", "2", "ü", "3", "ü"]
    assert redis.smembers("set") == {"1", "2", "3"}
    assert redis.zrange("ranks", 0, -1) == ["m1", "m2", "m3"]
    assert [fields for _, fields in redis.xrange("stream")] == [{"v": "1"}, {"v": "2"}, {"v": "3"}]
    assert [listener.get_message(timeout=10)["data"] for _ in range(3)] == ["1", "2", "3"]
    assert (redis.get("sum"), redis.get("gone")) == ("6", None)


def push(value: Any) -> RedisCommand | None:
    return None if value is None else RedisCommand.rpush("list", value)


def test_a_record_may_have_no_command(server: RedisServer, redis: Any, opened: list[Any]) -> None:
    writer = open_writer(RedisSink(server.url, push), opened)

    writer.write_run([None], None)
    writer.write_run([None, 1], None)

    assert redis.lrange("list", 0, -1) == ["1"]


def test_what_a_committer_did_it_does_not_do_again(
    server: RedisServer, redis: Any, opened: list[Any]
) -> None:
    sink: RedisSink = pickle.loads(pickle.dumps(RedisSink(server.url, push, EXACTLY_ONCE)))
    writer = open_writer(sink, opened)
    epochs: list[list[Committable]] = []
    for checkpoint in (1, 2):
        writer.write_run([10 * checkpoint + n for n in range(3)], None)
        epochs.append(
            [
                Committable(checkpoint, 0, number, pickle.loads(pickle.dumps(value)))
                for number, value in enumerate(writer.prepare_commit())
            ]
        )
    assert redis.keys() == []

    for subtask in range(2):
        committer = sink.create_committer(context(subtask))
        assert committer is not None
        opened.append(committer)
        committer.commit(epochs[0])
        committer.commit([*epochs[1], *epochs[0]])

    assert redis.lrange("list", 0, -1) == ["10", "11", "12", "20", "21", "22"]


def test_epochs_of_subtasks_and_sinks_have_marks_of_their_own(
    server: RedisServer, redis: Any, opened: list[Any]
) -> None:
    sink = RedisSink(server.url, push, EXACTLY_ONCE)
    committer = sink.create_committer(context())
    assert committer is not None
    opened.append(committer)
    for subtask in range(2):
        writer = sink.create_writer(context(subtask))
        writer.write(subtask, None)
        committer.commit([Committable(5, subtask, 0, each) for each in writer.prepare_commit()])

    assert sorted(redis.lrange("list", 0, -1)) == ["0", "1"]
    marks = redis.keys("riverrun:*")
    assert {redis.get(mark) for mark in marks} == {"1"}
    assert len(marks) == 2
    assert all(redis.ttl(mark) > 0 for mark in marks)


def test_a_job_that_comes_to_the_same_checkpoint_again_is_not_taken_for_its_predecessor(
    server: RedisServer, redis: Any, opened: list[Any]
) -> None:
    sink = RedisSink(server.url, push, EXACTLY_ONCE)
    committer = sink.create_committer(context())
    assert committer is not None
    opened.append(committer)

    for value in ("before", "after going back"):
        writer = sink.create_writer(context())
        writer.write(value, None)
        committer.commit([Committable(7, 0, 0, each) for each in writer.prepare_commit()])

    assert redis.lrange("list", 0, -1) == ["before", "after going back"]


def test_many_commands_are_several_transactions(
    server: RedisServer, redis: Any, opened: list[Any]
) -> None:
    sink = RedisSink(server.url, push, EXACTLY_ONCE)
    writer = open_writer(sink, opened)
    writer.write_run(list(range(10_000)), None)
    pieces = writer.prepare_commit()
    committer = sink.create_committer(context())
    assert committer is not None
    opened.append(committer)

    committer.commit([Committable(1, 0, n, each) for n, each in enumerate(pieces)])

    assert len(pieces) == 3
    assert redis.lrange("list", 0, -1) == [str(n) for n in range(10_000)]


def test_a_command_that_redis_refuses_fails_the_sink(
    server: RedisServer, redis: Any, opened: list[Any]
) -> None:
    redis.set("list", "not a list")
    writer = open_writer(RedisSink(server.url, push), opened)

    with pytest.raises(ExternalError, match=r"refused a command: .*WRONGTYPE.*check what the keys"):
        writer.write(1, None)


def test_a_server_that_is_not_there_or_lets_nobody_in_is_told(
    server: RedisServer, opened: list[Any]
) -> None:
    wrong = server.url.replace("run-river-run", "open-sesame")
    for guarantee in (DeliveryGuarantee.AT_LEAST_ONCE, EXACTLY_ONCE):
        sink = RedisSink(wrong, push, guarantee)
        with pytest.raises(ExternalError, match=r"lets nobody in: .*check user and pass") as caught:
            sink.create_committer(context()) or open_writer(sink, opened)
        assert "open-sesame" not in str(caught.value)
    server.kill()
    with pytest.raises(ExternalError, match=r"127.0.0.1:\d+/0 was not there 2 times in a row"):
        open_writer(RedisSink(server.url, push, max_retries=1), opened)


class FailsTwice(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._attempt = runtime_context.get_attempt_number()

    def map(self, value: int) -> int:
        if (self._attempt, value) in ((0, 900), (1, 1900)):
            raise ValueError("again")
        return value


def run_job(
    server: RedisServer, mapper: RedisMapper, guarantee: DeliveryGuarantee, count: int
) -> None:
    config = {
        "riverrun.master": "in-process",
        "execution.checkpointing.interval": "50 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 ms",
        "restart-strategy.fixed-delay.attempts": "10",
    }
    with StreamExecutionEnvironment.get_execution_environment(config) as env:
        numbers = DataGeneratorSource(int, count, rate_per_second=3000)
        stream = env.set_parallelism(2).from_source(numbers, None, "numbers").map(FailsTwice())
        stream.sink_to(RedisSink(server.url, mapper, guarantee, max_retries=20))
        env.execute()


def test_each_record_is_there_once_although_job_and_server_fail(
    server: RedisServer, redis: Any
) -> None:
    done = threading.Event()
    kills: list[int] = []

    def kill_and_restart() -> None:
        """Whenever a few more commits are done."""
        seen = 0
        while not done.wait(0.01):
            try:
                length = int(redis.llen("list"))
            except Exception:  # noqa: BLE001  (it is being restarted)
                continue
            if length > seen + 500 and len(kills) < 4:
                seen = length
                server.kill()
                server.start()
                kills.append(length)

    chaos = threading.Thread(target=kill_and_restart)
    chaos.start()
    try:
        run_job(server, push, EXACTLY_ONCE, 3000)
    finally:
        done.set()
        chaos.join()

    assert sorted(map(int, redis.lrange("list", 0, -1))) == list(range(3000))
    assert kills


def put(value: Any) -> RedisCommand:
    return RedisCommand.set(f"n:{value}", value)


def test_upserts_end_as_they_should_with_at_least_once(server: RedisServer, redis: Any) -> None:
    run_job(server, put, DeliveryGuarantee.AT_LEAST_ONCE, 1000)

    assert {int(value) for value in redis.mget(redis.keys("n:*"))} == set(range(1000))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RedisSink("http://:pw@x", push), "the address is 'http://x'; expected"),
        (lambda: RedisSink("redis://x", 3), "the mapper is 3"),  # type: ignore[arg-type]
        (lambda: RedisSink("redis://x", push, "once"), "the guarantee is 'once'"),  # type: ignore[arg-type]
        (lambda: RedisCommand.set("a", None), "expected a name and values"),  # type: ignore[arg-type]
        (RedisCommand.of, "expected a name and values"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_described(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_a_mapper_that_makes_something_else_is_told(server: RedisServer, opened: list[Any]) -> None:
    writer = open_writer(RedisSink(server.url, lambda value: "SET a b"), opened)  # type: ignore[arg-type, return-value]

    with pytest.raises(TypeError, match="the mapper made 'SET a b' of 1; expected a RedisCommand"):
        writer.write(1, None)
