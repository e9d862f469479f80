"""Where the checkpoints of a job go."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from riverrun.checkpoint.settings import CheckpointSettings
from riverrun.core import options
from riverrun.core.errors import ConfigError
from riverrun.graph.executor import JobSubmission
from riverrun.storage.open import absolute_location


@dataclass(frozen=True, slots=True)
class CheckpointPlace:
    """A folder in which each job has a folder of its own."""

    root: str
    """Full location, as ``Storage`` takes it."""
    temporary: Path | None = None
    """What to remove at the end of the job, whatever it holds."""

    def remove(self) -> None:
        """Remove what is only there for this job's own use."""
        if self.temporary is not None:
            shutil.rmtree(self.temporary, ignore_errors=True)


def checkpoint_place(submission: JobSubmission, *, one_machine: bool) -> CheckpointPlace | None:
    """The place that the job's configuration asks for; ``None`` for a job that takes no checkpoints.

    A job without a configured folder uses a temporary one, which only tasks on this machine see.

    Raises:
        ConfigError: such a job, when it does not run on ``one_machine``; one that shall be resumed; a relative
            folder; settings of checkpoints that contradict each other.
    """
    config = submission.config
    root = options.CHECKPOINT_DIR.get(config)
    in_memory = options.CHECKPOINT_STORAGE.get(config) == "jobmanager"
    if not CheckpointSettings.of(config).enabled:
        _check_resume(submission, "it takes no checkpoints", options.CHECKPOINT_INTERVAL.key)
        return None
    if root is not None and not in_memory:
        return CheckpointPlace(absolute_location(root))
    _check_resume(submission, "its checkpoints have no lasting place", options.CHECKPOINT_DIR.key)
    if not one_machine:
        raise ConfigError(
            f"option {options.CHECKPOINT_DIR.key!r}: is not set; the tasks of this job run on several "
            f"machines: set it to a folder that all of them reach, such as 's3://bucket/checkpoints'"
        )
    temporary = Path(tempfile.mkdtemp(prefix="riverrun-checkpoints-"))
    return CheckpointPlace(str(temporary), temporary)


def rescale_place(submission: JobSubmission, *, one_machine: bool) -> CheckpointPlace:
    """Where a job that takes no checkpoints leaves the savepoint through which it is rescaled.

    Raises:
        ConfigError: its tasks run on several machines, and no folder is known that all of them reach.
    """
    if one_machine:
        temporary = Path(tempfile.mkdtemp(prefix="riverrun-rescale-"))
        return CheckpointPlace(str(temporary), temporary)
    config = submission.config
    root = options.CHECKPOINT_DIR.get(config) or options.SAVEPOINT_DIR.get(config)
    if root is None:
        raise ConfigError(
            f"option {options.CHECKPOINT_DIR.key!r}: is not set; to be rescaled the job "
            f"{submission.name!r} has to leave its state somewhere, and its tasks run on several "
            f"machines: set it to a folder that all of them reach, such as 's3://bucket/checkpoints'"
        )
    return CheckpointPlace(f"{absolute_location(root)}/rescale-{submission.job}")


def _check_resume(submission: JobSubmission, why: str, missing: str) -> None:
    if submission.resume:
        raise ConfigError(
            f"job {submission.name!r}: shall go on from its latest checkpoint "
            f"({options.RESUME.key!r}), but {why}; set {missing!r} as it was"
        )
