"""What the handlers of the REST interface work with."""

from __future__ import annotations

from dataclasses import dataclass, field

from riverrun.cluster.dispatcher.gateway import Dispatcher
from riverrun.rest.operations import Operations


@dataclass(frozen=True, slots=True)
class RestContext:
    """The JobManager behind the interface, and what the interface itself remembers."""

    dispatcher: Dispatcher
    operations: Operations = field(default_factory=Operations)
