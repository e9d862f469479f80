"""Protobuf messages and rows."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from riverrun.connectors.formats.errors import FormatError
from riverrun.connectors.formats.protobuf import (
    ProtobufDeserializationSchema,
    ProtobufSerializationSchema,
)
from riverrun.core.errors import ProgramError
from riverrun.serde.row import Row
from riverrun.serde.types import Types

_KINDS = descriptor_pb2.FieldDescriptorProto


def _field(
    message: Any,
    name: str,
    kind: int,
    *,
    of: str = "",
    repeated: bool = False,
    optional: bool = False,
) -> None:
    field = message.field.add(
        name=name,
        number=len(message.field) + 1,
        type=kind,
        label=_KINDS.LABEL_REPEATED if repeated else _KINDS.LABEL_OPTIONAL,
    )
    if of:
        field.type_name = of
    if optional:
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")


def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    color = file.enum_type.add(name="Color")
    color.value.add(name="RED", number=0)
    color.value.add(name="BLUE", number=1)
    item = file.message_type.add(name="Item")
    _field(item, "name", _KINDS.TYPE_STRING)
    _field(item, "count", _KINDS.TYPE_UINT32)
    order = file.message_type.add(name="Order")
    _field(order, "id", _KINDS.TYPE_INT64)
    _field(order, "note", _KINDS.TYPE_STRING, optional=True)
    _field(order, "price", _KINDS.TYPE_DOUBLE)
    _field(order, "raw", _KINDS.TYPE_BYTES)
    _field(order, "color", _KINDS.TYPE_ENUM, of=".shop.Color")
    _field(order, "first", _KINDS.TYPE_MESSAGE, of=".shop.Item")
    _field(order, "items", _KINDS.TYPE_MESSAGE, of=".shop.Item", repeated=True)
    _field(order, "sizes", _KINDS.TYPE_SINT32, repeated=True)
    entry = order.nested_type.add(name="ByNameEntry")
    entry.options.map_entry = True
    _field(entry, "key", _KINDS.TYPE_STRING)
    _field(entry, "value", _KINDS.TYPE_MESSAGE, of=".shop.Item")
    _field(order, "by_name", _KINDS.TYPE_MESSAGE, of=".shop.Order.ByNameEntry", repeated=True)
    node = file.message_type.add(name="Node")
    _field(node, "next", _KINDS.TYPE_MESSAGE, of=".shop.Node")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"shop.{name}"))
        for name in ("Order", "Item", "Node")
    }


CLASSES = _classes()
ORDER = CLASSES["Order"]
ITEM = Types.ROW_NAMED(["name", "count"], [Types.STRING(), Types.LONG()])
_text = st.text(st.characters(codec="utf-8"), max_size=5)
_item = st.builds(lambda name, count: Row(name=name, count=count), _text, st.integers(0, 2**32 - 1))
_row = st.builds(
    lambda *values: Row(
        **dict(
            zip(
                ["id", "note", "price", "raw", "color", "first", "items", "sizes", "by_name"],
                values,
                strict=True,
            )
        )
    ),
    st.integers(-(2**63), 2**63 - 1),
    st.none() | _text,
    st.floats(allow_nan=False),
    st.binary(max_size=5),
    st.sampled_from(["RED", "BLUE"]),
    st.none() | _item,
    st.lists(_item, max_size=2),
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=2),
    st.dictionaries(_text, _item, max_size=2),
)


@given(st.lists(_row, max_size=3))
def test_rows_become_messages_and_come_back(rows: list[Row]) -> None:
    write = pickle.loads(pickle.dumps(ProtobufSerializationSchema(ORDER)))
    read = pickle.loads(pickle.dumps(ProtobufDeserializationSchema(ORDER, as_rows=True)))

    assert read.deserialize_run(write.serialize_run(rows)) == rows


def test_the_type_of_the_rows_is_that_of_the_message() -> None:
    produced = ProtobufDeserializationSchema(ORDER, as_rows=True).get_produced_type()

    assert produced == Types.ROW_NAMED(
        ["id", "note", "price", "raw", "color", "first", "items", "sizes", "by_name"],
        [
            Types.LONG(),
            Types.STRING(),
            Types.DOUBLE(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.STRING(),
            ITEM,
            Types.LIST(ITEM),
            Types.LIST(Types.INT()),
            Types.MAP(Types.STRING(), ITEM),
        ],
    )


def test_messages_may_stay_messages() -> None:
    order = ORDER(id=7, note="x")
    message = ProtobufSerializationSchema().serialize(order)

    assert ProtobufDeserializationSchema(ORDER).deserialize_run([message]) == [order]


def test_bytes_that_are_no_message_are_refused_or_ignored() -> None:
    with pytest.raises(FormatError, match=r"protobuf: the bytes are no 'shop.Order'"):
        ProtobufDeserializationSchema(ORDER).deserialize_run([b"\xff"])

    ignoring = ProtobufDeserializationSchema(ORDER, ignore_parse_errors=True)
    assert ignoring.deserialize_run([b"\xff", b""]) == [None, ORDER()]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(FormatError, match=r"there are no fields \['other'\]"):
        ProtobufSerializationSchema(ORDER).serialize({"other": 1})
    with pytest.raises(FormatError, match="expected a message, or give the schema its class"):
        ProtobufSerializationSchema().serialize({"id": 1})
    with pytest.raises(TypeError, match="expected a class that protoc generated"):
        ProtobufDeserializationSchema(dict)
    with pytest.raises(ProgramError, match="is inside of itself"):
        ProtobufDeserializationSchema(CLASSES["Node"], as_rows=True)
