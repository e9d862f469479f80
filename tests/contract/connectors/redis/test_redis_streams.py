"""Streams of a real Redis server as a source, and look-ups in it."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from riverrun.api.bad_records import BadRecords
from riverrun.api.source import Boundedness, SourceReader, SourceReaderContext, SourceStatus
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.redis.lookup import RedisLookupFunction
from riverrun.connectors.redis.stream_source import (
    RedisStreamEntry,
    RedisStreamSource,
    RedisStreamSplit,
)
from riverrun.core.clock import SystemClock
from riverrun.core.errors import ExternalError
from riverrun.core.time import Duration, Time
from riverrun.datastream.async_data_stream import AsyncDataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from tests.servers.redis import RedisServer


def number(entry: RedisStreamEntry) -> int | None:
    text = entry.fields[b"n"].decode()
    return None if text == "none" else int(text)


def fill(redis: Any, stream: str, numbers: Any) -> None:
    with redis.pipeline(transaction=False) as pipeline:
        for each in numbers:
            pipeline.xadd(stream, {"n": each})
        pipeline.execute()


def open_reader(
    source: RedisStreamSource, opened: list[Any], splits: list[Any] | None = None
) -> SourceReader[Any]:
    source = pickle.loads(pickle.dumps(source))
    given = source.create_splits(1) if splits is None else splits
    reader = source.create_reader(given, SourceReaderContext(0, 1, SystemClock()))
    opened.append(reader)
    reader.open()
    return reader


def read(reader: SourceReader[Any], count: int | None = None, limit: int = 7) -> list[Any]:
    found: list[Any] = []
    while count is None or len(found) < count:
        polled = reader.poll(limit if count is None else min(limit, count - len(found)))
        assert polled.timestamps is None or len(polled.timestamps) == len(polled.values)
        found += [*polled.values, *polled.dead_letters]
        if polled.status is SourceStatus.END_OF_INPUT:
            break
    return found


def test_all_entries_come_in_the_order_of_their_stream(
    server: RedisServer, redis: Any, opened: list[Any]
) -> None:
    fill(redis, "a", range(2500))
    fill(redis, "b", range(3000, 3005))
    source = RedisStreamSource(server.url, ["a", "b", "empty"], number, bounded=True)
    found = read(open_reader(source, opened))

    assert [each for each in found if each < 3000] == list(range(2500))
    assert [each for each in found if each >= 3000] == list(range(3000, 3005))
    assert source.get_boundedness() is Boundedness.BOUNDED


@pytest.mark.parametrize("cut", [0, 1, 9, 20])
def test_a_restart_goes_on_after_the_last_entry(
    server: RedisServer, redis: Any, opened: list[Any], cut: int
) -> None:
    fill(redis, "a", range(10))
    fill(redis, "b", range(10, 20))
    source = RedisStreamSource(server.url, ["a", "b"], number, bounded=True)
    first = open_reader(source, opened)
    found = read(first, cut)
    splits = pickle.loads(pickle.dumps(first.snapshot_splits()))
    # What comes after the end was fixed is not part of it.
    fill(redis, "a", [99])

    for subtask in range(2):
        found += read(open_reader(source, opened, splits[subtask::2]))

    assert sorted(found) == list(range(20))


def test_entries_that_come_later_are_read_and_the_last_may_be_trimmed(
    server: RedisServer, redis: Any, opened: list[Any]
) -> None:
    reader = open_reader(RedisStreamSource(server.url, "a", number), opened)
    assert reader.poll(5).status is SourceStatus.NOTHING_AVAILABLE
    fill(redis, "a", [1, 2])
    assert read(reader, 2) == [1, 2]
    assert reader.split_ids() == ["a"]
    (split,) = reader.snapshot_splits()
    ids = [each for each, _ in redis.xrange("a")]
    assert split == RedisStreamSplit("a", ids[-1])

    redis.xtrim("a", maxlen=0)
    gone = RedisStreamSplit("a", "0-0", until=ids[-1])
    bounded = RedisStreamSource(server.url, "a", number, bounded=True)
    assert read(open_reader(bounded, opened, [gone])) == []


def test_the_latest_position_leaves_out_what_is_there(
    server: RedisServer, redis: Any, opened: list[Any]
) -> None:
    fill(redis, "a", [1, 2])
    source = RedisStreamSource(server.url, "a", number, starting_id="$")
    reader = open_reader(source, opened)
    fill(redis, "a", [3])

    assert read(reader, 1) == [3]
    first = redis.xrange("a")[0][0]
    later = RedisStreamSource(server.url, "a", number, starting_id=first)
    assert read(open_reader(later, opened), 2) == [2, 3]


def test_times_are_those_of_the_ids(server: RedisServer, redis: Any, opened: list[Any]) -> None:
    redis.xadd("a", {"x": "ü"}, id="1000-5")
    redis.xadd("a", {"n": "none"}, id="2000-0")
    reader = open_reader(RedisStreamSource(server.url, "a", bounded=True), opened)

    while not (polled := reader.poll(5)).values:
        pass
    assert (polled.values, polled.timestamps) == ([{"x": "ü"}, {"n": "none"}], [1000, 2000])
    assert (polled.split, polled.finished_splits) == ("a", ("a",))


def test_entries_that_are_no_records_are_as_the_policy_says(
    server: RedisServer, redis: Any, opened: list[Any]
) -> None:
    fill(redis, "a", ["1", "x", "none", "2"])
    bad = redis.xrange("a")[1][0]

    def source(policy: BadRecords) -> RedisStreamSource:
        return RedisStreamSource(server.url, "a", number, bounded=True, bad_records=policy)

    with pytest.raises(BadMessage, match=f"redis stream 'a' entry {bad}: cannot be read: ValueE"):
        read(open_reader(source(BadRecords.FAIL), opened))
    assert read(open_reader(source(BadRecords.SKIP), opened)) == [1, 2]
    found = read(open_reader(source(BadRecords.DEAD_LETTER), opened))
    assert [each.payload.fields for each in found if not isinstance(each, int)] == [{b"n": b"x"}]


def test_a_server_that_restarts_is_found_again(
    server: RedisServer, redis: Any, opened: list[Any]
) -> None:
    fill(redis, "a", range(100))
    reader = open_reader(RedisStreamSource(server.url, "a", number, max_retries=50), opened)
    assert read(reader, 100) == list(range(100))
    server.kill()
    server.start()
    fill(redis, "a", range(100, 200))

    assert read(reader, 100) == list(range(100, 200))


def test_what_is_wrong_is_told_before_anything_is_read(
    server: RedisServer, redis: Any, opened: list[Any]
) -> None:
    redis.set("a", 1)
    with pytest.raises(ExternalError, match=r"the key 'a' at .* holds a string; expected a stream"):
        open_reader(RedisStreamSource(server.url, "a"), opened)
    wrong = server.url.replace("run-river-run", "open-sesame")
    with pytest.raises(ExternalError, match="lets nobody in"):
        open_reader(RedisStreamSource(wrong, "b"), opened)
    with pytest.raises(ValueError, match="expected names, one at least"):
        RedisStreamSource(server.url, [])
    with pytest.raises(ValueError, match="expected each of them once"):
        RedisStreamSource(server.url, ["a", "a"])
    with pytest.raises(ValueError, match="the id is 'now'"):
        RedisStreamSource(server.url, "a", starting_id="now")
    with pytest.raises(ValueError, match="the command is 'DEL'"):
        RedisLookupFunction(server.url, str, command="DEL")


def in_process() -> StreamExecutionEnvironment:
    config = {"riverrun.master": "in-process"}
    return StreamExecutionEnvironment.get_execution_environment(config)


def key_of(value: Any) -> str:
    return f"user:{value}"


def test_a_job_reads_streams_at_any_parallelism_and_looks_things_up(
    server: RedisServer, redis: Any
) -> None:
    for stream in ("a", "b", "c"):
        fill(redis, stream, [1, 2, 1])
    redis.set("user:1", "Ann")
    with in_process() as env:
        source = RedisStreamSource(server.url, ["a", "b", "c"], number, bounded=True)
        numbers = env.set_parallelism(2).from_source(source, None, "numbers")
        lookup = RedisLookupFunction(server.url, key_of)
        named = AsyncDataStream.unordered_wait(numbers, lookup, Time.seconds(30), 100)
        found = named.execute_and_collect(limit=100)

    assert sorted(found, key=str) == [(1, b"Ann")] * 6 + [(2, None)] * 3


def name_of(value: Any, found: Any) -> list[Any]:
    return [] if found is None else [(value, found[b"name"].decode())]


def test_hashes_are_looked_up_too_and_answers_are_remembered(
    server: RedisServer, redis: Any
) -> None:
    redis.hset("user:1", mapping={"name": "Bea"})
    redis.config_resetstat()
    with in_process() as env:
        numbers = env.set_parallelism(1).from_collection([1, 2] * 500)
        lookup = RedisLookupFunction(
            server.url, key_of, name_of, command="HGETALL", cache_ttl=Duration.of_hours(1)
        )
        named = AsyncDataStream.ordered_wait(numbers, lookup, Time.seconds(30), 100)
        assert named.execute_and_collect(limit=2000) == [(1, "Bea")] * 500

    assert redis.info("commandstats")["cmdstat_hgetall"]["calls"] == 2
