"""A sink that forgets."""

from __future__ import annotations

from typing import Any, ClassVar

from riverrun.api.sink import Sink, SinkWriter, SinkWriterContext

__all__ = ["BlackHoleSink", "DiscardingSink"]


class DiscardingSink(Sink[Any]):
    """Takes every record and does nothing with it."""

    takes_columns: ClassVar[bool] = True

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[Any]:
        del context
        return _DiscardingWriter()


class BlackHoleSink(DiscardingSink):
    """The same by the name that Flink's tables have for it: for measuring what comes before."""


class _DiscardingWriter(SinkWriter[Any]):
    def write(self, value: Any, timestamp: int | None) -> None:
        pass

    def write_run(self, values: list[Any], timestamps: list[int] | None) -> None:
        pass
