"""Carries frames of edges that skip a layer; knows targets, decodes nothing but headers."""

from __future__ import annotations

from typing import TypeVar

from riverrun.graph.deployment import RelayDeployment
from riverrun.protocol.frames import FILLER, FrameError, decode_header

Frame = TypeVar("Frame", bytes, memoryview)


class Relay:
    """Frames in, the same frames out to the next layer, in order."""

    def __init__(self, deployment: RelayDeployment) -> None:
        self.deployment = deployment
        self._owed: dict[int, None] = {}
        self.bytes_through = 0

    def forward(self, frame: Frame) -> tuple[int, Frame]:
        """Where ``frame`` goes next."""
        header = decode_header(frame)
        targets = self.deployment.targets.get(header.edge)  # type: ignore[call-overload]
        if targets is None or header.consumer not in targets:
            raise FrameError(
                f"relay {self.deployment.name!r}: frame of edge {header.edge} to consumer "
                f"{header.consumer} does not pass here"
            )
        target: int = targets[header.consumer]
        self._owed[target] = None
        self.bytes_through += len(frame)
        return target, frame

    def fillers(self) -> list[tuple[int, bytes]]:
        """Filler rows for every target that got a frame since the last call; send when idle."""
        owed = [(target, FILLER) for target in self._owed]
        self._owed.clear()
        return owed
