"""What becomes of a message that cannot be read: it fails the job, is left out, or goes to the dead letters.

A source that reads messages of others takes a ``BadRecords`` policy. Dead letters leave the source by a side
output: ``stream.get_side_output(DEAD_LETTERS)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from riverrun.api.output_tag import OutputTag


class BadRecords(Enum):
    """What a source does with a message that its format refuses."""

    FAIL = "fail"
    """The job fails, and the message says where the bad record is."""
    SKIP = "skip"
    """It is left out and counted (metric ``numBadRecords``)."""
    DEAD_LETTER = "dead-letter"
    """It goes to the side output ``DEAD_LETTERS`` with the reason."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that could not be read."""

    origin: str
    """Where it is, such as ``topic 'orders' partition 3 offset 120``."""
    reason: str
    payload: Any
    """What was found there, usually bytes."""


DEAD_LETTERS: Final = OutputTag("riverrun.dead-letters")
"""The side output of a source with ``BadRecords.DEAD_LETTER``."""
