"""The Kafka source against a real broker: every beginning, ends, discovery, restores, losses, bad messages."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition

from riverrun.api.bad_records import BadRecords
from riverrun.api.serialization import DeserializationSchema, SimpleStringSchema
from riverrun.api.source import Source
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.kafka.connection import (
    KafkaClientError,
    KafkaCredentialsRefused,
    KafkaUnreachable,
)
from riverrun.connectors.kafka.offsets_initializer import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    OffsetsNotFound,
)
from riverrun.connectors.kafka.offsets_lookup import BrokerLookup
from riverrun.connectors.kafka.partition_discovery import TopicNotFound
from riverrun.connectors.kafka.partition_split import KafkaTopicPartition
from riverrun.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from riverrun.connectors.kafka.source_consumer import OffsetOutOfRange
from riverrun.connectors.kafka.source_records import (
    KafkaRecord,
    KafkaRecordDeserializationSchema,
)
from tests.servers.kafka import PASSWORD, USER, KafkaBroker
from tests.unit.connectors.kafka.source_steps import Checkpoint, SteppedSource

P = KafkaTopicPartition
Strategy = KafkaOffsetResetStrategy
EARLIEST = KafkaOffsetsInitializer.earliest()
LATEST = KafkaOffsetsInitializer.latest()
Start = Callable[..., SteppedSource]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts sources that are closed at the end."""
    started: list[SteppedSource] = []

    def begin(
        source: Source[Any], parallelism: int = 1, restore: Checkpoint | None = None
    ) -> SteppedSource:
        started.append(SteppedSource(source, parallelism, restore))
        return started[-1]

    yield begin
    for each in started:
        each.close()


def building(broker: KafkaBroker, *topics: str) -> KafkaSourceBuilder:
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.bootstrap_servers)
        .set_value_only_deserializer(SimpleStringSchema())
        .set_properties({"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200})
        # A marker at the end of a partition is only known of when a fetch comes back empty.
        .set_property("fetch.wait.max.ms", 50)
    )
    return builder.set_topics(*topics) if topics else builder


def numbers(count: int, first: int = 0) -> list[str]:
    return [str(number) for number in range(first, first + count)]


def filled(broker: KafkaBroker, partitions: int = 3, each: int = 20) -> str:
    """A topic with numbers, whose timestamps are 1000 and up, 10 apart, in each partition."""
    topic = broker.create_topic(partitions=partitions)
    for partition in range(partitions):
        times = range(1000, 1000 + 10 * each, 10)
        values = numbers(each, partition * each)
        broker.produce(topic, values, partition=partition, timestamps=times)
    return topic


def transact(broker: KafkaBroker, topic: str, values: list[str], *, commit: bool) -> None:
    producer = Producer(broker.client(transactional_id=uuid.uuid4().hex))
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    producer.flush()
    if commit:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)


@pytest.mark.parametrize(
    ("make", "skipped"),
    [
        (lambda _: EARLIEST, (0, 0, 0)),
        (lambda _: LATEST, (20, 20, 20)),
        (lambda _: KafkaOffsetsInitializer.timestamp(1095), (10, 10, 10)),
        (lambda _: KafkaOffsetsInitializer.timestamp(99_999), (20, 20, 20)),
        (lambda t: KafkaOffsetsInitializer.offsets({P(t, 1): 7}), (0, 7, 0)),
        (lambda t: KafkaOffsetsInitializer.offsets({P(t, 1): 7}, Strategy.LATEST), (20, 7, 20)),
        (lambda _: KafkaOffsetsInitializer.committed_offsets(Strategy.EARLIEST), (0, 0, 5)),
        (lambda _: KafkaOffsetsInitializer.committed_offsets(Strategy.LATEST), (20, 20, 5)),
    ],
)
def test_every_beginning(
    kafka_broker: KafkaBroker, start: Start, make: Any, skipped: tuple[int, ...]
) -> None:
    topic, group = filled(kafka_broker), f"group-{uuid.uuid4().hex}"
    commit(kafka_broker, group, TopicPartition(topic, 2, 5))
    builder = building(kafka_broker, topic).set_group_id(group).set_starting_offsets(make(topic))
    found = start(builder.set_bounded(LATEST).build(), 2).run_to_end()
    expected = [
        value
        for partition, skip in enumerate(skipped)
        for value in numbers(20 - skip, partition * 20 + skip)
    ]
    assert sorted(found, key=int) == expected


def commit(broker: KafkaBroker, group: str, *offsets: TopicPartition) -> None:
    from confluent_kafka import Consumer  # noqa: PLC0415

    consumer = Consumer(broker.client(group_id=group))
    consumer.commit(offsets=list(offsets), asynchronous=False)
    consumer.close()


@pytest.mark.parametrize(
    ("make", "counts"),
    [
        (lambda _: LATEST, (20, 20, 20)),
        (lambda _: EARLIEST, (0, 0, 0)),
        (lambda _: KafkaOffsetsInitializer.timestamp(1100), (10, 10, 10)),
        (
            lambda t: KafkaOffsetsInitializer.offsets({P(t, 0): 3, P(t, 1): 1, P(t, 2): 19}),
            (3, 1, 19),
        ),
    ],
)
def test_every_end(
    kafka_broker: KafkaBroker, start: Start, make: Any, counts: tuple[int, ...]
) -> None:
    topic = filled(kafka_broker)
    found = start(building(kafka_broker, topic).set_bounded(make(topic)).build()).run_to_end(7)
    expected = [n for at, count in enumerate(counts) for n in numbers(count, at * 20)]
    assert sorted(found, key=int) == expected


def test_runs_are_of_one_partition_with_the_broker_s_timestamps(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    topic = filled(kafka_broker, each=500)
    source = start(building(kafka_broker, topic).set_bounded(LATEST).build())
    source.run_to_end(100)
    seen: dict[str | None, list[str]] = {}
    for polled in source.polls:
        if polled.values:
            seen.setdefault(polled.split, []).extend(polled.values)
            first = 1000 + 10 * (int(polled.values[0]) % 500)
            assert polled.timestamps == list(range(first, first + 10 * len(polled.values), 10))
    assert seen == {f"{topic}-{at}": numbers(500, at * 500) for at in range(3)}


def test_only_the_partitions_that_are_wanted_are_read(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    topic = filled(kafka_broker)
    builder = building(kafka_broker).set_partitions({P(topic, 0), P(topic, 2)})
    found = start(builder.set_bounded(LATEST).build(), 2).run_to_end()
    assert sorted(found, key=int) == numbers(20) + numbers(20, 40)


def test_new_topics_and_partitions_are_read_from_their_first_record(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    prefix = f"wide-{uuid.uuid4().hex[:8]}"
    kafka_broker.create_topic(f"{prefix}-a", 1)
    kafka_broker.produce(f"{prefix}-a", ["old"])
    builder = building(kafka_broker).set_topic_pattern(f"{prefix}-.*")
    builder.set_starting_offsets(LATEST).set_property("partition.discovery.interval.ms", 100)
    source = start(builder.build(), 2)
    source.run_calls()
    kafka_broker.add_partitions(f"{prefix}-a", 3)
    kafka_broker.create_topic(f"{prefix}-b", 2)
    for topic, partition in (("a", 0), ("a", 2), ("b", 1)):
        kafka_broker.produce(
            f"{prefix}-{topic}", [f"{topic}{partition}{n}" for n in range(5)], partition=partition
        )
    source.run_calls()
    source.poll_until(lambda: len(source.values) >= 15)
    assert sorted(source.values) == [f"{at}{n}" for at in ("a0", "a2", "b1") for n in range(5)]
    assert sum(map(len, source.assigned.values())) == 5


@pytest.mark.parametrize("read_committed", [True, False])
def test_an_end_behind_markers_and_aborted_transactions_is_reached(
    kafka_broker: KafkaBroker, start: Start, *, read_committed: bool
) -> None:
    topic = kafka_broker.create_topic(partitions=2)
    transact(kafka_broker, topic, numbers(10), commit=True)
    transact(kafka_broker, topic, numbers(10, 10), commit=False)
    transact(kafka_broker, topic, numbers(10, 20), commit=True)
    transact(kafka_broker, topic, numbers(10, 30), commit=False)
    builder = building(kafka_broker, topic).set_bounded(LATEST)
    if not read_committed:
        builder.set_property("isolation.level", "read_uncommitted")
    found = start(builder.build()).run_to_end()
    assert found == (numbers(10) + numbers(10, 20) if read_committed else numbers(40))


def test_an_open_transaction_is_not_waited_for_by_a_source_with_an_end(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    topic = kafka_broker.create_topic(partitions=1)
    kafka_broker.produce(topic, numbers(5))
    producer = Producer(kafka_broker.client(transactional_id=uuid.uuid4().hex))
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, "open")
    producer.flush()
    found = start(building(kafka_broker, topic).set_bounded(LATEST).build()).run_to_end()
    assert found == numbers(5)
    producer.abort_transaction(30)


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2), (2, 5)])
def test_a_restored_source_goes_on_exactly_at_any_parallelism(
    kafka_broker: KafkaBroker, start: Start, before: int, after: int
) -> None:
    topic = filled(kafka_broker, partitions=4, each=200)
    source = building(kafka_broker, topic).set_bounded(LATEST).build()
    first = start(source, before)
    first.run_calls()
    first.poll_until(lambda: len(first.values) >= 150, 40)
    checkpoint = first.checkpoint()
    given = list(first.values)
    first.poll(100)  # is read again
    rest = start(source, after, checkpoint)
    rest.run_to_end()
    assert sorted(given + rest.values, key=int) == numbers(800)


def test_completed_checkpoints_are_seen_in_the_group_and_can_be_begun_from(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    topic, group = filled(kafka_broker), f"group-{uuid.uuid4().hex}"
    builder = building(kafka_broker, topic).set_group_id(group)
    first = start(builder.build(), 2)
    first.run_calls()
    first.poll_until(lambda: len(first.values) >= 25, 10)
    given = list(first.values)
    first.checkpoint()
    first.complete()
    lookup = BrokerLookup(builder.build().reading.connection)
    partitions = [P(topic, partition) for partition in range(3)]

    def is_committed() -> bool:
        return sum(lookup.committed(partitions).values()) == len(given)

    first.poll_until(is_committed)
    builder.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()).set_bounded(LATEST)
    rest = start(builder.build()).run_to_end()
    assert sorted(given + rest, key=int) == numbers(60)


class Json(DeserializationSchema):
    def deserialize(self, message: bytes) -> Any:
        return json.loads(message)["n"]


@pytest.mark.parametrize("policy", list(BadRecords))
def test_messages_that_cannot_be_read_are_handled_as_said(
    kafka_broker: KafkaBroker, start: Start, policy: BadRecords
) -> None:
    topic = kafka_broker.create_topic(partitions=1)
    good = [f'{{"n": {n}}}' for n in range(4)]
    kafka_broker.produce(topic, [good[0], "{", good[1], '{"m": 1}', good[2], None, good[3]])
    builder = building(kafka_broker, topic).set_bounded(LATEST).set_bad_records(policy)
    source = start(builder.set_value_only_deserializer(Json()).build())
    if policy is BadRecords.FAIL:
        with pytest.raises(BadMessage, match=rf"topic '{topic}' partition 0 offset 1: .*JSON"):
            source.run_to_end()
        return
    assert source.run_to_end() == [0, 1, 2, 3]
    letters = [(each.origin.split()[-1], each.payload) for each in source.dead_letters]
    expected = [("1", b"{"), ("3", b'{"m": 1}'), ("5", None)]
    assert letters == (expected if policy is BadRecords.DEAD_LETTER else [])


class Whole(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Any:
        return record


def test_whole_messages_have_key_headers_and_whereabouts(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    topic = kafka_broker.create_topic(partitions=1)
    kafka_broker.produce(
        topic, ["a", None], keys=["k", "gone"], timestamps=[5, 6], headers={"h": b"1"}
    )
    builder = building(kafka_broker, topic).set_deserializer(Whole()).set_bounded(LATEST)
    assert start(builder.build()).run_to_end() == [
        KafkaRecord(topic, 0, 0, 5, b"k", b"a", (("h", b"1"),)),
        KafkaRecord(topic, 0, 1, 6, b"gone", None, (("h", b"1"),)),
    ]


def test_a_broker_that_dies_and_comes_back_loses_and_repeats_nothing(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    topic = filled(kafka_broker, each=400)
    source = start(building(kafka_broker, topic).build(), 2)
    source.run_calls()
    source.poll_until(lambda: len(source.values) >= 300, 50)
    kafka_broker.kill()
    for _ in range(50):
        source.poll(10)
    kafka_broker.start()
    for partition in range(3):
        kafka_broker.produce(topic, numbers(100, 1200 + partition * 100), partition=partition)
    source.run_calls()
    source.poll_until(lambda: len(source.values) >= 1500)
    assert sorted(source.values, key=int) == numbers(1500)


@pytest.mark.parametrize("strategy", list(Strategy))
def test_records_that_retention_deleted_are_handled_as_said(
    kafka_broker: KafkaBroker, start: Start, strategy: Strategy
) -> None:
    topic = filled(kafka_broker, partitions=1)
    offsets = KafkaOffsetsInitializer.offsets({P(topic, 0): 4}, strategy)
    admin = kafka_broker.admin()
    for future in admin.delete_records([TopicPartition(topic, 0, 12)]).values():
        future.result(30)
    source = start(building(kafka_broker, topic).set_starting_offsets(offsets).build())
    source.run_calls()
    if strategy is Strategy.NONE:
        with pytest.raises(OffsetOutOfRange, match=r"partition 0 has no offset 4 .* 12 to 20"):
            source.poll_until(lambda: False)
        return
    log_end = source.readers[0]
    source.poll_until(lambda: log_end._fetched.partition(topic, 0).fetched_to >= 12)  # type: ignore[attr-defined]
    kafka_broker.produce(topic, ["new"], partition=0)
    source.poll_until(lambda: "new" in source.values)
    assert source.values == (numbers(8, 12) if strategy is Strategy.EARLIEST else []) + ["new"]


def test_a_topic_that_is_deleted_while_it_is_read_fails_the_job(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    topic = filled(kafka_broker)
    quick = {"topic.metadata.propagation.max.ms": 0, "topic.metadata.refresh.interval.ms": 100}
    source = start(building(kafka_broker, topic).set_properties(quick).build())
    source.run_calls()
    source.poll_until(lambda: len(source.values) == 60)
    admin = kafka_broker.admin()
    admin.delete_topics([topic])[topic].result(30)
    with pytest.raises(KafkaClientError, match=rf"is gone \({topic} \[.\]"):
        source.poll_until(lambda: False)


def test_paused_partitions_rest_and_go_on_where_they_were(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    topic = filled(kafka_broker, each=300)
    source = start(building(kafka_broker, topic).build())
    source.run_calls()
    source.poll_until(lambda: len(source.values) >= 50, 10)
    paused = [f"{topic}-0", f"{topic}-1"]
    (reader,) = source.readers
    reader.pause_or_resume_splits(paused, [])
    at = len(source.polls)
    free = f"{topic}-2"
    source.poll_until(lambda: _position(source, free) == 300)
    assert all(polled.split == free for polled in source.polls[at:] if polled.values)
    reader.pause_or_resume_splits([], paused)
    source.poll_until(lambda: len(source.values) >= 900)
    assert sorted(source.values, key=int) == numbers(900)


def _position(source: SteppedSource, name: str) -> int:
    (split,) = [split for split in source.checkpoint().splits if split.name == name]
    return int(split.offset)


def test_a_missing_topic_is_an_error_before_anything_is_read(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    source = start(building(kafka_broker, "no-such-topic").build())
    with pytest.raises(TopicNotFound, match=r"know no topic 'no-such-topic'"):
        source.run_calls()


def test_a_missing_committed_offset_is_an_error_before_anything_is_read(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    topic = filled(kafka_broker, partitions=1)
    builder = building(kafka_broker, topic).set_group_id(f"group-{uuid.uuid4().hex}")
    builder.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
    with pytest.raises(OffsetsNotFound, match=r"no committed offset for .* partition 0"):
        start(builder.build()).run_calls()


def with_password(broker: KafkaBroker, topic: str, password: str) -> KafkaSourceBuilder:
    jaas = f'PlainLoginModule required username="{USER}" password="{password}";'
    builder = building(broker, topic).set_bootstrap_servers(broker.sasl_bootstrap_servers)
    return builder.set_properties(
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
    )


def test_credentials_that_are_right_are_taken(kafka_broker: KafkaBroker, start: Start) -> None:
    topic = filled(kafka_broker, partitions=1)
    source = with_password(kafka_broker, topic, PASSWORD).set_bounded(LATEST).build()
    assert start(source).run_to_end() == numbers(20)


def test_credentials_that_are_wrong_are_an_error_without_them(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    source = start(with_password(kafka_broker, "t", "guessed").build())
    with pytest.raises(KafkaCredentialsRefused, match=r"refused .*check sasl") as caught:
        source.run_calls()
    assert "guessed" not in str(caught.value)


def test_a_broker_that_does_not_answer_is_an_error_with_its_address() -> None:
    builder = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("t")
    built = builder.set_value_only_deserializer(SimpleStringSchema()).build()
    lookup = BrokerLookup(built.reading.connection, timeout=0.5)
    with pytest.raises(KafkaUnreachable, match=r"127\.0\.0\.1:1"):
        lookup.all_topics()
