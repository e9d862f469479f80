"""Why a savepoint is not written as asked for."""

from __future__ import annotations

from riverrun.core.errors import ProgramError


class WriteRefused(ProgramError):  # noqa: N818
    """What was asked for makes no savepoint that a job could go on from."""


class RowRefused(ProgramError):  # noqa: N818
    """A row of the data cannot be an entry of the state."""

    def __init__(self, operator: str, state: str, row: int, column: str, reason: str) -> None:
        super().__init__(operator, state, row, column, reason)
        self.operator, self.state, self.row = operator, state, row
        self.column, self.reason = column, reason

    def __str__(self) -> str:
        return (
            f"operator {self.operator!r}: state {self.state!r}: row {self.row}, column "
            f"{self.column!r}: {self.reason}"
        )


class DuplicateKey(ProgramError):  # noqa: N818
    """Two rows have the same key where only one can."""

    def __init__(
        self, operator: str, state: str, key: str, rows: tuple[int, int], advice: str
    ) -> None:
        super().__init__(operator, state, key, rows, advice)
        self.operator, self.state, self.key = operator, state, key
        self.rows, self.advice = rows, advice

    def __str__(self) -> str:
        return (
            f"operator {self.operator!r}: state {self.state!r}: rows {self.rows[0]} and {self.rows[1]} "
            f"both have the key {self.key}, expected every key once; {self.advice}"
        )
