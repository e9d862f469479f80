"""Count orders by customer, from Kafka to Kafka, exactly once.

Run it: python examples/kafka_count.py localhost:9092 orders counts
It reads the orders that are there and ends; with --follow it waits for more.
RIVERRUN_MASTER says where the job runs: local[*] (Spark, the default), in-process, ...
"""

from __future__ import annotations

import json
import sys

from riverrun import (
    DeliveryGuarantee,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)


def main(servers: str, orders: str, counts: str, follow: str = "") -> None:
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_group_id("kafka-count")
        .set_topics(orders)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
    )
    if follow != "--follow":
        source.set_bounded(KafkaOffsetsInitializer.latest())
    record = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(counts)
        .set_value_serialization_schema(SimpleStringSchema())
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix("kafka-count")
        .set_record_serializer(record.build())
    )
    with StreamExecutionEnvironment.get_execution_environment() as env:
        env.set_parallelism(2).enable_checkpointing(1000)
        stream = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "orders")
        ones = stream.map(lambda order: (json.loads(order)["customer"], 1))
        counted = ones.key_by(lambda pair: pair[0]).sum(1)
        counted.map(lambda pair: f"{pair[0]}: {pair[1]}").sink_to(sink.build())
        env.execute("kafka count")


if __name__ == "__main__":
    main(*sys.argv[1:])
