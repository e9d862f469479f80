"""``pyflink`` and all modules below it, made of riverrun's objects.

The finder answers for every name under ``pyflink``. Three cases meet in it:

* a module of PyFlink: a ``PyFlinkModule``, which gets its names from the table when they are asked for;
* a name that riverrun does not have, in ``from module import name``: every module here has a
  ``__path__``, so Python looks for a submodule of that name before it gives up, and the finder is
  asked. That is the place to say why the name is missing;
* anything else under ``pyflink``: the same refusal.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from riverrun.compat.pyflink.described import described, listed
from riverrun.compat.pyflink.names import defining_module, pyflink_names, why_missing
from riverrun.compat.pyflink.table import TABLE
from riverrun.core.errors import ProgramError

__all__ = ["install", "uninstall"]

ROOT: Final = "pyflink"


def target_of(module: str, name: str) -> str | None:
    """What stands for ``module.name``, as "module:name" in riverrun; None if nothing does.

    >>> target_of("pyflink.common", "Row") == target_of("pyflink.common.types", "Row")
    True
    """
    source = defining_module(module, name)
    return None if source is None else TABLE.get(source, {}).get(name)


def class_of(module: str, name: str) -> type | None:
    """The class that stands for ``module.name`` without being able to run; None if there is none."""
    source = defining_module(module, name)
    if source is None or name not in listed().get(source, {}):
        return None
    return described(source, name)


class PyFlinkModule(ModuleType):
    """A module of PyFlink whose names are riverrun's objects, loaded when they are first used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)  # Python's own questions, which need no explanation
        target = target_of(self.__name__, name)
        value: Any
        if target is not None:
            module_name, _, attribute = target.partition(":")
            value = getattr(importlib.import_module(module_name), attribute)
        else:
            value = class_of(self.__name__, name)
            if value is None:
                raise AttributeError(why_missing(f"{self.__name__}.{name}"))
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__all__})

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        # A function that uses the module as a global takes it along to a worker, where nobody
        # has called install().
        return restore_module, (self.__name__,)


class PyFlinkFinder(MetaPathFinder, Loader):
    """Finds and loads the modules under ``pyflink``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module, if PyFlink has it.

        Raises:
            ImportError: PyFlink has no such module, or it is the name of something else.
        """
        del path, target
        if fullname.partition(".")[0] != ROOT:
            return None
        if fullname not in pyflink_names().modules:
            raise ImportError(why_missing(fullname), name=fullname)
        return ModuleSpec(fullname, self, origin="riverrun", is_package=True)

    def create_module(self, spec: ModuleSpec) -> PyFlinkModule:
        return PyFlinkModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Say what the module has; its names come later."""
        public = pyflink_names().modules[module.__name__]
        names = sorted(
            name
            for name in public
            if target_of(module.__name__, name) is not None
            or class_of(module.__name__, name) is not None
        )
        module.__doc__ = f"PyFlink's {module.__name__}, provided by riverrun."
        vars(module)["__all__"] = names


_FINDER: Final = PyFlinkFinder()


def install() -> None:
    """Make ``import pyflink`` give riverrun's objects in this process, also if PyFlink is installed.

    Call it before the first import of pyflink. A second call changes nothing.

    Raises:
        ProgramError: PyFlink itself is imported already.
    """
    imported = sys.modules.get(ROOT)
    if imported is not None and not isinstance(imported, PyFlinkModule):
        place = getattr(imported, "__file__", None)
        raise ProgramError(
            f"pyflink: Flink's own package is imported already, from {place!r}; "
            f"call riverrun.compat.pyflink.install() before the first import of pyflink"
        )
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def uninstall() -> None:
    """Undo ``install``: later imports of pyflink find PyFlink itself, if it is there."""
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    for name, module in list(sys.modules.items()):
        if isinstance(module, PyFlinkModule):
            del sys.modules[name]


def restore_module(name: str) -> ModuleType:
    """A module under ``pyflink`` in a process that received a pickle of it."""
    install()
    return importlib.import_module(name)
