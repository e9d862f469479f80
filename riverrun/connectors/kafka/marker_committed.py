"""Which epochs of one subtask have been written: the content of a marker."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from riverrun.connectors.kafka.sink_messages import Epoch

__all__ = ["Committed"]

KEPT_LINEAGES: Final = 100
"""Starts of a writer that are remembered. Only what the latest checkpoint holds is committed again, unless
somebody goes back to an old savepoint."""


@dataclass(frozen=True, slots=True)
class Committed:
    """Epochs by lineage: those up to a number, and single ones beyond it.

    Numbers of a lineage are committed in order; if ever they are not, what is missing stays missing.
    """

    lineages: Mapping[str, tuple[int, frozenset[int]]] = field(default_factory=dict)
    """Oldest first: that of the last commit is the last."""

    def includes(self, epoch: Epoch) -> bool:
        """Whether the epoch has been written."""
        through, beyond = self.lineages.get(epoch.lineage, (0, frozenset()))
        return epoch.number <= through or epoch.number in beyond

    def with_epochs(self, epochs: Iterable[Epoch]) -> Committed:
        """These as well."""
        lineages = dict(self.lineages)
        for epoch in epochs:
            through, beyond = lineages.pop(epoch.lineage, (0, frozenset[int]()))
            beyond |= {epoch.number}
            while through + 1 in beyond:
                through += 1
                beyond -= {through}
            lineages[epoch.lineage] = (through, beyond)
        return Committed(dict(list(lineages.items())[-KEPT_LINEAGES:]))

    def encode(self, subtask: int, checkpoint: int) -> bytes:
        """As JSON, with the subtask and the checkpoint for people to read."""
        return json.dumps(
            {
                "subtask": subtask,
                "checkpoint": checkpoint,
                "committed": [
                    [lineage, through, sorted(beyond)]
                    for lineage, (through, beyond) in self.lineages.items()
                ],
            },
            separators=(",", ":"),
        ).encode()

    @staticmethod
    def decode(marker: bytes) -> Committed:
        """What ``encode`` wrote."""
        found = json.loads(marker)["committed"]
        return Committed(
            {lineage: (through, frozenset(beyond)) for lineage, through, beyond in found}
        )
