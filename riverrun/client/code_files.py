"""The modules that a program brings along: found among those that it imported, packed into one zip.

Functions of the program's main module travel by value, and packages that are installed are expected
where the workers run. What lies beside the script, or was added with ``add_python_file``, exists only
here.
"""

from __future__ import annotations

import sys
import sysconfig
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""Zips of the same files are the same bytes."""
_SKIPPED: Final = frozenset({"__pycache__"})


def own_modules(
    modules: Mapping[str, ModuleType] | None = None, added: Iterable[str] = ()
) -> dict[str, Path]:
    """What to pack: the path inside the zip -> the file. Whole packages, of which one module was imported.

    Args:
        modules: those that are imported; ``sys.modules`` if not given.
        added: files and folders that were added by name: all that is in them goes along.
    """
    found: dict[str, Path] = {}
    imported = dict(sys.modules) if modules is None else modules
    for name, module in sorted(imported.items()):
        root = _root_of(name, module)
        if root is not None:
            found.update(_files_below(root, root.parent))
    for place in added:
        path = Path(place)
        if path.is_dir():
            for child in sorted(path.iterdir()):
                found.update(_files_below(child, path))
        elif path.suffix == ".py":
            found[path.name] = path
    return found


def pack(files: Mapping[str, Path], target: Path) -> None:
    """Write the zip; the same files give the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name].read_bytes())


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


def _installed_folders() -> set[Path]:
    places = {Path(place).absolute() for place in sysconfig.get_paths().values()}
    # Where this very package is: installed elsewhere in its own way.
    return places | {Path(__file__).absolute().parents[1], Path(sys.base_prefix) / "lib"}


def _files_below(root: Path, base: Path) -> dict[str, Path]:
    if root.is_file():
        return {str(root.relative_to(base)): root}
    return {
        str(path.relative_to(base)): path
        for path in sorted(root.rglob("*"))
        if path.is_file() and not _SKIPPED.intersection(path.parts)
    }
