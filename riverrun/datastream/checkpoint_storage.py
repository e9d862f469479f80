"""Where checkpoints go, by object; kept in the program's configuration like every other setting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from riverrun.core import options
from riverrun.core.configuration import Configuration

__all__ = [
    "CheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
    "checkpoint_storage_of",
]


class CheckpointStorage(ABC):
    """Where checkpoints go."""

    @abstractmethod
    def configure(self, config: Configuration) -> None:
        """Write the settings that stand for this storage."""


class JobManagerCheckpointStorage(CheckpointStorage):
    """Checkpoints in the memory of the process that runs the program: for tests, gone with it."""

    DEFAULT_MAX_STATE_SIZE: ClassVar = 5 * 1024 * 1024

    def __init__(
        self, checkpoint_path: str | None = None, max_state_size: int | None = None
    ) -> None:
        self._path = checkpoint_path
        self._max_state_size = (
            self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size
        )

    def configure(self, config: Configuration) -> None:
        options.CHECKPOINT_STORAGE.set(config, "jobmanager")
        if self._path is not None:
            options.CHECKPOINT_DIR.set(config, self._path)

    def get_checkpoint_path(self) -> str | None:
        """Where the metadata goes, if anywhere."""
        return self._path

    def get_max_state_size(self) -> int:
        """How many bytes the state of one subtask may have."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """None: savepoints go where they are asked for, or to the environment's default folder."""
        return None

    def __str__(self) -> str:
        return f"JobManagerCheckpointStorage(path={self._path!r}, max_state_size={self._max_state_size})"


class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints in a folder or object store that every worker reaches, such as ``s3://bucket/jobs``."""

    MAX_FILE_STATE_THRESHOLD: ClassVar = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        if not checkpoint_path:
            raise ValueError(
                f"FileSystemCheckpointStorage: the path is {checkpoint_path!r}; expected a folder or "
                f"address such as 'file:///var/checkpoints'"
            )
        if file_state_size_threshold is not None and file_state_size_threshold < 0:
            raise ValueError(
                f"FileSystemCheckpointStorage: the file size threshold is "
                f"{file_state_size_threshold!r}; expected a number of bytes, at least 0"
            )
        self._path = str(checkpoint_path)
        self._threshold = file_state_size_threshold
        self._write_buffer_size = write_buffer_size

    def configure(self, config: Configuration) -> None:
        options.CHECKPOINT_STORAGE.set(config, "filesystem")
        options.CHECKPOINT_DIR.set(config, self._path)
        if self._threshold is not None:
            options.INLINE_THRESHOLD.set(config, self._threshold)

    def get_checkpoint_path(self) -> str:
        """The folder or address."""
        return self._path

    def get_savepoint_path(self) -> str | None:
        """None: savepoints go where they are asked for, or to the environment's default folder."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """State smaller than this is kept in the checkpoint's metadata instead of a file."""
        return options.INLINE_THRESHOLD.default if self._threshold is None else self._threshold

    def get_write_buffer_size(self) -> int:
        """Accepted for Flink's sake, without effect."""
        return max(self._write_buffer_size, self.get_min_file_size_threshold())

    def __str__(self) -> str:
        return f"FileSystemCheckpointStorage(path={self._path!r})"


def checkpoint_storage_of(config: Configuration) -> CheckpointStorage | None:
    """The storage that ``config`` asks for; None when it does not say."""
    path = options.CHECKPOINT_DIR.get(config)
    if options.CHECKPOINT_STORAGE.get(config) == "jobmanager":
        return JobManagerCheckpointStorage(path)
    if path is None:
        return None
    return FileSystemCheckpointStorage(path, options.INLINE_THRESHOLD.get(config))
