"""The public names of the package."""

import ast
from pathlib import Path

import riverrun
from riverrun.core.public_homes import HOMES


def public_names() -> list[str]:
    return list(getattr(riverrun, "__all__", []))


def test_type_checkers_find_every_public_name_where_it_is_defined() -> None:
    stub = Path(riverrun.__file__).with_suffix(".pyi")
    declared = {
        alias.asname: statement.module
        for statement in ast.parse(stub.read_text()).body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }

    assert declared == dict(HOMES)


def test_every_public_name_is_there() -> None:
    assert [name for name in public_names() if not hasattr(riverrun, name)] == []


def test_every_public_name_has_a_docstring_of_its_own() -> None:
    values = {name: getattr(riverrun, name) for name in public_names()}

    silent = [
        name
        for name, value in values.items()
        if isinstance(value, type) and not value.__dict__.get("__doc__")
    ]

    assert silent == []
