"""Sources and sinks that have something to do in the process of the program, around the run of a job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["ClientSide", "PreparedByClient"]


@dataclass(frozen=True, slots=True)
class ClientSide:
    """The program that submits a job."""

    master: str
    """Where its jobs run."""
    config: Mapping[str, str] = field(repr=False)
    session: object | None = None
    """The user's own Spark session, if the program was given one."""

    @property
    def is_remote(self) -> bool:
        """Whether the job runs in a JobManager of another process."""
        return self.master.startswith(("http://", "https://"))


class PreparedByClient(ABC):
    """A source or sink that is prepared in the client's process before its job is submitted."""

    @abstractmethod
    def prepare(self, client: ClientSide) -> None:
        """Get ready; called once, before the source or sink is pickled for the workers.

        Raises:
            ProgramError: it cannot run so.
        """

    @abstractmethod
    def release(self, *, finished: bool) -> None:
        """Let go of what ``prepare`` made: the job is over, or it did not come to that.

        Called also when ``prepare`` raised, half-way or at once.

        Args:
            finished: whether the job ran to its end, so that nobody goes on from one of its checkpoints.
        """
