"""What the surroundings of a program say about how it runs: two environment variables.

The ``river`` command sets them for the script that it runs; anybody else may too. What a program sets
itself wins.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from riverrun.core.errors import ConfigError

MASTER_VARIABLE: Final = "RIVERRUN_MASTER"
CONFIG_VARIABLE: Final = "RIVERRUN_CONF"
"""A JSON object of option keys and their values as text."""


def program_defaults(environ: Mapping[str, str]) -> dict[str, str]:
    """The options that the environment variables set.

    >>> program_defaults({"RIVERRUN_MASTER": "local[2]", "RIVERRUN_CONF": '{"parallelism.default": "3"}'})
    {'riverrun.master': 'local[2]', 'parallelism.default': '3'}
    """
    defaults = {}
    if environ.get(MASTER_VARIABLE):
        defaults["riverrun.master"] = environ[MASTER_VARIABLE]
    text = environ.get(CONFIG_VARIABLE) or "{}"
    try:
        given = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{CONFIG_VARIABLE} is {text!r}: expected a JSON object") from error
    if not isinstance(given, dict):
        raise ConfigError(f"{CONFIG_VARIABLE} is {text!r}: expected a JSON object")
    return {**defaults, **{str(key): str(value) for key, value in given.items()}}
