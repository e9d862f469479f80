"""A sink that prints on the client's standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from riverrun.api.sink import Sink, SinkWriter, SinkWriterContext
from riverrun.serde.flink_text import Text, text_of
from riverrun.serde.type_info import TypeInformation

__all__ = ["PrintSink"]


class PrintSink(Sink[Any]):
    """Prints each record as a line of the process that submitted the job.

    A line reads ``identifier:subtask> value``; the subtask, counted from 1, only when there are
    several, the identifier only when there is one. Values of a declared type read as in Flink, others
    as ``str`` has them.
    """

    def __init__(
        self, sink_identifier: str | None = None, type_info: TypeInformation | None = None
    ) -> None:
        self.sink_identifier = sink_identifier
        self.type_info = type_info

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        return _PrintWriter(self._prefix(context), text_of(self.type_info), context)

    def client_handler(self) -> Callable[[int, Sequence[Any]], None] | None:
        return print_lines

    def _prefix(self, context: SinkWriterContext) -> str:
        parts = [self.sink_identifier] if self.sink_identifier else []
        if context.parallelism > 1:
            parts.append(str(context.subtask_index + 1))
        return f"{':'.join(parts)}> " if parts else ""


def print_lines(subtask: int, lines: Sequence[Any]) -> None:
    """Print a run of lines in one piece, so that runs of several subtasks do not mix."""
    del subtask
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


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
