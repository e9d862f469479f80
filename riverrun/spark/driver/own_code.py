"""The code of a program that runs in the driver's own process."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from riverrun.cluster.submission.needs import gathered
from riverrun.cluster.submission.packing import sha256_of
from riverrun.core import python_options as options
from riverrun.graph.program_code import CodeFile, ProgramCode


def needs_code(config: Mapping[str, str], *, one_machine: bool) -> bool:
    """Whether workers need more than what they find by this process's search path."""
    python = options.PYTHON_EXECUTABLE.get(config)
    if python is not None and python != sys.executable:
        return True
    sent = [options.PYTHON_ARCHIVES, options.PYTHON_REQUIREMENTS, options.CACHED_FILES]
    if not one_machine:
        sent.append(options.PYTHON_FILES)
    return any(option.get(config) for option in sent)


def program_code(config: Mapping[str, str], folder: Path) -> ProgramCode:
    """What ``config`` names, copied to ``folder``; modules are found by this process's search path too."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        needs = gathered(config, Path(scratch))
        return ProgramCode(
            search_path=tuple(sys.path),
            files=_kept(needs.modules, folder),
            archives=_kept(needs.archives, folder),
            data=_kept(needs.data, folder),
            programs=tuple(needs.programs),
            python=needs.python,
        )


def _kept(files: Sequence[tuple[str, Path]], folder: Path) -> tuple[CodeFile, ...]:
    """The files as they are now: a program may change them before its workers start again."""
    kept = []
    for name, path in files:
        digest = sha256_of(path)
        target = folder / digest
        if not target.exists():
            shutil.copyfile(path, target)
        kept.append(CodeFile(name, digest, str(target)))
    return tuple(kept)
