"""Why checkpoints do not come about, and how many of these failures a job bears."""

from __future__ import annotations

from enum import Enum


class CheckpointFailure(Enum):
    """The reason of a checkpoint that was given up."""

    EXPIRED = "expired"
    """Not every subtask acknowledged in time, or the metadata took too long."""
    DECLINED = "declined"
    """A subtask could not write its part."""
    METADATA = "metadata could not be written"
    SUBSUMED = "a newer checkpoint completed first"
    SUBTASK_FINISHED = "a subtask finished without taking part"
    OUTDATED_FILES = "a subtask refers to files that are deleted"
    ATTEMPT_ENDED = "the attempt ended"

    @property
    def counts(self) -> bool:
        """Whether it is held against the job: the others happen to healthy jobs, too."""
        return self in _COUNTED

    @property
    def is_bad_luck(self) -> bool:
        """Whether the next checkpoint will most likely do: wishes for one are not turned down."""
        return self in (CheckpointFailure.SUBTASK_FINISHED, CheckpointFailure.OUTDATED_FILES)


_COUNTED = frozenset(
    {CheckpointFailure.EXPIRED, CheckpointFailure.DECLINED, CheckpointFailure.METADATA}
)


class FailureCount:
    """Failures in a row, over all attempts of the job."""

    def __init__(self, tolerable: int) -> None:
        self._tolerable = tolerable
        self._failures = 0
        self._newest_success = 0

    def completed(self, checkpoint: int) -> None:
        """The checkpoint completed: the row is broken."""
        self._newest_success = max(self._newest_success, checkpoint)
        self._failures = 0

    def failed(self, checkpoint: int) -> int | None:
        """The checkpoint failed; how many failed in a row, if that is more than is borne.

        The row then begins anew. A checkpoint that is older than the newest success does not count.
        """
        if checkpoint < self._newest_success:
            return None
        self._failures += 1
        if self._failures <= self._tolerable:
            return None
        failures, self._failures = self._failures, 0
        return failures
