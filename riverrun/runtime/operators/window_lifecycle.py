"""The life of the functions of one operator that has several: opened, told of checkpoints, closed."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from riverrun.api.checkpointed import CheckpointedFunction, CheckpointListener
from riverrun.api.function import Function
from riverrun.api.resolve import lifecycle
from riverrun.runtime.operators.checkpointed import InitializationContext, SnapshotContext
from riverrun.runtime.operators.operator import OperatorContext


class Lifecycles:
    """Opens and closes function objects; what is none has no such life."""

    def __init__(self, *functions: Any) -> None:
        self._functions = [one for each in functions if (one := lifecycle(each)) is not None]
        self._opened: list[Function] = []

    def open(self, context: OperatorContext) -> None:
        """Open them in their order."""
        for function in self._functions:
            self._opened.append(function)
            if isinstance(function, CheckpointedFunction):
                function.initialize_state(InitializationContext(context.states, context.runtime))
            function.open(context.runtime)

    def snapshot(self, checkpoint: int, timestamp: int) -> None:
        """Let them bring their state up to date."""
        for function in self._functions:
            if isinstance(function, CheckpointedFunction):
                function.snapshot_state(SnapshotContext(checkpoint, timestamp))

    def checkpoint_completed(self, checkpoint: int) -> None:
        """Tell those that want to know."""
        for function in self._functions:
            if isinstance(function, CheckpointListener):
                function.notify_checkpoint_complete(checkpoint)

    def checkpoint_aborted(self, checkpoint: int) -> None:
        """Tell those that want to know."""
        for function in self._functions:
            if isinstance(function, CheckpointListener):
                function.notify_checkpoint_aborted(checkpoint)

    def close(self) -> None:
        """Close those that were opened, all of them, whatever one of them raises."""
        with ExitStack() as stack:
            while self._opened:
                stack.callback(self._opened.pop(0).close)
