"""The settings of checkpoints by method, kept in the program's configuration."""

from __future__ import annotations

from typing import ClassVar, Final

from riverrun.core import options
from riverrun.core.configuration import Configuration
from riverrun.core.options import CheckpointingMode, ExternalizedCheckpointRetention
from riverrun.core.time import Duration, DurationLike, to_millis
from riverrun.datastream.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    checkpoint_storage_of,
)

__all__ = ["CheckpointConfig"]

UNLIMITED_FAILURES: Final = 2**31 - 1
"""Flink's number for a job that no failed checkpoint fails."""


class CheckpointConfig:
    """A view of the environment's configuration; times are in milliseconds."""

    DEFAULT_MODE: ClassVar = CheckpointingMode.EXACTLY_ONCE
    DEFAULT_TIMEOUT: ClassVar = 10 * 60 * 1000
    DEFAULT_MIN_PAUSE_BETWEEN_CHECKPOINTS: ClassVar = 0
    DEFAULT_MAX_CONCURRENT_CHECKPOINTS: ClassVar = 1

    def __init__(self, config: Configuration) -> None:
        self._config = config

    def is_checkpointing_enabled(self) -> bool:
        """Whether an interval is set."""
        return options.CHECKPOINT_INTERVAL.get(self._config) is not None

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Exactly once, or at least once."""
        return options.CHECKPOINTING_MODE.get(self._config)

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Say what a failure may do to results."""
        options.CHECKPOINTING_MODE.set(self._config, checkpointing_mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """How often a checkpoint is taken; -1: never."""
        interval = options.CHECKPOINT_INTERVAL.get(self._config)
        return -1 if interval is None else interval.to_millis()

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Take a checkpoint every ``checkpoint_interval`` milliseconds."""
        if checkpoint_interval < 1:
            raise ValueError(
                f"checkpoint interval: is {checkpoint_interval!r} ms; expected at least 1"
            )
        options.CHECKPOINT_INTERVAL.set(self._config, Duration.of_millis(checkpoint_interval))
        return self

    def get_checkpoint_timeout(self) -> int:
        """How long a checkpoint may take."""
        return options.CHECKPOINT_TIMEOUT.get(self._config).to_millis()

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Give a checkpoint up after ``checkpoint_timeout`` milliseconds."""
        options.CHECKPOINT_TIMEOUT.set(self._config, Duration.of_millis(checkpoint_timeout))
        return self

    def get_min_pause_between_checkpoints(self) -> int:
        """How long to wait after a checkpoint before the next."""
        return options.CHECKPOINT_MIN_PAUSE.get(self._config).to_millis()

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: int
    ) -> CheckpointConfig:
        """Wait at least this long after a checkpoint before the next."""
        options.CHECKPOINT_MIN_PAUSE.set(
            self._config, Duration.of_millis(min_pause_between_checkpoints)
        )
        return self

    def get_max_concurrent_checkpoints(self) -> int:
        """How many checkpoints may be under way at once."""
        return options.MAX_CONCURRENT_CHECKPOINTS.get(self._config)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Allow this many checkpoints at once."""
        options.MAX_CONCURRENT_CHECKPOINTS.set(self._config, max_concurrent_checkpoints)
        return self

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """How many checkpoints may fail in a row before the job does."""
        return options.TOLERABLE_FAILED_CHECKPOINTS.get(self._config)

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Let this many checkpoints fail in a row before the job does."""
        options.TOLERABLE_FAILED_CHECKPOINTS.set(self._config, tolerable_checkpoint_failure_number)
        return self

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Whether the job fails with the first checkpoint that does."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(
        self,
        fail_on_checkpointing_errors: bool,  # noqa: FBT001  (PyFlink's signature)
    ) -> CheckpointConfig:
        """Let the job fail with the first checkpoint that does, or never because of one."""
        return self.set_tolerable_checkpoint_failure_number(
            0 if fail_on_checkpointing_errors else UNLIMITED_FAILURES
        )

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Say what becomes of checkpoints when the job is cancelled."""
        options.EXTERNALIZED_RETENTION.set(self._config, retention_mode)
        return self

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """What becomes of checkpoints when the job is cancelled."""
        return options.EXTERNALIZED_RETENTION.get(self._config)

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Whether checkpoints may outlive the job."""
        retention = self.get_externalized_checkpoint_retention()
        return retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether barriers overtake records."""
        return options.UNALIGNED.get(self._config)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:  # noqa: FBT001, FBT002
        """Let barriers overtake records, so that back pressure does not delay checkpoints."""
        options.UNALIGNED.set(self._config, enabled)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Keep barriers in their place."""
        return self.enable_unaligned_checkpoints(enabled=False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: DurationLike) -> CheckpointConfig:
        """Turn an aligned checkpoint into an unaligned one after this time."""
        options.ALIGNED_TIMEOUT.set(self._config, Duration.of_millis(to_millis(alignment_timeout)))
        return self

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """After what time an aligned checkpoint turns into an unaligned one."""
        return options.ALIGNED_TIMEOUT.get(self._config)

    def set_alignment_timeout(self, alignment_timeout: DurationLike) -> CheckpointConfig:
        """The older name of ``set_aligned_checkpoint_timeout``."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """The older name of ``get_aligned_checkpoint_timeout``."""
        return self.get_aligned_checkpoint_timeout()

    def set_force_unaligned_checkpoints(
        self,
        force_unaligned_checkpoints: bool = True,  # noqa: FBT001, FBT002
    ) -> CheckpointConfig:
        """Use unaligned checkpoints even where they are normally refused."""
        options.UNALIGNED_FORCED.set(self._config, force_unaligned_checkpoints)
        return self

    def is_force_unaligned_checkpoints(self) -> bool:
        """Whether unaligned checkpoints are forced."""
        return options.UNALIGNED_FORCED.get(self._config)

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Say where checkpoints go."""
        if not isinstance(storage, CheckpointStorage):
            raise TypeError(
                f"set_checkpoint_storage: got {storage!r}; expected a CheckpointStorage, such as "
                f"FileSystemCheckpointStorage('file:///var/checkpoints')"
            )
        storage.configure(self._config)
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Say in which folder or object store checkpoints go."""
        return self.set_checkpoint_storage(FileSystemCheckpointStorage(checkpoint_path))

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """Where checkpoints go; None when nothing is set."""
        return checkpoint_storage_of(self._config)
