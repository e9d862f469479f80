"""A real Apache Kafka broker (KRaft, one node) that tests start, kill, pause and start again."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import subprocess
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from riverrun.testing.processes import MARK
from riverrun.testing.waiting import wait_until
from tests.servers.kafka_jars import KafkaUnavailableError, java_executable, kafka_folder

USER = "river"
PASSWORD = "run-river-run"
"""Of the broker that the tests start."""

# librdkafka writes to stderr unless it is given a logger; a broker that is down is no news in here.
_quiet = logging.getLogger("tests.kafka")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False
_RECONNECT = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200}

# The session ends soon, since a broker that was killed may only come back after it.
_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{plain},CONTROLLER://127.0.0.1:{controller},SASL://127.0.0.1:{sasl}
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},SASL://127.0.0.1:{sasl}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=250
transaction.max.timeout.ms=3600000
transaction.abort.timed.out.transaction.cleanup.interval.ms=500
"""


class KafkaBroker:
    """One broker with its data in ``folder``; its ports stay the same through kills and restarts."""

    def __init__(self, folder: Path) -> None:
        home = kafka_folder()
        self._log = folder / "broker.log"
        data = folder / "data"
        shutil.copytree(home / "formatted", data)
        plain, sasl, controller = _free_ports(3)
        self.bootstrap_servers = f"127.0.0.1:{plain}"
        self.sasl_bootstrap_servers = f"127.0.0.1:{sasl}"
        """Wants SASL/PLAIN with ``USER`` and ``PASSWORD``."""
        settings = folder / "server.properties"
        settings.write_text(
            _SETTINGS.format(
                plain=plain,
                sasl=sasl,
                controller=controller,
                data=data,
                user=USER,
                password=PASSWORD,
            )
        )
        self._command = [
            java_executable(),
            *("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            *("-cp", f"{home / 'jars'}/*", "kafka.Kafka", str(settings)),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, with the data that is there, and wait until it answers."""
        assert self._process is None, "the broker runs already"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=_unmarked())
        admin = self.admin()
        for _ in range(60):
            try:
                if admin.list_topics(timeout=1).brokers:
                    return
            except Exception:  # noqa: BLE001  (not there yet, in one of many ways)
                if self._process.poll() is not None:
                    break
        raise AssertionError(f"the broker did not start: {self._log.read_text()[-4000:]}")

    def kill(self) -> None:
        """Kill it as a power failure would; does nothing when it is dead already."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Kill it and start it on the same ports and data."""
        self.kill()
        self.start()

    def pause(self) -> None:
        """Stop it from answering; connections stay open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused broker go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def client(self, **more: Any) -> dict[str, Any]:
        """Properties of a client of this broker; ``_`` in names stands for ``.``."""
        named = {name.replace("_", "."): value for name, value in more.items()}
        return {"bootstrap.servers": self.bootstrap_servers, **_RECONNECT, **named}

    def admin(self) -> AdminClient:
        """A client for topics and groups."""
        return AdminClient(self.client(), logger=_quiet)

    def create_topic(self, name: str | None = None, partitions: int = 3) -> str:
        """Make a topic, with a name of its own unless one is given, and wait until it is there."""
        name = name or f"topic-{uuid.uuid4().hex[:12]}"
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1)
        admin = self.admin()  # It must outlive its futures.
        admin.create_topics([topic])[name].result(timeout=30)
        self.await_topic(name, partitions)
        return name

    def add_partitions(self, name: str, total: int) -> None:
        """Let the topic have ``total`` partitions."""
        admin = self.admin()
        admin.create_partitions([NewPartitions(name, total)])[name].result(timeout=30)
        self.await_topic(name, total)

    def await_topic(self, name: str, partitions: int) -> None:
        """Return when every partition of the topic has a leader."""
        admin = self.admin()

        def all_led() -> bool:
            found = admin.list_topics(name, timeout=10).topics[name].partitions
            return len(found) == partitions and all(p.leader >= 0 for p in found.values())

        what = f"the {partitions} partitions of topic {name!r} have leaders"
        wait_until(all_led, what=what, timeout_s=60)

    def produce(
        self,
        topic: str,
        values: Iterable[bytes | str | None],
        *,
        partition: int = -1,
        keys: Iterable[bytes | str | None] | None = None,
        timestamps: Iterable[int] | None = None,
        headers: Mapping[str, bytes] | None = None,
    ) -> None:
        """Write messages and wait until the broker has them, each once, however slowly it answers."""
        producer = Producer(self.client(linger_ms=1, enable_idempotence=True), logger=_quiet)
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failures.append(error)

        keys_given = iter(keys) if keys is not None else None
        times_given = iter(timestamps) if timestamps is not None else None
        for value in values:
            more: dict[str, Any] = {}
            if times_given is not None:
                more["timestamp"] = next(times_given)
            if headers is not None:
                more["headers"] = list(headers.items())
            key = next(keys_given) if keys_given is not None else None
            producer.produce(topic, value, key, partition=partition, on_delivery=delivered, **more)
            producer.poll(0)
        assert producer.flush(30) == 0
        assert not failures, failures

    def consume(self, topic: str, *, read_committed: bool = True) -> dict[int, list[Message]]:
        """All messages that the topic holds now, in order, for each partition."""
        consumer = Consumer(
            self.client(
                group_id=f"reader-{uuid.uuid4().hex}",
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                enable_partition_eof=True,
                isolation_level="read_committed" if read_committed else "read_uncommitted",
            ),
            logger=_quiet,
        )
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        found: dict[int, list[Message]] = {partition: [] for partition in sorted(partitions)}
        try:
            consumer.assign([TopicPartition(topic, partition, 0) for partition in found])
            ended: set[int] = set()
            while len(ended) < len(found):
                for message in consumer.consume(1000, timeout=0.1):
                    partition = message.partition()
                    assert partition is not None
                    error = message.error()
                    if error is None:
                        found[partition].append(message)
                    elif error.code() == KafkaError._PARTITION_EOF:
                        ended.add(partition)
                    else:
                        raise AssertionError(error.str())
        finally:
            consumer.close()
        return found

    def values(self, topic: str, *, read_committed: bool = True) -> list[bytes | None]:
        """The values of all messages, one partition after the other."""
        found = self.consume(topic, read_committed=read_committed)
        return [_bytes(message.value()) for part in found.values() for message in part]


def _unmarked() -> dict[str, str]:
    """An environment that does not make a broker look like a process that a job left behind."""
    return {name: value for name, value in os.environ.items() if name != MARK}


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in held]
    for one in held:
        one.close()
    return ports


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker for all tests of a run; import it into a conftest. Tests use topics of their own."""
    try:
        broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    except KafkaUnavailableError as e:
        pytest.skip(f"no Kafka broker: {e}")
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()
