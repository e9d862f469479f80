"""The reference pages say what the code says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from riverrun.core.option_meanings import MEANINGS
from riverrun.core.option_registry import OPTIONS
from riverrun.core.public_homes import HOMES

DOCS = Path(__file__).parents[2] / "docs"
SCRIPT = "docs/generate_reference.py"


@pytest.fixture(scope="module")
def generator() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "generate_reference.py"))


@pytest.mark.parametrize("name", ["configuration.md", "api.md"])
def test_a_generated_page_is_up_to_date(name: str, generator: dict[str, Any]) -> None:
    page = (DOCS / "reference" / name).read_text()

    assert page == generator["PAGES"][name](), f"run python {SCRIPT}"


def test_every_option_is_on_the_configuration_page_once(generator: dict[str, Any]) -> None:
    rows = re.findall(r"^\| `(.+?)` \|", generator["configuration_page"](), re.MULTILINE)

    assert sorted(rows) == sorted(OPTIONS)


def test_meanings_are_given_for_options_that_exist() -> None:
    assert set(MEANINGS) <= set(OPTIONS)


def test_the_list_of_public_names_is_the_packages_own() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (DOCS / "reference/api.md").read_text(), re.MULTILINE)

    assert sorted(rows) == sorted(HOMES)
