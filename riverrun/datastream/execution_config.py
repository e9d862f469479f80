"""The settings of a program by method, kept in its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from riverrun.core import options
from riverrun.core.configuration import Configuration
from riverrun.core.time import Duration
from riverrun.datastream.jvm_settings import JvmSettings

__all__ = ["ExecutionConfig"]


class ExecutionConfig(JvmSettings):
    """A view of the environment's configuration; every setter writes the option of the same meaning."""

    PARALLELISM_DEFAULT: ClassVar = -1
    PARALLELISM_UNKNOWN: ClassVar = -2

    def __init__(self, config: Configuration) -> None:
        self._config = config

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Emit watermarks every ``interval`` milliseconds."""
        options.AUTO_WATERMARK_INTERVAL.set(self._config, Duration.of_millis(interval))
        return self

    def get_auto_watermark_interval(self) -> int:
        """How often watermarks are emitted, in milliseconds."""
        return options.AUTO_WATERMARK_INTERVAL.get(self._config).to_millis()

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Emit latency markers every ``interval`` milliseconds; 0: none."""
        options.LATENCY_INTERVAL.set(self._config, Duration.of_millis(max(interval, 0)))
        return self

    def get_latency_tracking_interval(self) -> int:
        """How often latency markers are emitted, in milliseconds; 0: never."""
        return options.LATENCY_INTERVAL.get(self._config).to_millis()

    def get_parallelism(self) -> int:
        """The parallelism of operators that do not say; PARALLELISM_DEFAULT when not set."""
        parallelism = options.PARALLELISM.get(self._config)
        return self.PARALLELISM_DEFAULT if parallelism is None else parallelism

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the parallelism of operators that do not say."""
        check_positive("parallelism", parallelism)
        options.PARALLELISM.set(self._config, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The max parallelism (number of key groups); -1 when not set."""
        most = options.MAX_PARALLELISM.get(self._config)
        return self.PARALLELISM_DEFAULT if most is None else most

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the max parallelism (number of key groups) of operators that do not say."""
        check_positive("max parallelism", max_parallelism)
        options.MAX_PARALLELISM.set(self._config, max_parallelism)
        return self

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Let operators without uid get one from their place in the program."""
        options.AUTO_GENERATE_UIDS.set(self._config, value=True)
        return self

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Refuse programs with operators that have no uid."""
        options.AUTO_GENERATE_UIDS.set(self._config, value=False)
        return self

    def has_auto_generated_uids_enabled(self) -> bool:
        """Whether operators without uid get one."""
        return options.AUTO_GENERATE_UIDS.get(self._config)

    def enable_object_reuse(self) -> ExecutionConfig:
        """Allow that chained operators share objects (they always do in Python)."""
        options.OBJECT_REUSE.set(self._config, value=True)
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        """Undo ``enable_object_reuse``."""
        options.OBJECT_REUSE.set(self._config, value=False)
        return self

    def is_object_reuse_enabled(self) -> bool:
        """Whether object reuse was asked for."""
        return options.OBJECT_REUSE.get(self._config)

    def get_global_job_parameters(self) -> dict[str, str]:
        """The parameters that functions read with ``RuntimeContext.get_job_parameter``."""
        return dict(options.GLOBAL_JOB_PARAMETERS.get(self._config))

    def set_global_job_parameters(
        self, global_job_parameters_dict: Mapping[str, object]
    ) -> ExecutionConfig:
        """Set the parameters that functions read with ``RuntimeContext.get_job_parameter``."""
        texts = {str(key): str(value) for key, value in global_job_parameters_dict.items()}
        options.GLOBAL_JOB_PARAMETERS.set(self._config, texts)
        return self

    def is_use_snapshot_compression(self) -> bool:
        """Whether snapshots are compressed."""
        return options.SNAPSHOT_COMPRESSION.get(self._config)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:  # noqa: FBT001
        """Say whether snapshots are compressed."""
        options.SNAPSHOT_COMPRESSION.set(self._config, use_snapshot_compression)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and other._config == self._config

    def __hash__(self) -> int:
        return hash(self._config)


def check_positive(what: str, number: int) -> None:
    """Raise ValueError unless ``number`` is a whole number of at least 1."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ValueError(f"{what}: is {number!r}; expected a whole number of at least 1")
