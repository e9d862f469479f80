"""Which public names PyFlink has, read from its source without importing it.

This makes ``pyflink_names.json``, the list that tells "not there yet" from "no such name". For a new
release of PyFlink, unpack its wheel and run::

    python -m riverrun.compat.pyflink.survey <folder of the wheel>/pyflink > pyflink_names.json
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from riverrun.compat.pyflink.names import is_bridge

_NOT_API: Final = frozenset({"bin", "examples", "proto", "tests", "testing"})


@dataclass
class ModuleSurvey:
    """The public names of one module: its own, and those it takes from other modules."""

    own: set[str] = field(default_factory=set)
    taken: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> Mapping[str, Any]:
        """The entry of the list."""
        sources: dict[str, list[str]] = {}
        for name, module in sorted(self.taken.items()):
            sources.setdefault(module, []).append(name)
        entry: dict[str, Any] = {"own": sorted(self.own), "from": dict(sorted(sources.items()))}
        return {part: names for part, names in entry.items() if names}


def survey(root: Path) -> Mapping[str, Any]:
    """The list of names, from the folder that holds PyFlink's source.

    Args:
        root: the folder ``pyflink`` itself.
    """
    [version] = re.findall(r'__version__ = "(.+)"', (root / "version.py").read_text())
    modules = {
        module: _survey_module(ast.parse(path.read_text())).as_json()
        for module, path in sorted(_api_modules(root))
    }
    return {"version": version, "modules": modules}


def _api_modules(root: Path) -> Iterator[tuple[str, Path]]:
    for path in root.rglob("*.py"):
        parts = (root.name, *path.relative_to(root).with_suffix("").parts)
        module = ".".join(parts).removesuffix(".__init__")
        if not _NOT_API.intersection(parts) and not is_bridge(module):
            yield module, path


def _survey_module(tree: ast.Module) -> ModuleSurvey:
    found = ModuleSurvey()
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) if name != "_install":
                found.own.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.own.add(name)
            case ast.ImportFrom(module=str(module), names=names):
                found.taken |= {alias.name: module for alias in names if alias.asname is None}
            case ast.FunctionDef(name="_install"):
                found.taken |= _taken_by_setattr(node)
            case _:
                pass
    found.own = {name for name in found.own if _is_public(name)}
    found.taken = {
        name: module
        for name, module in found.taken.items()
        if _is_public(name) and module.split(".")[0] == "pyflink" and not is_bridge(module)
    }
    return found


def _taken_by_setattr(function: ast.FunctionDef) -> dict[str, str]:
    """PyFlink's packages take some names by ``setattr`` in a function that they call at once."""
    sources: dict[str, str] = {}
    taken: dict[str, str] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            sources |= {alias.name: node.module for alias in node.names}
    for node in ast.walk(function):
        match node:
            case ast.Call(args=[_, ast.Constant(value=str(name)), ast.Name(id=value)]):
                taken[name] = sources[value]
            case ast.Call(
                args=[_, ast.Constant(value=str(name)), ast.Attribute(value=ast.Name(id=value))]
            ):
                taken[name] = f"{sources[value]}.{value}"
            case _:
                pass
    return taken


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name == "__version__"


def as_text(names: Mapping[str, Any]) -> str:
    """The list as JSON with one line for each module, so that two releases can be compared."""
    modules = ",\n".join(
        f"    {json.dumps(module)}: {json.dumps(entry)}"
        for module, entry in names["modules"].items()
    )
    version = json.dumps(names["version"])
    return f'{{\n  "version": {version},\n  "modules": {{\n{modules}\n  }}\n}}\n'


if __name__ == "__main__":
    sys.stdout.write(as_text(survey(Path(sys.argv[1]))))
