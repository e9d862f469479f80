"""What a sink promises about records when a job fails and goes on."""

from __future__ import annotations

from enum import Enum

__all__ = ["DeliveryGuarantee"]


class DeliveryGuarantee(Enum):
    """How often a record arrives at the outside."""

    EXACTLY_ONCE = 0
    """Once, whatever fails."""
    AT_LEAST_ONCE = 1
    """Once or, after a failure, several times."""
    NONE = 2
    """Once, unless something fails: then it may be lost or repeated."""
