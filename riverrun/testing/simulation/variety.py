"""In what else than faults runs differ: how checkpoints are taken, and how the run proceeds."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from riverrun.core import options
from riverrun.core.option_registry import KNOWN
from riverrun.core.options import CheckpointingMode

MODES: Final[Mapping[str, Mapping[str, str]]] = {
    "aligned": {},
    "unaligned": {options.UNALIGNED.key: "true", options.ALIGNED_TIMEOUT.key: "0 ms"},
    "aligned-timeout": {options.UNALIGNED.key: "true", options.ALIGNED_TIMEOUT.key: "3 ms"},
    "at-least-once": {options.CHECKPOINTING_MODE.key: CheckpointingMode.AT_LEAST_ONCE.name},
}


@dataclass(frozen=True, slots=True)
class Variety:
    """What each run draws one of; a setting that the program makes itself stays as it is."""

    modes: tuple[str, ...] = ("aligned", "unaligned", "aligned-timeout")
    """Of ``aligned``, ``unaligned``, ``aligned-timeout`` and ``at-least-once``."""
    backends: tuple[str, ...] = ("hashmap",)
    """Of ``hashmap`` and ``rocksdb``, which is a good deal slower to start."""
    incremental: tuple[bool, ...] = (False, True)
    max_concurrent: tuple[int, ...] = (1, 2)
    """Checkpoints at a time; not for unaligned ones."""
    retained: tuple[int, ...] = (1, 2)
    parallelism: tuple[int, ...] = ()
    """What each JobMaster takes one of, for operators that do not set their own; a job is rescaled so."""
    savepoints: int = 0
    """How many savepoints a run takes at most while the job goes on."""
    stops: int = 0
    """How often the job is stopped with a savepoint at most, from which another job goes on."""
    rescales: int = 0
    """How often the running job is rescaled at most, where the program leaves its parallelism open."""
    rescaled_to: tuple[int, ...] = (1, 2, 3)
    """To which parallelisms."""

    def __post_init__(self) -> None:
        for mode in self.modes:
            if mode not in MODES:
                raise ValueError(f"variety: mode {mode!r}; expected some of {sorted(MODES)}")
        for name in ("savepoints", "stops", "rescales"):
            if getattr(self, name) < 0:
                found = getattr(self, name)
                raise ValueError(f"variety: {name} is {found}; expected 0 or more")
        if self.rescales and min(self.rescaled_to, default=0) < 1:
            raise ValueError(
                f"variety: rescaled_to is {self.rescaled_to!r}; expected some parallelisms, 1 or more"
            )


@dataclass(frozen=True, slots=True)
class Manner:
    """How one run is done; drawn from its seed."""

    config: Mapping[str, str] = field(default_factory=dict)
    """For the job, beside what the program sets."""
    may_repeat: bool = False
    """Whether records may count twice."""
    haste: float = 0.5
    """How likely it is that something on its way arrives before a task takes a turn."""
    turn_ms: float = 1.0
    """How long one round takes, in which each of a few tasks has a turn."""
    longest_run: int = 4
    """How many records a task takes at once."""


def draw_manner(rng: random.Random, variety: Variety, program: Mapping[str, str]) -> Manner:
    """How one run is done, given what the program set itself."""
    mode = rng.choice(variety.modes)
    concurrent = rng.choice(variety.max_concurrent)
    drawn = {
        options.STATE_BACKEND.key: rng.choice(variety.backends),
        options.INCREMENTAL.key: str(rng.choice(variety.incremental)).lower(),
        options.RETAINED_CHECKPOINTS.key: str(rng.choice(variety.retained)),
        options.ALIGNMENT_MEMORY.key: rng.choice(("1 b", "1 kb", "16 mb")),
        options.INLINE_THRESHOLD.key: rng.choice(("0 b", "100 b", "20 kb")),
        **MODES[mode],
    }
    kept = {key: value for key, value in drawn.items() if not _is_set(key, program)}
    config = {**kept, **_paces(rng)}
    if not options.UNALIGNED.get({**program, **config}):
        config.setdefault(options.MAX_CONCURRENT_CHECKPOINTS.key, str(concurrent))
    return Manner(
        config=config,
        may_repeat=_mode_of({**program, **config}) is CheckpointingMode.AT_LEAST_ONCE,
        haste=rng.choice((0.3, 0.6, 0.8)),
        turn_ms=rng.choice((1.0, 3.0, 5.0)),
        longest_run=rng.choice((1, 2, 3, 8)),
    )


def _paces(rng: random.Random) -> dict[str, str]:
    """Times that fit a run of a few hundred steps, whatever the program sets for real life."""
    return {
        options.CHECKPOINT_INTERVAL.key: f"{rng.choice((10, 10, 20, 40))} ms",
        options.CHECKPOINT_TIMEOUT.key: f"{rng.choice((1000, 5000))} ms",
        options.CHECKPOINT_MIN_PAUSE.key: "0 ms",
        options.TOLERABLE_FAILED_CHECKPOINTS.key: "1000000",
        options.RESTART_STRATEGY.key: "fixed-delay",
        options.FIXED_DELAY_ATTEMPTS.key: "1000000",
        options.FIXED_DELAY.key: f"{rng.choice((0, 5, 20))} ms",
        options.CHECKPOINTS_AFTER_FINISH.key: "true",
    }


def _is_set(key: str, program: Mapping[str, str]) -> bool:
    option = KNOWN[key]
    return any(each in program for each in (option.key, *option.fallback_keys))


def _mode_of(config: Mapping[str, str]) -> CheckpointingMode:
    mode: CheckpointingMode = options.CHECKPOINTING_MODE.get(config)
    return mode
