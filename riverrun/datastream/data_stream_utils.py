"""Special ways with streams, as Flink's DataStreamUtils."""

from __future__ import annotations

from riverrun.api.functions import KeySelector
from riverrun.api.resolve import Callable1, key_callable
from riverrun.core.errors import ProgramError
from riverrun.datastream.data_stream import DataStream, KeyedStream
from riverrun.datastream.output_types import output_type_of
from riverrun.graph.partitioning import Forward
from riverrun.graph.reinterpreted_key import ReinterpretedKey
from riverrun.graph.transformations import PartitionTransformation
from riverrun.serde.type_info import TypeInformation

__all__ = ["DataStreamUtils", "reinterpret_as_keyed_stream"]


class _ReinterpretedStream(KeyedStream):
    """A keyed stream without an exchange."""

    def __init__(
        self, origin: DataStream, key_selector: Callable1, key_type: TypeInformation | None
    ) -> None:
        super().__init__(origin, ReinterpretedKey(key_selector), key_type)
        self._upstream = PartitionTransformation(origin._upstream, Forward())  # noqa: SLF001


def reinterpret_as_keyed_stream(
    stream: DataStream,
    key_selector: KeySelector | Callable1,
    key_type: TypeInformation | None = None,
) -> KeyedStream:
    """``stream`` by key, without an exchange of records: it is partitioned by that key already.

    That is so for the results of an operator on a keyed stream that still have the same key, as long as
    the parallelism and the max parallelism stay the same. A record that is in the wrong subtask ends the
    job with an error that names the key. Experimental, as in Flink.
    """
    if not isinstance(stream, DataStream):
        raise TypeError(f"reinterpret_as_keyed_stream: got {stream!r}; expected a DataStream")
    if isinstance(stream, KeyedStream):
        raise ProgramError(
            "reinterpret_as_keyed_stream: the stream is keyed; call it on the results of an operator"
        )
    bare = key_callable(key_selector)
    key_type = output_type_of("reinterpret_as_keyed_stream", key_type, bare)
    return _ReinterpretedStream(stream, bare, key_type)


class DataStreamUtils:
    """The functions of this module under Flink's name."""

    reinterpret_as_keyed_stream = staticmethod(reinterpret_as_keyed_stream)
