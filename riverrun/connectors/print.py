"""A sink that prints on the client's standard output, or its standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from riverrun.api.sink import Sink, SinkWriter, SinkWriterContext
from riverrun.serde.flink_text import Text, text_of
from riverrun.serde.type_info import TypeInformation

__all__ = ["PrintSink"]


class PrintSink(Sink[Any]):
    """Prints each record as a line of the process that submitted the job.

    A line reads ``identifier:subtask> value``; the subtask, counted from 1, only when there are
    several, the identifier only when there is one. Values of a declared type read as in Flink, others
    as ``str`` has them.

    Args:
        sink_identifier: what lines begin with.
        type_info: the type of the records, if it was declared.
        std_err: whether to print on the standard error instead of the standard output.
    """

    def __init__(
        self,
        sink_identifier: str | None = None,
        type_info: TypeInformation | None = None,
        *,
        std_err: bool = False,
    ) -> None:
        self.sink_identifier = sink_identifier
        self.type_info = type_info
        self.std_err = std_err

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        return _PrintWriter(self._prefix(context), text_of(self.type_info), context)

    def client_handler(self) -> Callable[[int, Sequence[Any]], None] | None:
        return print_error_lines if self.std_err else print_lines

    def _prefix(self, context: SinkWriterContext) -> str:
        parts = [self.sink_identifier] if self.sink_identifier else []
        if context.parallelism > 1:
            parts.append(str(context.subtask_index + 1))
        return f"{':'.join(parts)}> " if parts else ""


def print_lines(subtask: int, lines: Sequence[Any]) -> None:
    """Print a run of lines in one piece, so that runs of several subtasks do not mix."""
    del subtask
    _print(sys.stdout, lines)


def print_error_lines(subtask: int, lines: Sequence[Any]) -> None:
    """The same, on the standard error."""
    del subtask
    _print(sys.stderr, lines)


def _print(stream: TextIO, lines: Sequence[Any]) -> None:
    stream.write("".join(f"{line}\n" for line in lines))
    stream.flush()


class _PrintWriter(SinkWriter[Any]):
    def __init__(self, prefix: str, text: Text, context: SinkWriterContext) -> None:
        self._prefix = prefix
        self._text = text
        self._to_client = context.to_client

    def write(self, value: Any, timestamp: int | None) -> None:
        del timestamp
        self._to_client.send([f"{self._prefix}{self._text(value)}"])

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        del timestamps
        prefix, text = self._prefix, self._text
        self._to_client.send([f"{prefix}{text(value)}" for value in values])
