"""PyFlink's names, read from its source."""

import json
from pathlib import Path

from riverrun.compat.pyflink import names, survey

SOURCES = {
    "__init__.py": "from pyflink.version import __version__\n",
    "version.py": '__version__ = "9.9"\n',
    "java_gateway.py": "def get_gateway(): ...\n",
    "common/__init__.py": (
        "from typing import Any\n"
        "from pyflink.common.types import Row\n"
        "from pyflink.java_gateway import get_gateway\n"
        "def _install():\n"
        "    from pyflink import common\n"
        "    from pyflink.formats.json import Json\n"
        "    from pyflink.formats import csv\n"
        "    setattr(common, 'Json', Json)\n"
        "    setattr(common, 'Csv', csv.Csv)\n"
        "_install()\n"
    ),
    "common/types.py": "class Row: ...\nclass _Hidden: ...\nLIMIT = 3\ndef make(): ...\n",
    "common/tests/test_types.py": "class TestRow: ...\n",
}


def write_sources(root: Path) -> Path:
    for name, text in SOURCES.items():
        path = root / "pyflink" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root / "pyflink"


def test_the_survey_lists_public_names_and_where_they_are_from(tmp_path: Path) -> None:
    found = survey.survey(write_sources(tmp_path))

    assert found == {
        "version": "9.9",
        "modules": {
            "pyflink": {"from": {"pyflink.version": ["__version__"]}},
            "pyflink.common": {
                "from": {
                    "pyflink.common.types": ["Row"],
                    "pyflink.formats.csv": ["Csv"],
                    "pyflink.formats.json": ["Json"],
                }
            },
            "pyflink.common.types": {"own": ["LIMIT", "Row", "make"]},
            "pyflink.version": {"own": ["__version__"]},
        },
    }


def test_the_text_of_the_list_is_json_with_a_line_for_each_module(tmp_path: Path) -> None:
    found = survey.survey(write_sources(tmp_path))

    text = survey.as_text(found)

    assert json.loads(text) == found
    assert len(text.splitlines()) == len(found["modules"]) + 5


def test_the_list_in_the_package_has_the_form_that_the_survey_gives() -> None:
    file = Path(names.__file__).with_name("pyflink_names.json")

    assert file.read_text() == survey.as_text(json.loads(file.read_text()))
