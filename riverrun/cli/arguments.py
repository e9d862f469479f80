"""Arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

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
Parallelism: TypeAlias = Annotated[
    int | None,
    typer.Option("--parallelism", "-p", min=1, help="Parallelism of operators that do not say."),
]
Definitions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--define", "-D", metavar="KEY=VALUE", help="An option; may be repeated."),
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
