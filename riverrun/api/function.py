"""The base of all user functions: its life in a worker."""

from __future__ import annotations

from abc import ABC

from riverrun.api.runtime_context import RuntimeContext

__all__ = ["Function"]


class Function(ABC):  # noqa: B024  (each kind of function adds its own abstract method)
    """A user function with a life: made and pickled in the client, opened and closed in a worker.

    ``open`` is called once before the first record and ``close`` once after the last, also after a
    failure; both from the task thread. Connections belong into ``open``.
    """

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027  (optional to implement)
        """Prepare for work."""

    def close(self) -> None:  # noqa: B027
        """Release what ``open`` acquired."""
