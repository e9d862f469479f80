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
PyFlink: TypeAlias = Annotated[
    bool, typer.Option("--pyflink", help="Let the script's imports of pyflink find riverrun.")
]
