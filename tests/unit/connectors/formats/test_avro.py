"""Avro records and rows; messages with the header of a schema registry."""

# ruff: noqa: DTZ001 - rows have timestamps without a zone

from __future__ import annotations

import pickle
from base64 import b64encode
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.formats.avro_rows import (
    AvroDeserializationSchema,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSerializationSchema,
)
from riverrun.connectors.formats.avro_schema import AvroSchema, GenericRecordAvroTypeInfo
from riverrun.connectors.formats.confluent_avro import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)
from riverrun.connectors.formats.confluent_registry import ConfluentRegistry, RegistryError
from riverrun.connectors.formats.errors import FormatError
from riverrun.core.errors import ConfigError, ProgramError
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from tests.servers.schema_registry import SchemaRegistryServer

FIELDS: dict[str, tuple[Any, Any, st.SearchStrategy[Any]]] = {
    "flag": ("boolean", Types.BOOLEAN(), st.booleans()),
    "n": ("int", Types.INT(), st.integers(-(2**31), 2**31 - 1)),
    "id": ("long", Types.LONG(), st.integers(-(2**63), 2**63 - 1)),
    "x": ("double", Types.DOUBLE(), st.floats(allow_nan=False)),
    "name": ("string", Types.STRING(), st.text(st.characters(codec="utf-8"))),
    "raw": ("bytes", Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary()),
    "day": ({"type": "int", "logicalType": "date"}, Types.SQL_DATE(), st.dates()),
    "hour": (
        {"type": "long", "logicalType": "time-micros"},
        Types.SQL_TIME(),
        st.times(),
    ),
    "at": (
        {"type": "long", "logicalType": "timestamp-micros"},
        Types.SQL_TIMESTAMP(),
        st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),
    ),
    "local": (
        {"type": "long", "logicalType": "local-timestamp-micros"},
        Types.SQL_TIMESTAMP(),
        st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),
    ),
    "price": (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        Types.BIG_DEC(),
        st.decimals(-999_999, 999_999, places=2),
    ),
    "color": (
        {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]},
        Types.STRING(),
        st.sampled_from(["RED", "BLUE"]),
    ),
    "tags": (
        {"type": "array", "items": "string"},
        Types.OBJECT_ARRAY(Types.STRING()),
        st.lists(st.text(st.characters(codec="utf-8"))),
    ),
    "counts": (
        {"type": "map", "values": "long"},
        Types.MAP(Types.STRING(), Types.LONG()),
        st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers(0, 9)),
    ),
    "inner": (
        {"type": "record", "name": "In", "fields": [{"name": "a", "type": "int"}]},
        Types.ROW_NAMED(["a"], [Types.INT()]),
        st.builds(lambda a: Row(a=a), st.integers(0, 9)),
    ),
}


def record(names: list[str], **also: Any) -> AvroSchema:
    fields = [{"name": name, "type": ["null", FIELDS[name][0]], "default": None} for name in names]
    return AvroSchema(
        {"type": "record", "name": "Order", "namespace": "shop", "fields": fields, **also}
    )


@given(st.data())
def test_rows_become_records_and_come_back(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, unique=True))
    values = st.tuples(*[st.none() | FIELDS[name][2] for name in names])
    rows = [
        Row(**dict(zip(names, found, strict=True)))
        for found in data.draw(st.lists(values, max_size=3))
    ]
    schema = str(record(names))
    write = AvroRowSerializationSchema(avro_schema_string=schema)
    read = AvroRowDeserializationSchema(avro_schema_string=schema)

    messages = write.serialize_run(rows)

    assert read.deserialize_run(messages) == rows
    assert [read.deserialize(message) for message in messages] == rows
    assert read.get_produced_type() == Types.ROW_NAMED(names, [FIELDS[name][1] for name in names])


def test_records_are_as_avro_says() -> None:
    schema = record(["id", "at", "price"])
    row = Row(7, datetime(1970, 1, 1, 0, 0, 1), Decimal("1.00"))

    message = AvroSerializationSchema.for_generic(schema).serialize(row)

    assert message == bytes([2, 14, 2, 0x80, 0x89, 0x7A, 2, 2, 100])


def test_generic_records_are_dicts() -> None:
    schema = record(["id", "name"])
    read = pickle.loads(pickle.dumps(AvroDeserializationSchema.for_generic(schema)))
    write = pickle.loads(pickle.dumps(AvroSerializationSchema.for_generic(schema)))

    assert read.deserialize(write.serialize({"id": 1, "name": "x"})) == {"id": 1, "name": "x"}
    assert read.get_produced_type() == GenericRecordAvroTypeInfo(schema)


def test_a_record_of_an_older_schema_is_read_as_the_newer_says() -> None:
    old, new = record(["id"]), record(["name", "id"])
    message = AvroSerializationSchema(old).serialize({"id": 7})

    read = AvroDeserializationSchema(new, writer_schema=old, as_rows=True)

    assert read.deserialize(message) == Row(name=None, id=7)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b"", "avro: the message is no record of 'shop.Order'"),
        (b"\x02", "avro: the message is no record of 'shop.Order'"),
        (b"\x02\x0e\x0e", "a record of 'shop.Order' ends after 2 of 3 bytes"),
    ],
)
def test_bytes_that_are_no_record_are_refused(message: bytes, said: str) -> None:
    with pytest.raises(FormatError) as raised:
        AvroDeserializationSchema(record(["id"])).deserialize(message)

    assert said in str(raised.value)


def test_a_value_that_does_not_fit_is_not_written() -> None:
    with pytest.raises(FormatError, match=r"avro: cannot write .* as 'shop.Order'"):
        AvroSerializationSchema(record(["id"])).serialize({"id": "x"})


def test_schemas_come_from_texts_and_files(tmp_path: Path) -> None:
    (tmp_path / "order.avsc").write_text(str(record(["id"])))

    assert AvroSchema.parse_file(str(tmp_path / "order.avsc")) == record(["id"])
    with pytest.raises(ProgramError, match="avro schema: the text is not JSON"):
        AvroSchema.parse_string("{")
    with pytest.raises(ProgramError, match=r"avro schema: .* is none"):
        AvroSchema.parse_string('{"type": "nothing"}')
    with pytest.raises(ProgramError, match="cannot read the file"):
        AvroSchema.parse_file(str(tmp_path / "none.avsc"))
    with pytest.raises(TypeError, match="expected a class with an attribute avro_schema"):
        AvroRowDeserializationSchema()


def test_a_record_inside_of_itself_is_no_row() -> None:
    fields = [{"name": "next", "type": ["null", "Node"]}]
    schema = AvroSchema({"type": "record", "name": "Node", "fields": fields})

    with pytest.raises(ProgramError, match="because it is inside of itself; read generic records"):
        AvroDeserializationSchema(schema, as_rows=True)
    message = AvroSerializationSchema(schema).serialize({"next": {"next": None}})
    assert AvroDeserializationSchema(schema).deserialize(message) == {"next": {"next": None}}


@pytest.fixture(scope="module")
def registry() -> Iterator[SchemaRegistryServer]:
    server = SchemaRegistryServer(user="river:run")
    yield server
    server.stop()


AUTH = {"basic.auth.user.info": "river:run"}


def test_messages_with_a_header_are_read_whichever_schema_wrote_them(
    registry: SchemaRegistryServer,
) -> None:
    old, new = record(["id"]), record(["id", "name"])
    write = {
        name: ConfluentRegistryAvroSerializationSchema.for_generic(
            "orders/1-value", schema, registry.url, AUTH
        )
        for name, schema in (("old", old), ("new", new))
    }
    read = pickle.loads(
        pickle.dumps(ConfluentRegistryAvroDeserializationSchema.for_row(new, registry.url, AUTH))
    )
    read.open()
    messages = [
        pickle.loads(pickle.dumps(write["old"])).serialize(Row(id=1)),
        *write["new"].serialize_run([{"id": 2, "name": "x"}, {"id": 3}]),
    ]

    rows = read.deserialize_run([*messages, *messages])

    assert [message[0] for message in messages] == [0, 0, 0]
    assert rows[:3] == rows[3:] == [Row(id=1, name=None), Row(id=2, name="x"), Row(id=3, name=None)]
    asked = [each for each in registry.asked if each.startswith("GET /schemas/ids/")]
    assert len(asked) == len(set(asked)) == 2
    assert ConfluentRegistry(registry.url, AUTH).latest("orders/1-value")[1] == str(new)


def test_a_message_without_the_header_is_refused(registry: SchemaRegistryServer) -> None:
    read = ConfluentRegistryAvroDeserializationSchema.for_generic(
        record(["id"]), registry.url, AUTH
    )

    for message in (b"", b"\x00\x01", b'{"id": 1}'):
        with pytest.raises(FormatError, match="was it written without a schema registry"):
            read.deserialize(message)
    with pytest.raises(FormatError, match=r"schema id 4096, .*404 Schema not found; the registry"):
        read.deserialize(b"\x00\x00\x00\x10\x00abc")


def test_a_registry_that_is_away_is_no_fault_of_the_message() -> None:
    read = ConfluentRegistryAvroDeserializationSchema.for_generic(
        record(["id"]), "http://127.0.0.1:1"
    )

    with pytest.raises(RegistryError, match="it did not answer"):
        read.deserialize(b"\x00\x00\x00\x10\x00abc")


def test_what_the_registry_refuses_is_said_without_secrets(registry: SchemaRegistryServer) -> None:
    client = ConfluentRegistry(registry.url, {"basic.auth.user.info": "river:wrong"})

    with pytest.raises(RegistryError, match="refused the credentials") as raised:
        client.check()
    assert "wrong" not in str(raised.value) + repr(client)
    assert pickle.loads(pickle.dumps(raised.value)).status == 401
    with pytest.raises(RegistryError, match="422 Invalid schema"):
        ConfluentRegistry(registry.url, AUTH).register("s", "no json")
    with pytest.raises(RegistryError, match="it did not answer"):
        ConfluentRegistry("http://127.0.0.1:1").check()
    with pytest.raises(ConfigError, match="expected one such as"):
        ConfluentRegistry("registry:8081")
    with pytest.raises(ConfigError, match="expected one such as") as two:
        ConfluentRegistry("http://me:hush@a:8081,http://b:8081")
    assert "hush" not in str(two.value)
    with pytest.raises(ConfigError, match="unknown settings"):
        ConfluentRegistry(registry.url, {"basic.auth.user": "x"})


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://river:r%75n@[::1]:8081/api/", "http://[::1]:8081/api"),
        ("https://river:r%75n@registry", "https://registry"),
    ],
)
def test_the_url_of_a_registry_may_have_credentials_which_do_not_show(url: str, shown: str) -> None:
    client = ConfluentRegistry(url)
    assert client.url == shown
    assert client._headers()["Authorization"] == f"Basic {b64encode(b'river:run').decode()}"


def test_times_without_a_zone_are_utc() -> None:
    schema = record(["at", "day", "hour"])
    row = Row(at=datetime(2024, 7, 1, 12), day=date(2024, 7, 1), hour=time(1, 2, 3))

    dicts = AvroDeserializationSchema(schema).deserialize(
        AvroSerializationSchema(schema).serialize(row)
    )

    assert dicts["at"].isoformat() == "2024-07-01T12:00:00+00:00"
