"""How many rows go to the database at once, how long they wait for it, and how often it is tried."""

from __future__ import annotations

from dataclasses import dataclass

from riverrun.core.errors import ProgramError

__all__ = ["JdbcExecutionOptions"]


@dataclass(frozen=True, slots=True)
class JdbcExecutionOptions:
    """Batches and tries; the defaults are Flink's."""

    batch_size: int = 5000
    batch_interval_ms: int = 0
    """How long a row waits at most; 0: until the batch is full or a checkpoint comes."""
    max_retries: int = 3

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ProgramError(
                f"JdbcExecutionOptions: the batch size is {self.batch_size}; expected 1 or more"
            )
        if self.batch_interval_ms < 0 or self.max_retries < 0:
            raise ProgramError(
                f"JdbcExecutionOptions: the interval is {self.batch_interval_ms} ms with "
                f"{self.max_retries} retries; expected no negative number"
            )

    class Builder:
        """Builds execution options, with PyFlink's names."""

        def __init__(self) -> None:
            self._options = JdbcExecutionOptions()

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """Write as soon as so many rows wait."""
            self._options = _replaced(self._options, size=size)
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Write at the latest when a row waits so long."""
            self._options = _replaced(self._options, interval_ms=interval_ms)
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Try so often again, later and later, before the job fails."""
            self._options = _replaced(self._options, max_retries=max_retries)
            return self

        def build(self) -> JdbcExecutionOptions:
            """The options."""
            return self._options

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """5000 rows, no interval, 3 retries."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """A builder with the defaults."""
        return JdbcExecutionOptions.Builder()

    def get_batch_interval_ms(self) -> int:
        """How long a row waits at most, 0 for no limit."""
        return self.batch_interval_ms

    def get_batch_size(self) -> int:
        """How many rows are written at once."""
        return self.batch_size

    def get_max_retries(self) -> int:
        """How often a batch is tried again."""
        return self.max_retries


def _replaced(
    old: JdbcExecutionOptions,
    size: int | None = None,
    interval_ms: int | None = None,
    max_retries: int | None = None,
) -> JdbcExecutionOptions:
    return JdbcExecutionOptions(
        old.batch_size if size is None else size,
        old.batch_interval_ms if interval_ms is None else interval_ms,
        old.max_retries if max_retries is None else max_retries,
    )
