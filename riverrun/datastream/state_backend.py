"""Where keyed state lives, by object; kept in the program's configuration like every other setting."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from enum import Enum
from typing import Final

from riverrun.core import options
from riverrun.core.config_options import INT, ConfigOption, enum_type
from riverrun.core.configuration import Configuration

__all__ = [
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
    "state_backend_of",
]

log = logging.getLogger(__name__)


class PredefinedOptions(Enum):
    """Flink's profiles for RocksDB, for the disks that its files are on."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


_PROFILE: Final = ConfigOption(
    "state.backend.rocksdb.predefined-options",
    enum_type(PredefinedOptions),
    PredefinedOptions.DEFAULT,
)
_TRANSFER_THREADS: Final = ConfigOption(
    "state.backend.rocksdb.checkpoint.transfer.thread.num", INT, 4
)


class StateBackend(ABC):
    """Where the state of keys lives while a job runs."""

    @abstractmethod
    def configure(self, config: Configuration) -> None:
        """Write the settings that stand for this backend."""


class HashMapStateBackend(StateBackend):
    """State in dicts in the memory of the workers: the fastest, as large as memory."""

    def configure(self, config: Configuration) -> None:
        options.STATE_BACKEND.set(config, "hashmap")

    def __str__(self) -> str:
        return "HashMapStateBackend"


class EmbeddedRocksDBStateBackend(StateBackend):
    """State in RocksDB on the disks of the workers, as large as these."""

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:  # noqa: FBT001  (PyFlink's signature)
        self._incremental = enable_incremental_checkpointing
        self._paths: list[str] = []
        self._profile = PredefinedOptions.DEFAULT
        self._options_factory: str | None = None
        self._transfer_threads = _TRANSFER_THREADS.default

    def configure(self, config: Configuration) -> None:
        options.STATE_BACKEND.set(config, "rocksdb")
        if self._incremental is not None:
            options.INCREMENTAL.set(config, self._incremental)
        if self._paths:
            options.ROCKSDB_FOLDER.set(config, self._paths[0])
        if self._profile is not _PROFILE.default:
            _PROFILE.set(config, self._profile)
        if self._transfer_threads != _TRANSFER_THREADS.default:
            _TRANSFER_THREADS.set(config, self._transfer_threads)

    def set_db_storage_paths(self, *paths: str) -> None:
        """Say which local folder the databases are in; of several the first is used."""
        if len(paths) > 1:
            log.warning("rocksdb state uses one local folder, the first paths=%s", paths)
        self._paths = list(paths)

    def get_db_storage_paths(self) -> list[str]:
        """The local folders that were set; empty: the machine's temporary folder."""
        return list(self._paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Whether checkpoints only write what is new."""
        return bool(self._incremental)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Tune the databases for these disks; memory follows the budget whatever the profile."""
        self._profile = options

    def get_predefined_options(self) -> PredefinedOptions:
        """The profile that was set."""
        return self._profile

    def set_options(self, options_factory_class_name: str) -> None:
        """Accept the name of a Java class and say that it is not used: there is no JVM state here."""
        log.warning("options factories are not used here class=%s", options_factory_class_name)
        self._options_factory = options_factory_class_name

    def get_options(self) -> str | None:
        """The name that was set."""
        return self._options_factory

    def get_number_of_transfer_threads(self) -> int:
        """How many files may be moved at once."""
        return self._transfer_threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Set how many files may be moved at once."""
        if number_of_transfering_threads < 1:
            raise ValueError(
                f"transfer threads: is {number_of_transfering_threads!r}; expected at least 1"
            )
        self._transfer_threads = number_of_transfering_threads

    def __str__(self) -> str:
        return (
            f"EmbeddedRocksDBStateBackend, incremental: {self.is_incremental_checkpoints_enabled()}"
        )


def state_backend_of(config: Configuration) -> StateBackend:
    """The backend that ``config`` asks for."""
    if options.STATE_BACKEND.get(config) == "hashmap":
        return HashMapStateBackend()
    backend = EmbeddedRocksDBStateBackend(options.INCREMENTAL.get(config))
    folder = options.ROCKSDB_FOLDER.get(config)
    if folder is not None:
        backend.set_db_storage_paths(folder)
    backend.set_predefined_options(_PROFILE.get(config))
    backend.set_number_of_transfer_threads(_TRANSFER_THREADS.get(config))
    return backend
