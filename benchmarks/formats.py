"""How fast formats read messages, as ratios to a plain loop of the library that does the work.

    python benchmarks/formats.py [--messages 100000]

A ratio of 1.0 means: as fast as the loop without any row, type or error handling around it.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import fastavro
import msgspec

from riverrun.connectors.formats.avro_rows import AvroDeserializationSchema, AvroSerializationSchema
from riverrun.connectors.formats.avro_schema import AvroSchema
from riverrun.connectors.formats.csv_rows import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from riverrun.connectors.formats.json_plain import JsonDeserializationSchema
from riverrun.connectors.formats.json_rows import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from riverrun.serde.row import Row
from riverrun.serde.types import Types

ROW = Types.ROW_NAMED(
    ["id", "user", "amount", "country", "ok"],
    [Types.LONG(), Types.STRING(), Types.DOUBLE(), Types.STRING(), Types.BOOLEAN()],
)
AVRO = AvroSchema(
    {
        "type": "record",
        "name": "Payment",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "user", "type": "string"},
            {"name": "amount", "type": "double"},
            {"name": "country", "type": "string"},
            {"name": "ok", "type": "boolean"},
        ],
    }
)
Read = Callable[[Sequence[bytes]], Any]


def main() -> None:
    """Print a line for each pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    count = parser.parse_args().messages
    rows = [
        Row(number, f"user-{number % 97}", number * 0.25, "de", number % 2 == 0)
        for number in range(count)
    ]
    in_json = JsonRowSerializationSchema(ROW).serialize_run(rows)
    in_csv = CsvRowSerializationSchema.Builder(ROW).build().serialize_run(rows)
    in_avro = AvroSerializationSchema(AVRO).serialize_run(rows)
    pairs: list[tuple[str, Read, str, Read, Sequence[bytes]]] = [
        ("JSON, dicts", JsonDeserializationSchema().deserialize_run, "msgspec", _msgspec, in_json),
        (
            "JSON, rows",
            JsonRowDeserializationSchema(ROW).deserialize_run,
            "msgspec",
            _msgspec,
            in_json,
        ),
        ("JSON, rows", JsonRowDeserializationSchema(ROW).deserialize_run, "json", _json, in_json),
        (
            "CSV, rows",
            CsvRowDeserializationSchema.Builder(ROW).build().deserialize_run,
            "csv",
            _csv,
            in_csv,
        ),
        (
            "Avro, dicts",
            AvroDeserializationSchema(AVRO).deserialize_run,
            "fastavro",
            _avro,
            in_avro,
        ),
        (
            "Avro, rows",
            AvroDeserializationSchema(AVRO, as_rows=True).deserialize_run,
            "fastavro",
            _avro,
            in_avro,
        ),
    ]
    for what, ours, library, plain, messages in pairs:
        here, there = _rate(ours, messages), _rate(plain, messages)
        print(
            f"{what:12} {here:12,.0f} /s   {library:9} {there:12,.0f} /s   ratio {here / there:.2f}"
        )


def _rate(read: Read, messages: Sequence[bytes]) -> float:
    runs = [messages[start : start + 1000] for start in range(0, len(messages), 1000)]
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        for run in runs:
            read(run)
        best = min(best, time.perf_counter() - began)
    return len(messages) / best


def _msgspec(messages: Sequence[bytes]) -> Any:
    decode = msgspec.json.Decoder().decode
    return [decode(message) for message in messages]


def _json(messages: Sequence[bytes]) -> Any:
    return [json.loads(message) for message in messages]


def _csv(messages: Sequence[bytes]) -> Any:
    lines = csv.reader(message.decode() for message in messages)
    return [
        (int(number), user, float(amount), country, ok == "true")
        for number, user, amount, country, ok in lines
    ]


def _avro(messages: Sequence[bytes]) -> Any:
    schema = AVRO.parsed
    return [fastavro.schemaless_reader(BytesIO(message), schema, None) for message in messages]


if __name__ == "__main__":
    main()
