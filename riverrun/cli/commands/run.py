"""``river run``: run a script."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext

import typer

from riverrun.cli.arguments import (
    AllowNonRestored,
    ClaimMode,
    ConfigFile,
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
from riverrun.cli.program_settings import command_line, effective_settings, handed_to_programs
from riverrun.cli.pyflink_names import pyflink_names
from riverrun.cli.script import run_script
from riverrun.core import options
from riverrun.core.config_sources.setting import Origin, Setting, Source


def run(  # noqa: PLR0913  (one parameter for each option)
    script: Script,
    arguments: ScriptArguments = None,
    *,
    pyflink: PyFlink = False,
    master: Master = None,
    parallelism: Parallelism = None,
    define: Definitions = None,
    config_file: ConfigFile = None,
    from_checkpoint: FromCheckpoint = None,
    allow_non_restored_state: AllowNonRestored = False,
    claim_mode: ClaimMode = None,
    resume: Resume = False,
    job_id: JobIdentity = None,
) -> None:
    """Run a script; its environment begins with the options given here."""
    start = {
        options.RESTORE_PATH.key: ("--from-checkpoint", from_checkpoint),
        options.ALLOW_NON_RESTORED.key: (
            "--allow-non-restored-state",
            "true" if allow_non_restored_state else None,
        ),
        options.CLAIM_MODE.key: ("--claim-mode", claim_mode),
        options.JOB_ID.key: ("--job-id", job_id),
        options.RESUME.key: ("--resume", "true" if resume else None),
    }
    words = {key: (name, value) for key, (name, value) in start.items() if value is not None}
    given = command_line(master, parallelism, define or (), words)
    config = effective_settings(given, config_file).values()
    if from_checkpoint is not None or resume:
        given = _looked_up(given, config, from_checkpoint, resume=resume)
    names = pyflink_names() if pyflink else nullcontext()
    with names, handed_to_programs(given, config_file):
        raise typer.Exit(run_script(script, arguments or ()))


def _looked_up(
    given: list[Setting], config: Mapping[str, str], from_checkpoint: str | None, *, resume: bool
) -> list[Setting]:
    """The settings with what only the checkpoints themselves can tell."""
    # Reads checkpoints, which few runs need.
    from riverrun.cli.starting_point import (  # noqa: PLC0415
        checkpoint_to_start_from,
        job_to_resume,
    )

    found = {setting.key: setting for setting in given}
    if from_checkpoint is not None:
        origin = Origin(Source.COMMAND_LINE, "--from-checkpoint")
        place = checkpoint_to_start_from(from_checkpoint)
        found[options.RESTORE_PATH.key] = Setting(options.RESTORE_PATH.key, place, origin)
    if resume and not options.JOB_ID.is_set(config):
        origin = Origin(Source.COMMAND_LINE, "--resume")
        job = job_to_resume(config)
        found[options.JOB_ID.key] = Setting(options.JOB_ID.key, job, origin)
    return list(found.values())
