"""What a program needs beside itself, as its configuration names it, made into files to send.

python.files         -> zips of modules
python.requirements  -> a zip of the packages, installed here
python.archives      -> archives that are unpacked for the workers
pipeline.cached-files -> files as they are
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from riverrun.cluster.submission.packing import files_below, modules_in, pack
from riverrun.core import python_options as options
from riverrun.core.errors import ExternalError, ProgramError

_ZIPS: Final = frozenset({".zip", ".egg", ".whl"})
_ARCHIVES: Final = (".zip", ".jar", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_COMPILED: Final = frozenset({".so", ".pyd", ".dylib"})
_NAME: Final = re.compile(r"[\w][\w.+-]{0,199}")
_INSTALL_S: Final = 600.0
_SHOWN: Final = 2000
"""Characters of what pip said that are shown."""


@dataclass(slots=True)
class Needs:
    """Files by the names under which workers know them."""

    modules: list[tuple[str, Path]] = field(default_factory=list)
    """Zips that workers import from, the first ones first."""
    archives: list[tuple[str, Path]] = field(default_factory=list)
    data: list[tuple[str, Path]] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)
    """Names of those ``data`` that can be executed."""
    python: str | None = None


def gathered(config: Mapping[str, str], scratch: Path) -> Needs:
    """What ``config`` names; zips that are made for it go to ``scratch``.

    Raises:
        ProgramError: a file is not there, or is not what it should be.
        ExternalError: packages cannot be installed.
    """
    needs = Needs(python=options.PYTHON_EXECUTABLE.get(config))
    _add_files(needs, options.PYTHON_FILES.get(config), scratch)
    _add_requirements(needs, options.PYTHON_REQUIREMENTS.get(config), scratch)
    for part in _parts(options.PYTHON_ARCHIVES.get(config), ","):
        text, _, name = part.partition("#")
        path = _existing(options.PYTHON_ARCHIVES.key, text, "a zip or a tar file")
        if not path.name.lower().endswith(_ARCHIVES):
            raise ProgramError(
                f"option {options.PYTHON_ARCHIVES.key!r}: {text!r} is no archive; expected a name "
                f"that ends in {', '.join(_ARCHIVES)}"
            )
        needs.archives.append((_checked_name(options.PYTHON_ARCHIVES.key, name or path.name), path))
    for name, path, executable in cached_files(config):
        needs.data.append((name, path))
        if executable:
            needs.programs.append(name)
    return needs


def cached_files(config: Mapping[str, str]) -> Iterator[tuple[str, Path, bool]]:
    """Name, file and whether it can be executed, of each cached file.

    Raises:
        ProgramError: the option cannot be understood, or a file is not there.
    """
    key = options.CACHED_FILES.key
    for part in _parts(options.CACHED_FILES.get(config), ";"):
        facts = dict(each.partition(":")[::2] for each in part.split(","))
        if not {"name", "path"} <= facts.keys() <= {"name", "path", "executable"}:
            raise ProgramError(
                f"option {key!r}: cannot understand {part!r}; expected name:<name>,path:<file>, and "
                f"executable:true for a program"
            )
        path = _existing(key, facts["path"], "a file")
        yield _checked_name(key, facts["name"]), path, facts.get("executable") == "true"


def _add_files(needs: Needs, text: str | None, scratch: Path) -> None:
    loose: dict[str, Path] = {}
    for part in _parts(text, ","):
        path = _existing(options.PYTHON_FILES.key, part, "a .py file, a folder of modules or a zip")
        if path.is_file() and path.suffix in _ZIPS:
            needs.modules.append((f"added-{len(needs.modules)}.zip", path))
        else:
            loose.update(modules_in(path))
    if loose:
        target = scratch / "added-files.zip"
        pack(loose, target)
        needs.modules.append((target.name, target))


def _add_requirements(needs: Needs, text: str | None, scratch: Path) -> None:
    if not text:
        return
    key = options.PYTHON_REQUIREMENTS.key
    named, _, cache = text.partition("#")
    file = _existing(key, named, "a requirements file")
    folder = scratch / "requirements"
    command = [sys.executable, "-m", "pip", "install", "--target", str(folder), "-r", str(file)]
    command += ["--no-compile", "--disable-pip-version-check", "--quiet"]
    if cache:
        command += [
            "--no-index",
            "--find-links",
            str(_existing(key, cache, "a folder of packages")),
        ]
    try:
        done = subprocess.run(  # noqa: S603  (the program names what is installed)
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=_INSTALL_S,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as e:
        raise ExternalError(
            f"option {key!r}: packages of {named!r} were not installed within {_INSTALL_S:.0f} s; "
            f"name a folder that holds them, as 'requirements.txt#folder'"
        ) from e
    if done.returncode != 0:
        raise ExternalError(
            f"option {key!r}: packages of {named!r} cannot be installed: "
            f"{(done.stderr or done.stdout)[-_SHOWN:].strip()}"
        )
    found = files_below(folder, folder) if folder.is_dir() else {}
    compiled = sorted(name for name in found if Path(name).suffix in _COMPILED)
    if compiled:
        raise ProgramError(
            f"option {key!r}: {named!r} needs packages that are not pure Python ({compiled[0]!r}), "
            f"which cannot be imported from a zip; ship a virtual environment instead, with "
            f"add_python_archive() and set_python_executable(), or -pyarch and -pyexec"
        )
    if found:
        target = scratch / "requirements.zip"
        pack(found, target)
        needs.modules.append((target.name, target))


def _parts(text: str | None, separator: str) -> list[str]:
    return [part.strip() for part in (text or "").split(separator) if part.strip()]


def _existing(key: str, text: str, expected: str) -> Path:
    path = Path(text.removeprefix("file://")).expanduser().absolute()
    if not path.exists():
        raise ProgramError(
            f"option {key!r}: {text!r} does not exist; expected {expected} on this machine"
        )
    return path


def _checked_name(key: str, name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ProgramError(
            f"option {key!r}: is given the name {name!r}; expected letters, digits, '_', '.', '+' and '-'"
        )
    return name
