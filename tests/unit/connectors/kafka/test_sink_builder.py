"""Building a Kafka sink: what is wrong with it is said before anything is connected to."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest

from riverrun.api.delivery_guarantee import DeliveryGuarantee
from riverrun.api.serialization import SimpleStringSchema
from riverrun.api.sink import SinkWriterContext
from riverrun.connectors.base.extras import MissingExtra
from riverrun.connectors.kafka.connection import Connection, KafkaClientError, is_secret
from riverrun.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from riverrun.connectors.kafka.sink_serialization import KafkaRecordSerializationSchema
from riverrun.connectors.kafka.sink_writers import EpochWriter
from riverrun.connectors.kafka.transaction_background import Background
from riverrun.core.errors import ConfigError, ProgramError
from riverrun.core.time import Duration

SCHEMA = (
    KafkaRecordSerializationSchema.builder()
    .set_topic("out")
    .set_value_serialization_schema(SimpleStringSchema())
    .build()
)


class NoClient:
    def send(self, values: Any, commit: str | None = None) -> None:
        raise AssertionError


def builder() -> KafkaSinkBuilder:
    return KafkaSink.builder().set_bootstrap_servers("broker:9092").set_record_serializer(SCHEMA)


def exactly_once() -> KafkaSinkBuilder:
    return (
        builder()
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix("job")
    )


def test_a_sink_travels_to_the_workers() -> None:
    sink = exactly_once().set_commit_timeout(Duration.of_seconds(7)).build()

    assert isinstance(pickle.loads(pickle.dumps(sink)), KafkaSink)


def test_only_exactly_once_has_a_committer() -> None:
    context = SinkWriterContext(0, 1, "sink", NoClient())

    for guarantee in (DeliveryGuarantee.NONE, DeliveryGuarantee.AT_LEAST_ONCE):
        assert builder().set_delivery_guarantee(guarantee).build().create_committer(context) is None


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: KafkaSink.builder().set_record_serializer(SCHEMA), "set_bootstrap_servers"),
        (lambda: KafkaSink.builder().set_bootstrap_servers("b:1"), "set_record_serializer"),
        (
            lambda: builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE),
            "set_transactional_id_prefix",
        ),
        (lambda: builder().set_delivery_guarantee("once"), "expected a DeliveryGuarantee"),  # type: ignore[arg-type]
        (lambda: builder().set_transactional_id_prefix(""), "expected a name"),
        (lambda: builder().set_record_serializer(SimpleStringSchema()), "expected what"),  # type: ignore[arg-type]
        (lambda: builder().set_property("transactional.id", "x"), "set_transactional_id_prefix"),
        (
            lambda: builder().set_property("no.such", "x"),
            'No such configuration property: "no.such"',
        ),
        (lambda: builder().set_property("linger.ms", "soon"), "Invalid value"),
        (lambda: builder().set_property("ssl.truststore.location", "a.jks"), "ssl.ca.location"),
        (lambda: builder().set_property("sasl.jaas.config", "PlainLoginModule"), "sasl.username"),
        (lambda: exactly_once().set_property("acks", "1"), "needs acks='all', found '1'"),
        (lambda: exactly_once().set_property("enable.idempotence", False), "enable.idempotence"),
        (
            lambda: exactly_once().set_property("delivery.timeout.ms", 600_000),
            "transaction.timeout.ms",
        ),
        (lambda: exactly_once().set_max_epoch_bytes(0), "expected 1 or more"),
    ],
)
def test_what_is_missing_or_wrong_is_said(build: Any, complaint: str) -> None:
    with pytest.raises(ProgramError, match=complaint):
        build().build()


def test_properties_of_java_are_understood() -> None:
    found = Connection.of(
        "KafkaSink",
        "broker:9092",
        {
            "key.serializer": "org.apache.kafka.common.serialization.StringSerializer",
            "sasl.jaas.config": 'PlainLoginModule required username="ann" password="hush";',
            "buffer.memory": "33554432",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
        },
    )

    assert found.properties == {
        "bootstrap.servers": "broker:9092",
        "sasl.username": "ann",
        "sasl.password": "hush",
        "queue.buffering.max.kbytes": 32768,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
    }


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "ssl.key.password",
        "ssl.keystore.password",
        "ssl.key.pem",
        "sasl.jaas.config",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.config",
    ],
)
def test_secrets_are_not_shown(name: str) -> None:
    assert is_secret(name)
    assert "hush" not in repr(Connection("KafkaSink", {"bootstrap.servers": "b:1", name: "hush"}))


def test_a_wrong_secret_is_not_in_the_error() -> None:
    with pytest.raises(ConfigError) as caught:
        builder().set_property("ssl.key.pem", "hush-hush").set_property(
            "security.protocol", "SSL"
        ).build()

    assert "hush-hush" not in str(caught.value)


def test_without_the_package_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)

    with pytest.raises(MissingExtra, match=r"KafkaSink: .*pip install 'riverrun\[kafka\]'"):
        builder().build()


def writer(*, checkpointing: bool = True, most: int = 1 << 20, message: int = 1000) -> EpochWriter:
    context = SinkWriterContext(0, 1, "sink", NoClient(), checkpointing=checkpointing)
    connection = Connection("KafkaSink", {"bootstrap.servers": "b:1", "message.max.bytes": message})
    return EpochWriter(
        connection,
        SCHEMA,
        context,
        check_topics=True,
        max_epoch_bytes=most,
        background=Background(),
    )


def test_epochs_are_numbered_and_empty_ones_left_out() -> None:
    one = writer()
    prepared = []
    for records in (["a"], [], ["b", "c"]):
        if records:
            one.write_run(records, None)
        prepared.append(one.prepare_commit())

    assert [[each.number for each in epochs] for epochs in prepared] == [[1], [], [2]]
    assert prepared[2][0].messages == 2
    assert prepared[0][0].lineage == prepared[2][0].lineage


def test_each_start_of_a_writer_is_a_lineage_of_its_own() -> None:
    first, second = writer(), writer()
    for each in (first, second):
        each.write_run(["a"], None)

    assert first.prepare_commit()[0].lineage != second.prepare_commit()[0].lineage


def test_a_message_that_is_too_large_is_refused_before_it_is_in_a_checkpoint() -> None:
    with pytest.raises(
        KafkaClientError, match=r"a message of 900 bytes .* message\.max\.bytes=1000"
    ):
        writer().write_run(["small", "x" * 900], None)


@pytest.mark.parametrize(
    ("checkpointing", "advice"),
    [(True, "take checkpoints more often"), (False, "enable checkpoints")],
)
def test_an_epoch_that_grows_too_large_is_an_error_that_says_what_to_do(
    *, checkpointing: bool, advice: str
) -> None:
    with pytest.raises(KafkaClientError, match=rf"subtask 0 keeps 60 bytes .* 50; {advice}"):
        writer(checkpointing=checkpointing, most=50).write_run(["x" * 30] * 2, None)
