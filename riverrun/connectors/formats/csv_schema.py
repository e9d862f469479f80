"""What the columns of a CSV file are, by PyFlink's names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from riverrun.connectors.formats.csv_dialect import CsvDialect
from riverrun.connectors.formats.csv_input import parser_of
from riverrun.serde.composite_types import RowTypeInfo
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types

__all__ = ["CsvSchema", "CsvSchemaBuilder"]


@dataclass(frozen=True)
class CsvSchema:
    """The columns of a file and how they are written; made with ``CsvSchema.builder()``."""

    row_type: RowTypeInfo
    dialect: CsvDialect = field(default_factory=CsvDialect)
    use_header: bool = False
    """Whether the first line names the columns: columns are then found by name."""
    strict_headers: bool = False
    """Whether the names in the first line must be those of the schema, in its order."""
    skip_first_data_row: bool = False

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """A builder without columns."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """How many columns there are."""
        return len(self.row_type.field_types)

    def __len__(self) -> int:
        return self.size()

    def __str__(self) -> str:
        columns = zip(self.row_type.get_field_names(), self.row_type.field_types, strict=True)
        return f"CsvSchema({', '.join(f'{name}: {kind!r}' for name, kind in columns)})"

    __repr__ = __str__


class CsvSchemaBuilder:
    """What PyFlink's builder takes; types are those of ``Types``.

    >>> CsvSchema.builder().add_number_column("id").add_string_column("name").build()
    CsvSchema(id: Types.LONG(), name: Types.STRING())
    """

    def __init__(self) -> None:
        self._columns: list[tuple[str, TypeInformation]] = []
        self._dialect = CsvDialect()
        self._flags: dict[str, bool] = {}

    def add_array_column(
        self, name: str, separator: str = ";", element_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """A column of lists, of text unless a type is given.

        All array columns of a schema have the same separator.
        """
        self._dialect = replace(self._dialect, array_delimiter=separator)
        element = Types.STRING() if element_type is None else element_type
        return self.add_column(name, Types.LIST(element))

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """A column of ``true`` and ``false``."""
        return self.add_column(name, Types.BOOLEAN())

    def add_number_column(
        self, name: str, number_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """A column of numbers; whole ones of 64 bits unless a type is given."""
        return self.add_column(name, Types.LONG() if number_type is None else number_type)

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """A column of text."""
        return self.add_column(name, Types.STRING())

    def add_column(self, name: str, type_info: TypeInformation) -> CsvSchemaBuilder:
        """A column of any type that has a form in CSV."""
        parser_of(type_info, self._dialect, name)
        self._columns.append((name, type_info))
        return self

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """The columns of another schema, after those that are there."""
        names, types = schema.row_type.get_field_names(), schema.row_type.field_types
        self._columns.extend(zip(names, types, strict=True))
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Forget the columns."""
        self._columns.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:  # noqa: FBT001, FBT002
        """Whether lines that begin with # are passed over."""
        return self._set(comments=allow)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Refuse: every column of riverrun's rows has a name of its own."""
        raise NotImplementedError(
            f"csv schema: any property {name!r}: rows have no place for further columns; add the "
            f"columns by name"
        )

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Arrays have one element then."""
        return self._set(array_delimiter="\0")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Make the column at ``index`` one of text."""
        name, _ = self._columns[index]
        self._columns[index] = (name, Types.STRING())
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """What stands between the elements of an array."""
        return self._set(array_delimiter=separator)

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """The character between columns."""
        return self._set(delimiter=char)

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """No character is special inside of quotes but the quote."""
        return self._set(escape=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """The character before one that is meant as it stands."""
        return self._set(escape=char)

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """What a writer ends lines with; readers take every kind."""
        return self._set(line_end=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """The text that means None."""
        return self._set(null=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Quotes are characters like all others; large files can then be read in parts."""
        return self._set(quote=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """The character around fields."""
        return self._set(quote=char)

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:  # noqa: FBT001, FBT002
        """Whether the first line that is no header is passed over."""
        self._flags["skip_first_data_row"] = skip
        return self

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:  # noqa: FBT001, FBT002
        """Whether the header must have the names of the columns, in their order."""
        self._flags["strict_headers"] = strict
        return self

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:  # noqa: FBT001, FBT002
        """Whether the first line names the columns."""
        self._flags["use_header"] = use
        return self

    def size(self) -> int:
        """How many columns there are."""
        return len(self._columns)

    def __len__(self) -> int:
        return self.size()

    def build(self) -> CsvSchema:
        """The schema; ValueError if it has no columns."""
        if not self._columns:
            raise ValueError("csv schema: it has no columns; add some before it is built")
        names = [name for name, _ in self._columns]
        row_type = Types.ROW_NAMED(names, [kind for _, kind in self._columns])
        return CsvSchema(row_type, self._dialect, **self._flags)

    def _set(self, **changes: Any) -> CsvSchemaBuilder:
        self._dialect = replace(self._dialect, **changes)
        return self
