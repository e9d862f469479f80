"""Settings of a Flink program that are about its JVM: kept so that they can be read back, used by nobody."""

from __future__ import annotations

from typing import Final, Self

from riverrun.core.configuration import Configuration

_CLOSURE_CLEANER: Final = "pipeline.closure-cleaner-level"
_FORCE_KRYO: Final = "pipeline.force-kryo"
_FORCE_AVRO: Final = "pipeline.force-avro"
_GENERIC_TYPES: Final = "pipeline.generic-types"
_CANCELLATION_INTERVAL: Final = "task.cancellation.interval"
_CANCELLATION_TIMEOUT: Final = "task.cancellation.timeout"
_DEFAULT_INTERVAL_MS: Final = 30_000
_DEFAULT_TIMEOUT_MS: Final = 180_000


class JvmSettings:
    """Setters and getters of what has no meaning where functions are Python and state is not Kryo's.

    Types are declared or inferred, other values are pickled; a task that does not end when it is
    cancelled is ended after ``riverrun.cancel.grace``.
    """

    _config: Configuration

    def enable_closure_cleaner(self) -> Self:
        """Accepted; Python functions have no closures to clean."""
        return self._set(_CLOSURE_CLEANER, "RECURSIVE")

    def disable_closure_cleaner(self) -> Self:
        """Accepted; Python functions have no closures to clean."""
        return self._set(_CLOSURE_CLEANER, "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        """Whether it was left enabled."""
        return self._config.get_string(_CLOSURE_CLEANER, "RECURSIVE") != "NONE"

    def get_task_cancellation_interval(self) -> int:
        """As it was set, in milliseconds."""
        return int(self._config.get_string(_CANCELLATION_INTERVAL, str(_DEFAULT_INTERVAL_MS)))

    def set_task_cancellation_interval(self, interval: int) -> Self:
        """Accepted; see ``riverrun.cancel.grace``."""
        return self._set(_CANCELLATION_INTERVAL, str(interval))

    def get_task_cancellation_timeout(self) -> int:
        """As it was set, in milliseconds."""
        return int(self._config.get_string(_CANCELLATION_TIMEOUT, str(_DEFAULT_TIMEOUT_MS)))

    def set_task_cancellation_timeout(self, timeout: int) -> Self:
        """Accepted; see ``riverrun.cancel.grace``."""
        if timeout < 0:
            raise ValueError(f"task cancellation timeout: is {timeout!r} ms; expected 0 or more")
        return self._set(_CANCELLATION_TIMEOUT, str(timeout))

    def enable_force_kryo(self) -> Self:
        """Accepted; there is no Kryo here."""
        return self._set(_FORCE_KRYO, "true")

    def disable_force_kryo(self) -> Self:
        """Accepted; there is no Kryo here."""
        return self._set(_FORCE_KRYO, "false")

    def is_force_kryo_enabled(self) -> bool:
        """As it was set."""
        return self._config.get_string(_FORCE_KRYO, "false") == "true"

    def enable_generic_types(self) -> Self:
        """Accepted; a value without a type is pickled."""
        return self._set(_GENERIC_TYPES, "true")

    def disable_generic_types(self) -> Self:
        """Accepted; a value without a type is pickled all the same."""
        return self._set(_GENERIC_TYPES, "false")

    def has_generic_types_disabled(self) -> bool:
        """As it was set."""
        return self._config.get_string(_GENERIC_TYPES, "true") == "false"

    def enable_force_avro(self) -> Self:
        """Accepted; values are not written as Avro between operators."""
        return self._set(_FORCE_AVRO, "true")

    def disable_force_avro(self) -> Self:
        """Accepted; values are not written as Avro between operators."""
        return self._set(_FORCE_AVRO, "false")

    def is_force_avro_enabled(self) -> bool:
        """As it was set."""
        return self._config.get_string(_FORCE_AVRO, "false") == "true"

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """None: there is no Kryo here."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """None: there is no Kryo here."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """None: there are no POJOs here."""
        return []

    def _set(self, key: str, value: str) -> Self:
        self._config.set_string(key, value)
        return self
