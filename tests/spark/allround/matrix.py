"""All ways to take a checkpoint and to keep state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

MODES: Mapping[str, Mapping[str, str]] = {
    "aligned": {},
    "unaligned": {"execution.checkpointing.unaligned.enabled": "true"},
    "timeout": {
        "execution.checkpointing.unaligned.enabled": "true",
        "execution.checkpointing.aligned-checkpoint-timeout": "20 ms",
    },
}
BACKENDS = ("hashmap", "rocksdb")


@dataclass(frozen=True, slots=True)
class Way:
    """One combination."""

    mode: str
    backend: str
    incremental: bool

    @property
    def config(self) -> dict[str, str]:
        """The options that stand for it."""
        return {
            **MODES[self.mode],
            "state.backend.type": self.backend,
            "execution.checkpointing.incremental": str(self.incremental).lower(),
        }

    def __str__(self) -> str:
        return f"{self.mode}-{self.backend}-{'incremental' if self.incremental else 'full'}"


WAYS = [Way(*each) for each in product(MODES, BACKENDS, (False, True))]
