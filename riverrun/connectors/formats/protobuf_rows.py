"""Between protobuf messages and rows, by the message's own description."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from riverrun.core.errors import ProgramError
from riverrun.serde.composite_types import RowTypeInfo
from riverrun.serde.row import Row
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

Convert = Callable[[Any], Any]


def row_type_of_protobuf(descriptor: Any, above: tuple[str, ...] = ()) -> RowTypeInfo:
    """The type of rows that stand for messages: enums are text, unsigned numbers one size larger.

    Raises:
        ProgramError: a message is inside of itself, which rows cannot be.
    """
    name = descriptor.full_name
    if name in above:
        raise ProgramError(
            f"protobuf: the message {name!r} is inside of itself, which rows cannot be; take the "
            f"messages as they are"
        )
    fields = descriptor.fields
    return Types.ROW_NAMED(
        [field.name for field in fields], [_field_type(field, (*above, name)) for field in fields]
    )


def row_maker(descriptor: Any) -> Callable[[Any], Row]:
    """What makes a row of a message; a field that may be absent and is, is None."""
    names = tuple(field.name for field in descriptor.fields)
    takers = [_taker(field) for field in descriptor.fields]

    def row(message: Any) -> Row:
        made = Row(*[take(message) for take in takers])
        made.set_field_names(names)
        return made

    return row


def message_maker(descriptor: Any, new: Callable[[], Any]) -> Callable[[Any], Any]:
    """What makes a message of a row or a dict; None leaves a field as it is."""
    setters = [(field.name, _setter(field)) for field in descriptor.fields]
    names = [field.name for field in descriptor.fields]

    def fill(message: Any, value: Any) -> None:
        found = (
            dict(zip(names, value.get_fields_by_names(names), strict=True))
            if isinstance(value, Row)
            else value
        )
        unknown = set(found) - set(names)
        if unknown:
            raise ValueError(f"there are no fields {sorted(unknown)}")
        for name, put in setters:
            inner = found.get(name)
            if inner is not None:
                put(message, inner)

    def message(value: Any) -> Any:
        made = new()
        fill(made, value)
        return made

    return message


def _is_map(field: Any) -> bool:
    kind = field.message_type
    return kind is not None and bool(kind.GetOptions().map_entry)


def _field_type(field: Any, above: tuple[str, ...]) -> TypeInformation:
    if _is_map(field):
        parts = field.message_type.fields_by_name
        return Types.MAP(
            _single_type(parts["key"], above),
            _single_type(parts["value"], above),
        )
    single = _single_type(field, above)
    return Types.LIST(single) if field.is_repeated else single


def _single_type(field: Any, above: tuple[str, ...]) -> TypeInformation:
    if field.message_type is not None:
        return row_type_of_protobuf(field.message_type, above)
    make = _TYPES.get(field.type)
    if make is None:
        raise ProgramError(
            f"protobuf: the field {field.full_name!r} has a type that rows cannot have"
        )
    return make()


def _value_reader(field: Any) -> Convert | None:
    if field.message_type is not None:
        return row_maker(field.message_type)
    if field.enum_type is not None:
        names = {value.number: value.name for value in field.enum_type.values}
        return lambda number: names.get(number, str(number))
    return None


def _taker(field: Any) -> Convert:
    name = field.name
    if _is_map(field):
        of_value = _value_reader(field.message_type.fields_by_name["value"]) or _itself
        return lambda message: {k: of_value(v) for k, v in getattr(message, name).items()}
    read = _value_reader(field) or _itself
    if field.is_repeated:
        return lambda message: [read(each) for each in getattr(message, name)]
    if field.has_presence:
        return lambda message: read(getattr(message, name)) if message.HasField(name) else None
    return lambda message: read(getattr(message, name))


def _itself(value: Any) -> Any:
    return value


def _value_writer(field: Any) -> Convert:
    if field.message_type is not None:
        return message_maker(field.message_type, field.message_type._concrete_class)  # noqa: SLF001
    if field.enum_type is not None:
        numbers = {value.name: value.number for value in field.enum_type.values}
        return lambda value: numbers[value] if value in numbers else int(value)
    return _itself


def _setter(field: Any) -> Callable[[Any, Any], None]:
    name = field.name
    if _is_map(field):
        inner = field.message_type.fields_by_name["value"]
        convert, nested = _value_writer(inner), inner.message_type is not None

        def put_map(message: Any, value: Any) -> None:
            target = getattr(message, name)
            for key, each in value.items():
                if nested:
                    target[key].CopyFrom(convert(each))
                else:
                    target[key] = convert(each)

        return put_map
    convert = _value_writer(field)
    if field.is_repeated:
        return lambda message, value: getattr(message, name).extend(map(convert, value))
    if field.message_type is not None:
        return lambda message, value: getattr(message, name).CopyFrom(convert(value))
    return lambda message, value: setattr(message, name, convert(value))


def _byte_array() -> TypeInformation:
    return Types.PRIMITIVE_ARRAY(Types.BYTE())


_TYPES: Final[dict[int, Callable[[], TypeInformation]]] = {
    1: Types.DOUBLE,
    2: Types.FLOAT,
    3: Types.LONG,  # int64
    4: Types.BIG_INT,  # uint64
    5: Types.INT,  # int32
    6: Types.BIG_INT,  # fixed64
    7: Types.LONG,  # fixed32
    8: Types.BOOLEAN,
    9: Types.STRING,
    12: _byte_array,
    13: Types.LONG,  # uint32
    14: Types.STRING,  # an enum
    15: Types.INT,  # sfixed32
    16: Types.LONG,  # sfixed64
    17: Types.INT,  # sint32
    18: Types.LONG,  # sint64
}
"""By the numbers of protobuf's own description of types."""
