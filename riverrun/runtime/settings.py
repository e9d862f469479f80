"""What the runtime takes from a job's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from riverrun.core import options
from riverrun.core.time import to_millis
from riverrun.runtime.debloating import DebloatSettings
from riverrun.runtime.pacing import LARGEST

_MB: Final = 1 << 20
_COLUMNS_LONGER: Final = 16
"""So many times as long are runs of columns: their cost per record is small beside that per run."""


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """Sizes and intervals of one task."""

    frame_bytes: int = _MB // 8
    latency_interval_ms: int = 0
    watermark_interval_ms: int = 200
    seed: int | None = None
    alignment_bytes: int = 16 * _MB
    final_checkpoint: bool = True
    """Whether a task that takes checkpoints waits for one after the end of its input."""
    longest_run: int = LARGEST
    """How many records a task takes in hand at once, at most."""
    debloat: DebloatSettings | None = None
    """How much may be in flight between tasks; ``None``: whatever fits into the buffers on the way."""

    def longest_run_of(self, *, columns: bool) -> int:
        """How many records a task takes in hand at once: more, if it works on columns."""
        return self.longest_run * (_COLUMNS_LONGER if columns else 1)

    @staticmethod
    def of(config: Mapping[str, str], *, seed: int | None = None) -> TaskSettings:
        """The settings that ``config`` asks for."""
        return TaskSettings(
            frame_bytes=options.FRAME_BYTES.get(config),
            latency_interval_ms=to_millis(options.LATENCY_INTERVAL.get(config)),
            watermark_interval_ms=to_millis(options.AUTO_WATERMARK_INTERVAL.get(config)),
            seed=seed,
            alignment_bytes=options.ALIGNMENT_MEMORY.get(config),
            final_checkpoint=options.CHECKPOINTS_AFTER_FINISH.get(config),
            debloat=_debloat(config),
        )


def _debloat(config: Mapping[str, str]) -> DebloatSettings | None:
    if not options.DEBLOAT.get(config):
        return None
    return DebloatSettings(
        target_ms=to_millis(options.DEBLOAT_TARGET.get(config)),
        period_ms=to_millis(options.DEBLOAT_PERIOD.get(config)),
        samples=options.DEBLOAT_SAMPLES.get(config),
    )
