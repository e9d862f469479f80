"""``river run``: run a script."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext

import typer

from riverrun.cli.arguments import (
    AllowNonRestored,
    ClaimMode,
    Definitions,
    FromCheckpoint,
    JobIdentity,
    Master,
    Parallelism,
    PyFlink,
    Resume,
    Script,
    ScriptArguments,
)
from riverrun.cli.program_settings import handed_to_programs, program_settings
from riverrun.cli.pyflink_names import pyflink_names
from riverrun.cli.script import run_script
from riverrun.core import options
from riverrun.core.program_defaults import program_defaults


def run(  # noqa: PLR0913  (one parameter for each option)
    script: Script,
    arguments: ScriptArguments = None,
    *,
    pyflink: PyFlink = False,
    master: Master = None,
    parallelism: Parallelism = None,
    define: Definitions = None,
    from_checkpoint: FromCheckpoint = None,
    allow_non_restored_state: AllowNonRestored = False,
    claim_mode: ClaimMode = None,
    resume: Resume = False,
    job_id: JobIdentity = None,
) -> None:
    """Run a script; its environment begins with the options given here."""
    start = {
        options.RESTORE_PATH.key: from_checkpoint,
        options.ALLOW_NON_RESTORED.key: "true" if allow_non_restored_state else None,
        options.CLAIM_MODE.key: claim_mode,
        options.JOB_ID.key: job_id,
        options.RESUME.key: "true" if resume else None,
    }
    given = {key: value for key, value in start.items() if value is not None}
    settings = program_settings(master, parallelism, define or (), given)
    if from_checkpoint is not None or resume:
        settings |= _looked_up(settings, from_checkpoint, resume=resume)
    names = pyflink_names() if pyflink else nullcontext()
    with names, handed_to_programs(settings):
        raise typer.Exit(run_script(script, arguments or ()))


def _looked_up(
    settings: Mapping[str, str], from_checkpoint: str | None, *, resume: bool
) -> dict[str, str]:
    """What only the checkpoints themselves can tell."""
    # Reads checkpoints, which few runs need.
    from riverrun.cli.starting_point import (  # noqa: PLC0415
        checkpoint_to_start_from,
        job_to_resume,
    )

    found = {}
    config = {**program_defaults(os.environ), **settings}
    if from_checkpoint is not None:
        found[options.RESTORE_PATH.key] = checkpoint_to_start_from(from_checkpoint)
    if resume and not options.JOB_ID.is_set(config):
        found[options.JOB_ID.key] = job_to_resume(config)
    return found
