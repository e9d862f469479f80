"""Which watermark strategies a stream or a source accepts."""

from __future__ import annotations

import logging
from typing import Any

from riverrun.api.watermark_strategy import (
    AssignerWithPeriodicWatermarksWrapper,
    WatermarkStrategy,
)

log = logging.getLogger(__name__)


def strategy_within(method: str, strategy: Any) -> WatermarkStrategy:
    """``strategy`` as one for the middle of a stream, where nothing can be held back."""
    if isinstance(strategy, AssignerWithPeriodicWatermarksWrapper):
        strategy = strategy.to_watermark_strategy()
    if not isinstance(strategy, WatermarkStrategy):
        raise TypeError(
            f"{method}: got {strategy!r}; expected a WatermarkStrategy, such as "
            f"WatermarkStrategy.for_monotonous_timestamps()"
        )
    if strategy.alignment is not None:
        log.warning(
            "watermark alignment only works for sources: give the strategy to from_source() group=%s",
            strategy.alignment.group,
        )
    return strategy
