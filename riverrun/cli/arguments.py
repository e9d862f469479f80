"""Arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer


def matching_keys(incomplete: str) -> list[tuple[str, str]]:
    """Keys of options that begin so, with their meanings, for the shell's completion."""
    # Only a completing shell asks.
    from riverrun.core.option_meanings import meaning_of  # noqa: PLC0415
    from riverrun.core.option_registry import OPTIONS  # noqa: PLC0415

    return [
        (key, meaning_of(option))
        for key, option in sorted(OPTIONS.items())
        if key.startswith(incomplete)
    ]


def matching_definitions(incomplete: str) -> list[tuple[str, str]]:
    """``key=`` for a beginning of a key, ``key=value`` for a key whose values can be listed."""
    from riverrun.core.option_registry import KNOWN  # noqa: PLC0415

    key, equals, value = incomplete.partition("=")
    if not equals:
        return [(f"{key}=", meaning) for key, meaning in matching_keys(incomplete)]
    option = KNOWN.get(key)
    choices = () if option is None else option.type.choices
    return [(f"{key}={choice}", "") for choice in choices if choice.startswith(value)]


Script: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="SCRIPT", help="The Python file.", exists=True, readable=True),
]
ScriptArguments: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="ARGS", help="Arguments of the script, as they are."),
]
Master: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="MASTER",
        help="Where jobs run: local\\[N], spark://host:port, yarn, k8s://..., in-process.",
    ),
]
SparkMaster: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="MASTER",
        help="Where jobs run: local\\[N], spark://host:port, yarn, k8s://...",
    ),
]
Parallelism: TypeAlias = Annotated[
    int | None,
    typer.Option("--parallelism", "-p", min=1, help="Parallelism of operators that do not say."),
]
Definitions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--define",
        "-D",
        metavar="KEY=VALUE",
        help="An option; may be repeated.",
        autocompletion=matching_definitions,
    ),
]
ConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The configuration file, instead of river.yaml here or in ~/.config/riverrun.",
    ),
]
FromCheckpoint: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--from-checkpoint",
        "--fromSavepoint",
        "-s",
        metavar="PATH",
        help="Start from this checkpoint or savepoint: its folder, or its _metadata file.",
    ),
]
AllowNonRestored: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--allow-non-restored-state",
        "--allowNonRestoredState",
        "-n",
        help="Leave out state in the checkpoint that no operator of the program claims.",
    ),
]
ClaimMode: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--claim-mode",
        "--claimMode",
        "-cm",
        metavar="MODE",
        help="Whose the checkpoint is then: no_claim, nobody's (the default); claim, the job's, which "
        "deletes it in the end; legacy, nobody's, though the job builds on its files.",
    ),
]
Resume: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on in the place of a job whose driver died, from its own latest checkpoint. "
        "Without --job-id: the one job that has checkpoints in execution.checkpointing.dir.",
    ),
]
JobIdentity: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--job-id",
        metavar="HEX",
        help="The job's id, 32 hexadecimal characters; with --resume, the job to go on with, "
        "which begins anew if it has no checkpoint.",
    ),
]
PyFlink: TypeAlias = Annotated[
    bool, typer.Option("--pyflink", help="Let the script's imports of pyflink find riverrun.")
]
ProgramWords: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SCRIPT] [ARGS]...",
        help="The Python file, unless -py or -pym names the program; the rest is the program's own.",
    ),
]
PythonFile: TypeAlias = Annotated[
    str | None,
    typer.Option("--python", "-py", metavar="FILE", help="The script, as Flink's command has it."),
]
PythonModule: TypeAlias = Annotated[
    str | None,
    typer.Option("--pyModule", "-pym", metavar="MODULE", help="Run a module, as python -m does."),
]
PythonFiles: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--pyFiles",
        "-pyfs",
        metavar="FILES",
        help="What the program imports: .py files, folders or zips, with commas between them.",
    ),
]
PythonArchives: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--pyArchives",
        "-pyarch",
        metavar="FILES",
        help="Zips and tar files to unpack for the workers, with commas between them; FILE#NAME names the "
        "folder.",
    ),
]
PythonExecutable: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--pyExecutable",
        "-pyexec",
        metavar="PATH",
        help="The workers' interpreter: a path on their machines, or inside an archive.",
    ),
]
PythonRequirements: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--pyRequirements",
        "-pyreq",
        metavar="FILE",
        help="A requirements file, whose packages go along if they are pure Python; FILE#FOLDER takes them "
        "from a folder.",
    ),
]
WithPage: TypeAlias = Annotated[
    bool,
    typer.Option("--ui", help="Serve the web page of the jobs, and open it in a browser."),
]
Attach: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--detached", "-d", help="Leave the job with the JobManager, print its id, and return."
    ),
]
