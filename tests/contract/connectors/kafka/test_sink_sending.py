"""The Kafka sink that sends at once, and what it says before data moves, against a real broker."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from riverrun.api.delivery_guarantee import DeliveryGuarantee
from riverrun.api.serialization import SimpleStringSchema
from riverrun.api.sink import SinkWriter
from riverrun.connectors.kafka import connection
from riverrun.connectors.kafka.connection import (
    KafkaClientError,
    KafkaCredentialsRefused,
    KafkaUnreachable,
    TopicMissing,
)
from riverrun.connectors.kafka.producer_runs import NotDelivered
from riverrun.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from riverrun.connectors.kafka.sink_serialization import (
    FixedPartitioner,
    KafkaRecordSerializationSchema,
)
from riverrun.graph.pickling import dumps
from tests.contract.connectors.kafka.sink_steps import (
    KeySchema,
    committer_of,
    context,
    in_order,
    kafka_sink,
    texts,
)
from tests.servers.kafka import PASSWORD, USER, KafkaBroker

AT_LEAST_ONCE = DeliveryGuarantee.AT_LEAST_ONCE


@pytest.fixture
def topic(kafka_broker: KafkaBroker) -> str:
    return kafka_broker.create_topic()


def opened(builder: KafkaSinkBuilder, subtask: int = 0) -> SinkWriter[Any]:
    sink: KafkaSink = pickle.loads(dumps(builder.build()))
    writer = sink.create_writer(context(subtask, subtask + 1))
    writer.open()
    return writer


@pytest.mark.parametrize("guarantee", [AT_LEAST_ONCE, DeliveryGuarantee.NONE])
def test_records_are_there_after_the_last_flush(
    kafka_broker: KafkaBroker, topic: str, guarantee: DeliveryGuarantee
) -> None:
    writer = opened(kafka_sink(kafka_broker, topic, guarantee))
    writer.write_run([f"a{number}" for number in range(100)], None)
    writer.flush(end_of_input=False)
    writer.write("b1", 5)
    writer.flush(end_of_input=True)
    writer.close()

    assert in_order(kafka_broker, topic) == {
        "a": [f"a{number}" for number in range(100)],
        "b": ["b1"],
    }


def test_keys_headers_and_times_arrive_and_partitions_are_those_of_java(
    kafka_broker: KafkaBroker,
) -> None:
    topic = kafka_broker.create_topic(partitions=7)
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_key_serialization_schema(SimpleStringSchema())
        .set_value_serialization_schema(SimpleStringSchema())
        .set_header_provider(lambda text: [("of", text.encode()), ("of", None)])
        .build()
    )
    writer = opened(kafka_sink(kafka_broker, topic, AT_LEAST_ONCE).set_record_serializer(schema))
    writer.write_run(["21", "foobar"], [1234, -5])
    writer.flush(end_of_input=False)
    writer.close()

    found = {
        message.key(): (partition, message)
        for partition, messages in kafka_broker.consume(topic).items()
        for message in messages
    }
    # murmur2 of the keys, as Kafka's own tests have it.
    assert found[b"21"][0] == (-973932308 & 0x7FFFFFFF) % 7
    assert found[b"foobar"][0] == (-790332482 & 0x7FFFFFFF) % 7
    message = found[b"21"][1]
    assert message.headers() == [("of", b"21"), ("of", None)]
    assert message.timestamp()[1] == 1234
    assert found[b"foobar"][1].timestamp()[1] > 1_000_000_000_000, "the time at which it was sent"


def test_a_partitioner_is_asked_with_the_partitions_that_there_are(
    kafka_broker: KafkaBroker, topic: str
) -> None:
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_value_serialization_schema(SimpleStringSchema())
        .set_partitioner(FixedPartitioner())
        .build()
    )
    builder = kafka_sink(kafka_broker, topic, AT_LEAST_ONCE).set_record_serializer(schema)
    for subtask in (1, 2, 4):
        writer = opened(builder, subtask)
        writer.write_run([f"from {subtask}"], None)
        writer.flush(end_of_input=False)
        writer.close()

    assert {
        partition: sorted(str(message.value(), "utf-8") for message in messages)
        for partition, messages in kafka_broker.consume(topic).items()
    } == {0: [], 1: ["from 1", "from 4"], 2: ["from 2"]}


def test_more_messages_than_the_queue_takes_are_sent_in_order(
    kafka_broker: KafkaBroker, topic: str
) -> None:
    writer = opened(kafka_sink(kafka_broker, topic, AT_LEAST_ONCE, queue_buffering_max_messages=20))
    for start in (0, 1000):
        times = None if start else list(range(1000))
        writer.write_run([f"a{number}" for number in range(start, start + 1000)], times)
    writer.flush(end_of_input=False)
    writer.close()

    assert in_order(kafka_broker, topic) == {"a": [f"a{number}" for number in range(2000)]}


@pytest.mark.slow
def test_a_broker_killed_under_load_gets_everything(kafka_broker: KafkaBroker, topic: str) -> None:
    writer = opened(kafka_sink(kafka_broker, topic, AT_LEAST_ONCE))
    for turn in range(3):
        if turn == 1:
            kafka_broker.kill()
        writer.write_run([f"a{number}" for number in range(turn * 1000, turn * 1000 + 1000)], None)
    kafka_broker.start()
    writer.flush(end_of_input=False)
    writer.close()

    assert in_order(kafka_broker, topic) == {"a": [f"a{number}" for number in range(3000)]}


def test_a_message_that_does_not_arrive_fails_the_checkpoint(
    kafka_broker: KafkaBroker, topic: str
) -> None:
    writer = opened(kafka_sink(kafka_broker, topic, AT_LEAST_ONCE, message_timeout_ms=1000))
    kafka_broker.pause()
    try:
        writer.write("a1", None)
        with pytest.raises(NotDelivered, match=rf"KafkaSink: a message for topic '{topic}'"):
            writer.flush(end_of_input=False)
    finally:
        kafka_broker.resume()
        writer.close()


def by_first_letter(broker: KafkaBroker, **topics: str) -> KafkaSinkBuilder:
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic_selector(lambda text: topics[text[0]])
        .set_key_serialization_schema(KeySchema())
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    return kafka_sink(broker, "selected", AT_LEAST_ONCE).set_record_serializer(schema)


def test_a_selected_topic_that_does_not_exist_is_an_error_with_its_name(
    kafka_broker: KafkaBroker, topic: str
) -> None:
    writer = opened(by_first_letter(kafka_broker, a=topic, b="not-there"))
    writer.write_run(["a1", "a2"], None)
    with pytest.raises(TopicMissing, match=r"topics \['not-there'\] do not exist"):
        writer.write_run(["a3", "b1"], None)
    writer.flush(end_of_input=False)
    writer.close()
    assert texts(kafka_broker, topic) == ["a1", "a2"]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for a broker that is not there."""
    monkeypatch.setattr(connection.Connection.metadata, "__defaults__", (1.0,))
    monkeypatch.setattr(connection.Connection.partitions_of, "__defaults__", (1.0,))


Start = Callable[[KafkaSinkBuilder], object]


@pytest.mark.parametrize("start", [opened, lambda builder: committer_of(builder.build())])
@pytest.mark.usefixtures("soon")
def test_a_broker_that_is_not_there_is_said_at_the_start(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    builder = kafka_sink(kafka_broker, "any").set_bootstrap_servers("127.0.0.1:1")
    with pytest.raises(KafkaUnreachable, match=r"no broker of '127\.0\.0\.1:1' answered"):
        start(builder)


@pytest.mark.parametrize("start", [opened, lambda builder: committer_of(builder.build())])
def test_wrong_credentials_are_said_at_the_start_without_the_password(
    kafka_broker: KafkaBroker, start: Start
) -> None:
    builder = secured(kafka_broker, "any").set_property("sasl.password", "a wrong one")
    with pytest.raises(
        KafkaCredentialsRefused, match="refused the credentials of 'river'"
    ) as caught:
        start(builder)
    assert "a wrong one" not in str(caught.value)


def secured(broker: KafkaBroker, topic: str) -> KafkaSinkBuilder:
    return (
        kafka_sink(broker, topic)
        .set_bootstrap_servers(broker.sasl_bootstrap_servers)
        .set_property("security.protocol", "SASL_PLAINTEXT")
        .set_property("sasl.mechanism", "PLAIN")
        .set_property("sasl.username", USER)
        .set_property("sasl.password", PASSWORD)
    )


def test_the_right_credentials_are_used_by_every_client(
    kafka_broker: KafkaBroker, topic: str
) -> None:
    sink = secured(kafka_broker, topic).build()
    committer = committer_of(sink)
    writer = opened(secured(kafka_broker, topic))
    writer.write("a1", None)
    writer.close()
    committer.close()


def test_a_topic_that_does_not_exist_is_said_at_the_start(kafka_broker: KafkaBroker) -> None:
    with pytest.raises(TopicMissing, match=r"KafkaSink: topics \['not-there'\] do not exist at"):
        opened(kafka_sink(kafka_broker, "not-there", AT_LEAST_ONCE))


def test_the_check_of_topics_can_be_left_out(kafka_broker: KafkaBroker) -> None:
    opened(kafka_sink(kafka_broker, "not-there").set_check_topics(check=False)).close()


def test_a_transaction_timeout_that_the_broker_refuses_is_said_at_the_start(
    kafka_broker: KafkaBroker, topic: str
) -> None:
    sink = kafka_sink(kafka_broker, topic, transaction_timeout_ms=2**31 - 1).build()
    with pytest.raises(KafkaClientError, match=rf"transactional id '{topic}-0'.*timeout"):
        committer_of(sink)


def test_a_marker_topic_that_would_forget_is_refused(kafka_broker: KafkaBroker, topic: str) -> None:
    sink = kafka_sink(kafka_broker, topic).set_marker_topic(topic).build()
    with pytest.raises(
        KafkaClientError, match=r"has cleanup\.policy='delete' .* set it to 'compact'"
    ):
        committer_of(sink)
