# ruff: noqa: ARG002  # the arguments are those of PyFlink's interfaces
"""Kafka -> key_by -> count -> Kafka as a PyFlink program; riverrun runs the same file with ``--pyflink``.

Each function notes when it opens. When the last record came out is read from the output topic, whose broker
stamps every message on arrival.
"""

import argparse
import os
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

# Read by PyFlink when a job starts: Python workers of their own instead of the client's process.
os.environ["_python_worker_execution_mode"] = "process"  # noqa: SIM112  # PyFlink's own spelling

from pyflink.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.state import ValueStateDescriptor

PARALLELISM = 2


class Count(KeyedProcessFunction):
    """How many records of its key came so far."""

    def __init__(self, stamps: str) -> None:
        self._stamps = stamps

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        Path(self._stamps, f"open-{uuid.uuid4()}").write_text(str(time.time()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield f"{ctx.get_current_key()},{count}"


def key_of(line: str) -> str:
    """The part before the comma."""
    return line[: line.index(",")]


def environment(arguments: argparse.Namespace) -> StreamExecutionEnvironment:
    """As the other PyFlink benchmarks tune it."""
    configuration = Configuration()
    for key, value in {
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        "python.execution-mode": "process",
        "python.fn-execution.bundle.size": "10000",
        "python.fn-execution.bundle.time": "1000",
        "python.state.cache-size": "20000",
        "pipeline.object-reuse": "true",
        "state.backend.type": "hashmap",
        "taskmanager.memory.managed.size": "1g",
        "taskmanager.memory.network.max": "256m",
        "execution.checkpointing.interval": f"{arguments.interval} ms",
        "execution.checkpointing.dir": arguments.checkpoints,
        "state.checkpoints.dir": arguments.checkpoints,
    }.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(PARALLELISM)
    env.set_buffer_timeout(100)
    if arguments.jar:
        env.add_jars(f"file://{arguments.jar}")
    return env


def main() -> None:
    """Build the job and run it to the end of the input topic."""
    parser = argparse.ArgumentParser()
    for name in ("servers", "source", "target", "guarantee", "stamps", "checkpoints"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--interval", type=int, default=1000)
    parser.add_argument("--jar", default="")
    arguments = parser.parse_args()
    env = environment(arguments)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(arguments.servers)
        .set_topics(arguments.source)
        .set_group_id("benchmark")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(arguments.servers)
        .set_record_serializer(
            KafkaRecordSerializationSchema.builder()
            .set_topic(arguments.target)
            .set_value_serialization_schema(SimpleStringSchema())
            .build()
        )
        .set_delivery_guarantee(DeliveryGuarantee[arguments.guarantee])
        .set_transactional_id_prefix(f"benchmark-{uuid.uuid4()}")
        .set_property("transaction.timeout.ms", "600000")
        .build()
    )
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    counts = lines.key_by(key_of, key_type=Types.STRING()).process(
        Count(arguments.stamps), output_type=Types.STRING()
    )
    counts.sink_to(sink)
    env.execute("kafka count")


if __name__ == "__main__":
    main()
