"""CSV files as rows, by PyFlink's names."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import Any, Final

from riverrun.api.bad_records import BadRecords, DeadLetter
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.base.split_reader import OpenSplit, SplitRun
from riverrun.connectors.files.source_formats import FileUnreadable, Opening
from riverrun.connectors.files.source_line_buffer import LineBuffer
from riverrun.connectors.files.source_lines import StreamFormat, without_returns
from riverrun.connectors.files.source_splits import FileSplit
from riverrun.connectors.files.source_streams import check_compression, reads_in_place
from riverrun.connectors.formats.csv_dialect import CsvDialect, together
from riverrun.connectors.formats.csv_input import CsvRows
from riverrun.connectors.formats.csv_schema import CsvSchema
from riverrun.connectors.formats.errors import FormatError
from riverrun.serde.row import Row
from riverrun.serde.type_info import TypeInformation

__all__ = ["CsvReaderFormat"]


class CsvReaderFormat(StreamFormat):
    """Rows of CSV files; made with ``for_schema``."""

    def __init__(
        self, schema: CsvSchema, *, ignore_parse_errors: bool, one_line_a_record: bool
    ) -> None:
        if not isinstance(schema, CsvSchema):
            raise TypeError(f"csv reader format: got {schema!r}; expected a CsvSchema")
        self._schema = schema
        self._ignore = ignore_parse_errors
        self._one_line = one_line_a_record or schema.dialect.quote is None

    @staticmethod
    def for_schema(
        schema: CsvSchema, *, ignore_parse_errors: bool = False, one_line_a_record: bool = False
    ) -> CsvReaderFormat:
        """A format for files with the columns of ``schema``.

        Args:
            schema: the columns.
            ignore_parse_errors: whether a field that cannot be read is None, instead of an error.
            one_line_a_record: whether no field has a line end in it, even in quotes. Several readers
                can then read ranges of a large file; without quotes that is so anyway.
        """
        return CsvReaderFormat(
            schema, ignore_parse_errors=ignore_parse_errors, one_line_a_record=one_line_a_record
        )

    def is_splittable(self, location: str) -> bool:
        return self._one_line and reads_in_place(location, "UTF-8")

    def check(self, location: str) -> None:
        check_compression(location)

    def open_split(self, split: FileSplit, opening: Opening) -> OpenSplit[Any]:
        rows = CsvRows(self._schema.row_type, self._schema.dialect, ignore=self._ignore)
        order = _header_order(self._schema, split, opening) if self._schema.use_header else None
        lines = LineBuffer(split, opening.store)
        try:
            return _OpenCsv(split, lines, self._schema, rows, order, opening)
        except FormatError as error:
            lines.close()
            raise FileUnreadable(split.location, f"its first lines: {error}") from error

    def get_produced_type(self) -> TypeInformation:
        return self._schema.row_type


class _OpenCsv(OpenSplit[Any]):
    def __init__(
        self,
        split: FileSplit,
        lines: LineBuffer,
        schema: CsvSchema,
        rows: CsvRows,
        order: list[int] | None,
        opening: Opening,
    ) -> None:
        self._split = split
        self._lines = lines
        self._dialect = schema.dialect
        self._rows = rows
        self._order = order
        self._policy = opening.bad_records
        self._bad = opening.runtime.get_metrics_group().counter("numBadRecords")
        if split.offset is None and split.start == 0:
            for _ in range(int(schema.use_header) + int(schema.skip_first_data_row)):
                self._pass_over_one()

    def read(self, limit: int) -> SplitRun:
        lines = self._lines
        if not lines.waiting():
            return SplitRun(finished=True)
        run = self._at_once(limit)
        if run is None:
            run = self._record_by_record(limit)
        run.finished = lines.over and not lines.waiting()
        return run

    def split(self) -> FileSplit:
        return self._split.at(self._lines.offset, lines=self._lines.number)

    def close(self) -> None:
        self._lines.close()

    def _at_once(self, limit: int) -> SplitRun | None:
        """The records of lines that are all as they should be, one each."""
        found = without_returns(self._lines.peek(limit))
        try:
            texts = b"\n".join(found).decode().split("\n")
        except UnicodeDecodeError:
            return None
        if not all(texts):
            return None
        fields = together(self._dialect, texts)
        rows = None if fields is None else self._rows.rows(self._ordered(fields))
        if rows is None:
            return None
        self._lines.take(len(found))
        return SplitRun(list(rows))

    def _record_by_record(self, limit: int) -> SplitRun:
        values: list[Row] = []
        letters: list[DeadLetter] = []
        for _ in range(limit):  # of lines, not of records: none may be one
            if not self._lines.waiting():
                break
            if self._is_nothing():
                self._lines.take(1)
                continue
            try:
                fields, used = self._next_record()
                values.append(self._rows.row(self._ordered([fields])[0]))
            except FormatError as error:
                self._refuse(str(error), letters)
                used = 1
            self._lines.take(used)
        return SplitRun(values, dead_letters=letters)

    def _next_record(self) -> tuple[list[str], int]:
        """The fields of the next record, and how many lines it has."""
        wanted = 1
        while True:
            while self._lines.waiting() < wanted and not self._lines.over:
                self._lines.more()
            lines = self._lines.peek(wanted)
            found = _first_record(self._dialect, lines)
            if found is not None:
                return found
            if len(lines) < wanted or wanted >= _LONGEST:
                raise FormatError(
                    f"csv: a quote is not closed within {len(lines)} lines; expected its end"
                )
            wanted *= 2

    def _is_nothing(self) -> bool:
        line = self._lines.peek(1)[0].strip()
        return not line or (self._dialect.comments and line.startswith(b"#"))

    def _refuse(self, reason: str, letters: list[DeadLetter]) -> None:
        origin = self._lines.origin(0)
        if self._policy is BadRecords.FAIL:
            raise BadMessage(origin, reason)
        self._bad.inc()
        if self._policy is BadRecords.DEAD_LETTER:
            letters.append(DeadLetter(origin, reason, self._lines.peek(1)[0]))

    def _pass_over_one(self) -> None:
        while self._lines.waiting() and self._is_nothing():
            self._lines.take(1)
        if self._lines.waiting():
            self._lines.take(self._next_record()[1])

    def _ordered(self, fields: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
        order = self._order
        if order is None:
            return fields
        if all(len(each) > max(order) for each in fields):
            return [[each[place] for place in order] for each in fields]
        return [each if len(each) <= max(order) else [each[p] for p in order] for each in fields]


_LONGEST: Final = 1 << 20


def _texts(lines: Sequence[bytes]) -> list[str]:
    try:
        return [line.decode() for line in lines]
    except UnicodeDecodeError as error:
        raise FormatError(f"csv: the line is not UTF-8: {error}") from error


def _first_record(dialect: CsvDialect, lines: Sequence[bytes]) -> tuple[list[str], int] | None:
    """The first record of the lines and how many of them it has; None while a quote is open."""
    reader = dialect.reader([f"{line}\n" for line in _texts(lines)])
    try:
        fields: list[str] = next(reader)
    except csv.Error as error:
        if "unexpected end" in str(error):
            return None
        raise FormatError(f"csv: {error}") from error
    return fields, int(reader.line_num)


def _header_order(schema: CsvSchema, split: FileSplit, opening: Opening) -> list[int]:
    """At which place of a line each column of the schema is, as the file's first line says."""
    first = FileSplit(split.location, 0, split.end)
    lines = LineBuffer(first, opening.store)
    try:
        while lines.waiting() and not lines.peek(1)[0].strip():
            lines.take(1)
        found = _first_record(schema.dialect, lines.peek(1)) if lines.waiting() else None
    except FormatError as error:
        raise FileUnreadable(split.location, f"the first line names no columns: {error}") from error
    finally:
        lines.close()
    names = [name.removeprefix("\ufeff").strip() for name in found[0]] if found else []
    wanted = schema.row_type.get_field_names()
    missing = [name for name in wanted if name not in names]
    if missing or (schema.strict_headers and names != wanted):
        raise FileUnreadable(
            split.location, f"the first line names the columns {names}; expected {wanted}"
        )
    return [names.index(name) for name in wanted]
