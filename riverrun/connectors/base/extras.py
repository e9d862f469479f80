"""Packages that only some connectors need: asked for by name, with one line that says what to install."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from riverrun.core.errors import ProgramError


class MissingExtra(ProgramError, ImportError):  # noqa: N818
    """A connector is used whose package is not installed."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


def require(module: str, *, extra: str, user: str) -> ModuleType:
    """The module, imported now.

    Args:
        module: what to import, such as ``"confluent_kafka"``.
        extra: riverrun's extra that brings it, such as ``"kafka"``.
        user: who needs it, such as ``"KafkaSource"``.

    Raises:
        MissingExtra: it is not installed.

    >>> require("json", extra="none", user="doctest").__name__
    'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as e:
        if e.name is None or module.split(".", maxsplit=1)[0] != e.name.split(".")[0]:
            raise
        raise MissingExtra(
            f"{user}: needs the package {e.name!r}, which is not installed; run: "
            f"pip install 'riverrun[{extra}]'"
        ) from None
