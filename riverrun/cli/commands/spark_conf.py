"""``river spark-conf``: the settings that a Spark application needs."""

from __future__ import annotations

import json
import shlex
from enum import StrEnum
from typing import Annotated

import typer

from riverrun.spark.driver.settings import ADVISED, SETTINGS, application_settings


class Form(StrEnum):
    """What the settings are printed for."""

    SPARK_SUBMIT = "spark-submit"
    SPARK_DEFAULTS = "spark-defaults"
    JSON = "json"


def spark_conf(
    form: Annotated[
        Form, typer.Option("--format", help="What the settings are for.")
    ] = Form.SPARK_SUBMIT,
) -> None:
    """Print the settings that a Spark application of your own needs to run jobs."""
    match form:
        case Form.SPARK_SUBMIT:
            typer.echo(_submit_arguments())
        case Form.SPARK_DEFAULTS:
            typer.echo(_defaults())
        case Form.JSON:
            typer.echo(json.dumps(application_settings(), indent=2))


def _submit_arguments() -> str:
    return " \\\n".join(
        f"--conf {shlex.quote(f'{key}={value}')}" for key, value in application_settings().items()
    )


def _defaults() -> str:
    lines = []
    for setting in SETTINGS:
        lines += [f"# {setting.why}; needed: {setting.needed}", f"{setting.key} {setting.value}"]
    for key, value in ADVISED.items():
        lines += ["# advised; the best value depends on the cluster", f"{key} {value}"]
    return "\n".join(lines)
