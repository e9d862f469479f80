"""Files of lines: text, JSON lines, or whatever a schema makes of a line."""

from __future__ import annotations

from typing import Any, Final

from riverrun.api.serialization import DeserializationSchema, SimpleStringSchema
from riverrun.connectors.base.message_decoder import MessageDecoder
from riverrun.connectors.base.split_reader import OpenSplit, SplitRun
from riverrun.connectors.files.source_formats import FileFormat, Opening
from riverrun.connectors.files.source_line_buffer import LineBuffer
from riverrun.connectors.files.source_splits import FileSplit
from riverrun.connectors.files.source_streams import check_compression, reads_in_place
from riverrun.connectors.formats.json_plain import JsonDeserializationSchema
from riverrun.connectors.formats.json_rows import JsonRowDeserializationSchema
from riverrun.serde.composite_types import RowTypeInfo
from riverrun.serde.type_info import TypeInformation

__all__ = ["LineFormat", "StreamFormat"]


class StreamFormat(FileFormat):
    """A format whose files are read record by record, forwards."""

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """A record for each line, without its end; the last line may lack one."""
        return LineFormat(SimpleStringSchema(charset_name), charset_name)

    @staticmethod
    def json_lines_format(type: Any = None) -> StreamFormat:  # noqa: A002  (a type is what it takes)
        """A record for each line of JSON; lines with nothing on them are passed over.

        Args:
            type: a row type gives rows; every other type is one of Python's, as
                ``JsonDeserializationSchema`` takes it; None: dicts, lists and so on.
        """
        if isinstance(type, RowTypeInfo):
            return LineFormat(JsonRowDeserializationSchema(type), skip_blank=True)
        return LineFormat(JsonDeserializationSchema(type), skip_blank=True)

    @staticmethod
    def lines_of(schema: DeserializationSchema, *, skip_blank: bool = True) -> StreamFormat:
        """What the schema makes of each line."""
        return LineFormat(schema, skip_blank=skip_blank)


class LineFormat(StreamFormat):
    """Records of lines.

    Args:
        schema: from the bytes of a line to a record.
        charset: in which the lines end; what is in them is the schema's matter.
        skip_blank: whether lines with nothing on them are no records.
    """

    def __init__(
        self, schema: DeserializationSchema, charset: str = "UTF-8", *, skip_blank: bool = False
    ) -> None:
        if not isinstance(schema, DeserializationSchema):
            raise TypeError(f"line format: got {schema!r}; expected a DeserializationSchema")
        self._schema = schema
        self._charset = charset
        self._skip_blank = skip_blank

    def is_splittable(self, location: str) -> bool:
        return reads_in_place(location, self._charset)

    def check(self, location: str) -> None:
        check_compression(location)

    def open_split(self, split: FileSplit, opening: Opening) -> OpenSplit[Any]:
        schema, charset = self._schema, self._charset
        is_text = type(schema) is SimpleStringSchema
        if is_text and not reads_in_place("", charset):
            schema = SimpleStringSchema()  # the lines are transcoded
        decoder = MessageDecoder(schema, opening.bad_records)
        decoder.open(opening.runtime)
        lines = LineBuffer(split, opening.store, charset)
        text = schema.charset if isinstance(schema, SimpleStringSchema) and is_text else None
        return _OpenLines(split, lines, decoder, text, skip_blank=self._skip_blank)

    def get_produced_type(self) -> TypeInformation | None:
        return self._schema.get_produced_type()


class _OpenLines(OpenSplit[Any]):
    def __init__(
        self,
        split: FileSplit,
        lines: LineBuffer,
        decoder: MessageDecoder,
        text: str | None,
        *,
        skip_blank: bool,
    ) -> None:
        self._split = split
        self._lines = lines
        self._decoder = decoder
        self._text = text
        self._skip_blank = skip_blank

    def read(self, limit: int) -> SplitRun:
        lines = self._lines
        if not lines.waiting():
            return SplitRun(finished=True)
        found = lines.peek(limit)
        run = self._decoded(found)
        lines.take(len(found))
        run.finished = lines.over and not lines.waiting()
        return run

    def split(self) -> FileSplit:
        return self._split.at(self._lines.offset, lines=self._lines.number)

    def close(self) -> None:
        self._lines.close()

    def _decoded(self, found: list[bytes]) -> SplitRun:
        if self._text is not None:
            values = _text_lines(found, self._text)
            if values is not None:
                return SplitRun(values)
        messages = without_returns(found)
        if self._skip_blank and not all(map(bytes.strip, messages)):
            return self._without_blank(messages)
        values, letters = self._decoder.decode(messages, self._lines.origin)
        return SplitRun(values, dead_letters=letters)

    def _without_blank(self, messages: list[bytes]) -> SplitRun:
        places = [place for place, message in enumerate(messages) if message.strip()]
        values, letters = self._decoder.decode(
            [messages[place] for place in places], lambda place: self._lines.origin(places[place])
        )
        return SplitRun(values, dead_letters=letters)


_RETURN: Final = b"\r"


def without_returns(lines: list[bytes]) -> list[bytes]:
    r"""Lines without the ``\r`` that some end with.

    >>> without_returns([b"a\r", b"b"])
    [b'a', b'b']
    """
    if not any(line.endswith(_RETURN) for line in lines):
        return lines
    return [line.removesuffix(_RETURN) for line in lines]


def _text_lines(lines: list[bytes], charset: str) -> list[str] | None:
    """The lines as text in one go; None if one of them is not in the charset."""
    joined = b"\n".join(lines)
    try:
        found = joined.decode(charset).split("\n")
    except UnicodeDecodeError:
        return None
    if len(found) != len(lines):
        return None
    return [line.removesuffix("\r") for line in found] if _RETURN in joined else found
