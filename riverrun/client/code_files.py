"""The modules that a program brings along: found among those that it imported.

Functions of the program's main module travel by value, and packages that are installed are expected
where the workers run. What lies beside the script exists only here.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from riverrun.cluster.submission.packing import files_below


def own_modules(modules: Mapping[str, ModuleType] | None = None) -> dict[str, Path]:
    """What to pack: the path inside the zip -> the file. Whole packages, of which one module was imported.

    Args:
        modules: those that are imported; ``sys.modules`` if not given.
    """
    found: dict[str, Path] = {}
    imported = dict(sys.modules) if modules is None else modules
    for name, module in sorted(imported.items()):
        root = _root_of(name, module)
        if root is not None:
            found.update(files_below(root, root.parent))
    return found


def zips_on_the_path(path: Iterable[str] | None = None) -> list[Path]:
    """Zips that modules are imported from and that are not part of what is installed."""
    found = [Path(place).absolute() for place in (sys.path if path is None else path) if place]
    return [each for each in found if each.is_file() and not _is_installed(each)]


def _root_of(name: str, module: ModuleType) -> Path | None:
    """The file or package folder to pack for a module; ``None`` for one that is installed or no file."""
    if "." in name or name in ("__main__", "__mp_main__", "riverrun"):
        return None
    place = getattr(module, "__file__", None)
    if place is None:
        return None
    path = Path(place).absolute()
    if not path.is_file() or path.suffix != ".py" or _is_installed(path):
        return None
    return path.parent if path.name == "__init__.py" else path


def _is_installed(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _installed_folders())


@cache
def _installed_folders() -> set[Path]:
    places = {Path(place).absolute() for place in sysconfig.get_paths().values()}
    # Where this very package is: installed elsewhere in its own way.
    return places | {Path(__file__).absolute().parents[1], Path(sys.base_prefix) / "lib"}
