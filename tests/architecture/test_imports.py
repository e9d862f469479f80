"""Who may import whom, as far as import-linter's contracts (``make lint``) do not say it already."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "riverrun"
SPARK = {"pyspark", "py4j"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names that a module imports, also those it imports by calling a function."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.Call(
                func=ast.Name(id="__import__" | "import_module")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield name


def test_every_package_has_its_place_in_the_layers() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    [layers] = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    listed = sorted(name.strip() for layer in layers for name in layer.split("|"))

    packages = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))

    assert sorted(["__main__", *packages]) == listed


def test_every_package_says_what_lives_there() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in PACKAGE.rglob("__init__.py")
        if ast.get_docstring(ast.parse(path.read_text())) is None
    ]

    assert silent == []


def test_only_modules_below_the_spark_package_import_spark() -> None:
    allowed = set((PACKAGE / "spark").rglob("*.py")) - {PACKAGE / "spark/__init__.py"}

    strangers = [
        str(path.relative_to(ROOT))
        for path in modules()
        if path not in allowed
        and any(name.split(".")[0] in SPARK for name in imported(ast.parse(path.read_text())))
    ]

    assert strangers == []


def test_names_are_imported_from_where_they_are_defined() -> None:
    from_the_top = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        and node.module == "riverrun"
        and any(
            alias.name != "__version__" and not (PACKAGE / alias.name / "__init__.py").exists()
            for alias in node.names
        )
    ]

    assert from_the_top == []


def test_imports_are_absolute() -> None:
    relative = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]

    assert relative == []


@pytest.mark.parametrize(
    "source",
    [
        "import pyspark.sql",
        "from pyspark.sql import SparkSession",
        "def f():\n    import pyspark",
        "importlib.import_module('pyspark')",
        "__import__('pyspark')",
    ],
)
def test_each_way_to_import_spark_is_noticed(source: str) -> None:
    assert [name.split(".")[0] for name in imported(ast.parse(source))] == ["pyspark"]
