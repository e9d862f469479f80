"""CSV files as rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.api.bad_records import BadRecords, DeadLetter
from riverrun.connectors.base.message_decoder import BadMessage
from riverrun.connectors.files import source_streams
from riverrun.connectors.files.source_builder import FileSource
from riverrun.connectors.files.source_csv import CsvReaderFormat
from riverrun.connectors.files.source_formats import FileUnreadable
from riverrun.connectors.formats.csv_schema import CsvSchema, CsvSchemaBuilder
from riverrun.serde.row import Row
from riverrun.testing.conformance.source_run import SourceRun
from riverrun.testing.conformance.sources import check_source
from tests.unit.connectors.files.test_source_lines import read_all


def columns() -> CsvSchemaBuilder:
    return CsvSchema.builder().add_number_column("id").add_string_column("name")


def csv_of(path: Path, schema: CsvSchema, split_size: int = 1 << 20, **options: Any) -> FileSource:
    reads = CsvReaderFormat.for_schema(schema, **options)
    builder = FileSource.for_record_stream_format(reads, str(path))
    return builder.set_split_size(split_size).build()


def read(path: Path, content: str, schema: CsvSchema, bad: BadRecords = BadRecords.FAIL) -> Any:
    (path / "in.csv").write_text(content)
    reads = CsvReaderFormat.for_schema(schema)
    source = FileSource.for_record_stream_format(reads, str(path)).set_bad_records(bad).build()
    return read_all(source)


@given(st.data())
def test_every_record_is_read_once(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    quotes = data.draw(st.booleans())
    text = st.text(st.sampled_from('ab,"\n é' if quotes else "ab é"), max_size=6)
    rows = data.draw(st.lists(st.tuples(st.integers(0, 99), text), max_size=12))
    schema = columns()
    file = io.StringIO(newline="")
    if quotes:
        csv.writer(file, lineterminator=data.draw(st.sampled_from(["\n", "\r\n"]))).writerows(rows)
    else:
        schema.disable_quote_char()
        file.write("".join(f"{number},{name}\n" for number, name in rows))
    (folder / "in.csv").write_text(file.getvalue(), newline="")
    built, split_size = schema.build(), data.draw(st.integers(1, 60))

    with patch.object(source_streams, "_CHUNK", data.draw(st.integers(1, 40))):
        check_source(
            lambda: csv_of(folder, built, split_size),
            [Row(id=number, name=name) for number, name in rows],
            seeds=[data.draw(st.integers(0, 1000))],
        )


def test_the_first_line_may_name_the_columns(tmp_path: Path) -> None:
    schema = columns().set_use_header().build()
    content = "\ufeffname,more,id\n" + "".join(f"n{number},x,{number}\n" for number in range(50))
    (tmp_path / "in.csv").write_text(content)
    expected = [Row(id=number, name=f"n{number}") for number in range(50)]

    check_source(
        lambda: csv_of(tmp_path, schema, 40, one_line_a_record=True), expected, seeds=range(5)
    )


@pytest.mark.parametrize("header", ["", "id\n", "name,id\n", '"id,name\n', '"i"d,name\n'])
def test_a_header_that_lacks_columns_is_refused(tmp_path: Path, header: str) -> None:
    schema = columns().set_use_header().set_strict_headers().build()

    with pytest.raises(FileUnreadable, match=r"in.csv': the first line names"):
        read(tmp_path, header + "1,a\n", schema)


def test_lines_may_be_passed_over(tmp_path: Path) -> None:
    schema = columns().set_allow_comments().set_skip_first_data_row().set_null_value("-").build()

    values, _ = read(tmp_path, "# about\n\n0,first\n# more\n1,-\r\n\n2,b", schema)

    assert values == [Row(id=1, name=None), Row(id=2, name="b")]


BAD = '1,a\nx,b\n2,"c\nd"\n3,"e"f\n4\n5,"open\n6,g\n'


def test_a_bad_record_fails_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(BadMessage, match=r"in.csv', line 2, byte 4: .*field 'id' is 'x'"):
        read(tmp_path, BAD, columns().build())


def test_bad_records_are_skipped_or_become_dead_letters(tmp_path: Path) -> None:
    good = [Row(id=1, name="a"), Row(id=2, name="c\nd"), Row(id=6, name="g")]

    assert read(tmp_path, BAD, columns().build(), BadRecords.SKIP) == (good, [])
    values, letters = read(tmp_path, BAD, columns().build(), BadRecords.DEAD_LETTER)

    assert values == good
    assert all(isinstance(letter, DeadLetter) for letter in letters)
    assert [letter.payload for letter in letters] == [b"x,b", b'3,"e"f', b"4", b'5,"open']
    assert "a quote is not closed" in letters[-1].reason


def test_fields_that_cannot_be_read_may_be_none(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("x,a\n2,b\n")

    source = csv_of(tmp_path, columns().build(), ignore_parse_errors=True)

    assert read_all(source)[0] == [Row(id=None, name="a"), Row(id=2, name="b")]


def test_a_file_of_bad_lines_is_read_in_runs_too(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("x,a\n" * 50)
    reads = CsvReaderFormat.for_schema(columns().build())
    builder = FileSource.for_record_stream_format(reads, str(tmp_path))
    run = SourceRun(builder.set_bad_records(BadRecords.DEAD_LETTER).build(), 1)
    found = []
    while not run.is_over:
        run.pass_messages()
        found.append(len(run.poll(0, 20).dead_letters))
    run.close()
    assert [count for count in found if count] == [20, 20, 10]


def test_a_quote_that_is_not_closed_in_a_line_to_pass_over_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match=r"in.csv': its first lines: csv: a quote is not"):
        read(tmp_path, '1,"open\n', columns().set_skip_first_data_row().build())
