"""With which codes ``river`` ends, so that scripts know what happened."""

from __future__ import annotations

from typing import Final

from riverrun.core.errors import ConfigError, RiverrunError

DONE: Final = 0
FAILED: Final = 1
"""The job or the operation failed."""
WRONG_USE: Final = 2
"""The command line or the configuration is wrong; nothing was done."""
NO_JOB_MANAGER: Final = 3
"""No JobManager is known, or it does not answer."""
INTERRUPTED: Final = 130
"""What a shell reports for a program that Ctrl-C ended."""


def exit_code_of(error: RiverrunError) -> int:
    """The code for a command that ended with ``error``."""
    # Only an error needs them.
    from riverrun.cli.job_managers import NoJobManager  # noqa: PLC0415
    from riverrun.client.connection import JobManagerGone  # noqa: PLC0415

    match error:
        case NoJobManager() | JobManagerGone():
            return NO_JOB_MANAGER
        case ConfigError():
            return WRONG_USE
        case _:
            return FAILED
