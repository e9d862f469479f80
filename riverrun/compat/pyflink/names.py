"""PyFlink's own public names, and what to say about one that riverrun cannot give."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple

BRIDGES: Final = (
    "pyflink.find_flink_home",
    "pyflink.fn_execution",
    "pyflink.java_gateway",
    "pyflink.pyflink_callback_server",
    "pyflink.pyflink_gateway_server",
    "pyflink.serializers",
    "pyflink.shell",
    "pyflink.util",
)
"""Modules by which PyFlink talks to Flink's JVM: nothing here takes their place."""


class Names(NamedTuple):
    """The list in ``pyflink_names.json``."""

    version: str
    modules: Mapping[str, Mapping[str, str]]
    """Module -> public name -> the module that defines it."""


@cache
def pyflink_names() -> Names:
    """PyFlink's public names, by module."""
    text = resources.files(__package__).joinpath("pyflink_names.json").read_text()
    listed: Mapping[str, Any] = json.loads(text)
    return Names(
        listed["version"],
        {module: _by_name(module, entry) for module, entry in listed["modules"].items()},
    )


def _by_name(module: str, entry: Mapping[str, Any]) -> Mapping[str, str]:
    taken = {name: source for source, names in entry.get("from", {}).items() for name in names}
    return taken | dict.fromkeys(entry.get("own", ()), module)


def defining_module(module: str, name: str) -> str | None:
    """The PyFlink module in which ``module.name`` is defined; None if PyFlink has no such name."""
    modules = pyflink_names().modules
    seen: set[str] = set()
    while module not in seen:
        seen.add(module)
        source = modules.get(module, {}).get(name)
        if source is None or source == module:
            return source
        module = source
    return None


def is_bridge(module: str) -> bool:
    """Whether the module belongs to PyFlink's connection to the JVM.

    >>> is_bridge("pyflink.java_gateway"), is_bridge("pyflink.util.java_utils"), is_bridge("pyflink.common")
    (True, True, False)
    """
    return any(module == bridge or module.startswith(f"{bridge}.") for bridge in BRIDGES)


def why_missing(full_name: str) -> str:
    """Why ``full_name`` (a module, or a name in a module) cannot be imported from riverrun.

    >>> why_missing("pyflink.datastream.window.TumblingWindow")  # doctest: +ELLIPSIS
    "pyflink.datastream.window.TumblingWindow: PyFlink ... has no such name; did you mean ...?"
    """
    if is_bridge(full_name):
        return (
            f"{full_name}: belongs to PyFlink's connection to Flink's JVM, and riverrun has none; "
            f"remove the import"
        )
    module, _, name = full_name.rpartition(".")
    if defining_module(module, name) is not None:
        return f"{full_name}: riverrun does not have it yet"
    version, modules = pyflink_names()
    near = difflib.get_close_matches(name, _inside(module, modules), n=1)
    advice = f"; did you mean {near[0]!r}?" if near else ""
    return f"{full_name}: PyFlink {version} has no such name{advice}"


def _inside(module: str, modules: Mapping[str, Mapping[str, str]]) -> list[str]:
    below = [known.rpartition(".")[2] for known in modules if known.rpartition(".")[0] == module]
    return [*modules.get(module, ()), *below]
