"""Classes of packages above this one, named as text and loaded when they are needed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from riverrun.core.errors import ProgramError


def load_class(target: str, without: Callable[[str], str]) -> Any:
    """The class that ``target`` (``module:Class``) names.

    Args:
        target: which one.
        without: what to say when a package that its module needs is not installed, given that package.

    Raises:
        ProgramError: such a package is missing.

    >>> load_class("collections:Counter", lambda package: f"install {package}")("aab")["a"]
    2
    """
    module_name, _, class_name = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "riverrun":
            raise
        raise ProgramError(without(error.name)) from error
    return getattr(module, class_name)
