"""Settings on the command line, handed to the environment that the script makes.

They are defaults: what the script itself sets wins. They travel in environment variables, which
``get_execution_environment`` reads, because the script makes its environment by itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

from riverrun.core import options
from riverrun.core.errors import ConfigError
from riverrun.core.option_registry import check_config
from riverrun.core.program_defaults import CONFIG_VARIABLE, MASTER_VARIABLE, program_defaults


def program_settings(
    master: str | None,
    parallelism: int | None,
    definitions: Sequence[str],
    more: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """The options that the command line gives, checked.

    Args:
        master: where jobs run, if given.
        parallelism: of operators that do not say, if given.
        definitions: ``key=value`` texts.
        more: options by key that the command line has words of its own for.

    Raises:
        ConfigError: an unknown key, a value that cannot be read, or two values for one option.
    """
    settings: dict[str, str] = {}
    named = {options.MASTER.key: master, options.PARALLELISM.key: parallelism}
    pairs = [(key, str(value)) for key, value in named.items() if value is not None]
    for key, value in [*pairs, *more.items(), *map(_definition, definitions)]:
        if settings.setdefault(key, value) != value:
            raise ConfigError(
                f"option {key!r}: is given as {settings[key]!r} and as {value!r}; give it once"
            )
    check_config(settings)
    return settings


def _definition(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"-D {text!r}: expected key=value")
    return key.strip(), value.strip()


@contextmanager
def handed_to_programs(settings: Mapping[str, str]) -> Iterator[None]:
    """Let environments that are made in this block begin with ``settings``.

    They come before what the environment variables of this process say.
    """
    merged = {**program_defaults(os.environ), **settings}
    rest = {key: value for key, value in merged.items() if key != options.MASTER.key}
    variables = {CONFIG_VARIABLE: json.dumps(rest)} if rest else {}
    if options.MASTER.is_set(merged):
        variables[MASTER_VARIABLE] = options.MASTER.get(merged)
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
