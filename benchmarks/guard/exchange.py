"""One edge of a job in this process: runs in, frames out, and back."""

import random
from collections.abc import Callable
from typing import Any, Final

from riverrun.core.ids import EdgeId
from riverrun.graph.deployment import OutEdge
from riverrun.graph.partitioning import Forward, Hash, Partitioning
from riverrun.protocol.elements import Records
from riverrun.protocol.frames import decode_elements
from riverrun.runtime.buffers import Producer
from riverrun.runtime.output import EdgeOutput, Outbox
from riverrun.serde.runs import decode_run
from riverrun.serde.type_info import TypeInformation

_MAX_PARALLELISM: Final = 128
_FRAME_BYTES: Final = 256 << 10


class Exchange:
    """Sends runs to ``consumers`` subtasks, by key if it is given a selector of one.

    With ``columns`` those who receive take runs of columns as they are.
    """

    def __init__(
        self,
        type_info: TypeInformation | None,
        *,
        key: Callable[[Any], Any] | None = None,
        consumers: int = 1,
        columns: bool = False,
    ) -> None:
        partitioning: Partitioning = Forward() if key is None else Hash(key)
        subtasks = tuple(range(consumers))
        edge = OutEdge(
            edge=EdgeId(0),
            operator=0,
            tag=None,
            partitioning=partitioning,
            consumers=subtasks,
            consumer_parallelism=consumers,
            max_parallelism=_MAX_PARALLELISM,
            targets={subtask: subtask for subtask in subtasks},
            type_info=type_info,
        )
        self._type_info = type_info
        self._columns = columns
        self._outbox = Outbox()
        self._output = EdgeOutput(
            edge,
            producer=Producer("source", subtask=0, attempt=0),
            frame_bytes=_FRAME_BYTES,
            outbox=self._outbox,
            rng=random.Random(0),
        )

    def send(self, runs: list[list[Any]]) -> list[bytes | memoryview]:
        """The frames of these runs."""
        for run in runs:
            self._output.emit(run, None)
        self._output.flush()
        return [frame for _, frame in self._outbox.take() if frame]

    def receive(self, frames: list[bytes | memoryview]) -> int:
        """Decode frames; how many records they hold."""
        return sum(
            len(element.values)
            for frame in frames
            for element in decode_elements(frame, self._decode)
            if isinstance(element, Records)
        )

    def _decode(self, tag: int, data: bytes | memoryview) -> list[Any]:
        return decode_run(tag, data, self._type_info, columns=self._columns)
