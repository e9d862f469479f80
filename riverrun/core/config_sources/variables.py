"""Settings in environment variables.

- ``RIVERRUN_PROPERTIES``: lines ``key: value``, any keys, as in a configuration file.
- One variable for each option, named after its key: ``RIVERRUN_PARALLELISM_DEFAULT`` for
  ``parallelism.default``, ``RIVERRUN_MASTER`` for ``riverrun.master``.
- ``RIVERRUN_CONF``: a JSON object of keys and values, any keys. ``river run`` hands the command line's
  settings to its script in it.

A later one of these wins over those before it. An empty variable says nothing.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from riverrun.core.accepted_options import ACCEPTED
from riverrun.core.config_sources.file_place import FILE_VARIABLE, FOLDER_VARIABLE
from riverrun.core.config_sources.setting import Origin, Setting, Source
from riverrun.core.errors import ConfigError
from riverrun.core.option_registry import KNOWN

PREFIX: Final = "RIVERRUN_"
PROPERTIES_VARIABLE: Final = "RIVERRUN_PROPERTIES"
CONF_VARIABLE: Final = "RIVERRUN_CONF"

OTHER_VARIABLES: Final = frozenset(
    {
        PROPERTIES_VARIABLE,
        CONF_VARIABLE,
        FILE_VARIABLE,
        FOLDER_VARIABLE,
        "RIVERRUN_JAVA_SEARCH",
        "RIVERRUN_PURE",
        "RIVERRUN_STATE_DIR",
        "RIVERRUN_TEST_MARK",
    }
)
"""Variables of ours that are not named after an option."""

_SERVICE_LINK: Final = re.compile(
    r"_SERVICE_(HOST|PORT(_\w+)?)$|_PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?$"
)
_SERVICE_ADDRESS: Final = re.compile(r"(tcp|udp|sctp)://")


def variable_of(key: str) -> str:
    """The environment variable that sets the option ``key``.

    >>> variable_of("execution.checkpointing.interval"), variable_of("riverrun.master")
    ('RIVERRUN_EXECUTION_CHECKPOINTING_INTERVAL', 'RIVERRUN_MASTER')
    """
    return PREFIX + re.sub(r"[^A-Za-z0-9]", "_", key.removeprefix("riverrun.")).upper()


VARIABLES: Final[Mapping[str, str]] = {
    **{variable_of(key): key for key in sorted(ACCEPTED)},
    **{variable_of(key): option.key for key, option in KNOWN.items() if key != option.key},
    **{variable_of(option.key): option.key for option in KNOWN.values()},
}
"""Keys by the variable that sets them.

The variable of an older name sets the option itself; one that could also mean a key without effect means
the option.
"""


def variable_layers(environ: Mapping[str, str]) -> Sequence[list[Setting]]:
    """What the variables set: properties, then single options, then the JSON object.

    Raises:
        ConfigError: properties that are not YAML, or a JSON text that is not an object.
    """
    return (_properties(environ), _options(environ), json_settings(environ))


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Messages about variables that look like options and are none."""
    messages = []
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in OTHER_VARIABLES or name in VARIABLES:
            continue
        if _SERVICE_LINK.search(name):  # Kubernetes' own, for a service with our name
            continue
        known = [each.removeprefix(PREFIX) for each in (*VARIABLES, *OTHER_VARIABLES)]
        near = difflib.get_close_matches(name.removeprefix(PREFIX), known, n=1)
        advice = (
            f"did you mean {PREFIX}{near[0]}?" if near else f"{PROPERTIES_VARIABLE} takes any key"
        )
        messages.append(f"environment variable {name}: no option is called so; {advice}")
    return messages


def _properties(environ: Mapping[str, str]) -> list[Setting]:
    text = environ.get(PROPERTIES_VARIABLE, "")
    if not text.strip():
        return []
    # A program without properties needs no YAML.
    from riverrun.core.config_sources.yaml_text import read_yaml  # noqa: PLC0415

    return read_yaml(text, PROPERTIES_VARIABLE, Source.ENVIRONMENT)


def _options(environ: Mapping[str, str]) -> list[Setting]:
    return [
        Setting(VARIABLES[name], environ[name], Origin(Source.ENVIRONMENT, name))
        for name in sorted(environ)
        if name in VARIABLES and environ[name] and not _is_service_link(name, environ[name])
    ]


def _is_service_link(name: str, value: str) -> bool:
    """Whether Kubernetes set the variable, for a service that is called as an option is."""
    return bool(_SERVICE_LINK.search(name) and _SERVICE_ADDRESS.match(value))


def json_settings(environ: Mapping[str, str]) -> list[Setting]:
    """What the JSON object sets."""
    text = environ.get(CONF_VARIABLE) or "{}"
    try:
        given = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{CONF_VARIABLE}: is not JSON ({error}); expected an object") from error
    if not isinstance(given, dict):
        raise ConfigError(f"{CONF_VARIABLE}: is {type(given).__name__}; expected a JSON object")
    origin = Origin(Source.ENVIRONMENT, CONF_VARIABLE)
    return [Setting(key, str(value), origin) for key, value in given.items()]
