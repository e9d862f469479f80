"""What the handlers of the REST interface work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from riverrun.cluster.dispatcher.gateway import Dispatcher, Submissions
from riverrun.rest.operations import Operations


@dataclass(frozen=True, slots=True)
class RestContext:
    """The JobManager behind the interface, and what the interface itself remembers."""

    dispatcher: Dispatcher
    operations: Operations = field(default_factory=Operations)
    submissions: Submissions | None = None
    """Takes jobs and files of other processes; ``None`` where only this process runs jobs."""
    upload_limit: int = 100 << 20
    """Bytes of the largest body that is taken."""
    shut_down: Callable[[], None] | None = None
    """Lets the JobManager end, soon; ``None`` where it ends with its program."""
