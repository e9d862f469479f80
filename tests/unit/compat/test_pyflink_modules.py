"""``import pyflink`` on top of riverrun."""

import importlib
import pickle
import subprocess
import sys
import types
from typing import Any

import cloudpickle
import pytest

from riverrun.api.functions import MapFunction
from riverrun.compat.pyflink import install, uninstall
from riverrun.compat.pyflink.modules import PyFlinkModule
from riverrun.compat.pyflink.names import pyflink_names
from riverrun.core.errors import ProgramError
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.serde.row import Row
from riverrun.serde.types import Types


def names_after(statement: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(statement, names)
    return names


@pytest.mark.usefixtures("pyflink")
class TestImports:
    def test_a_name_is_the_object_of_riverrun_itself(self) -> None:
        names = names_after(
            "from pyflink.common import Row, Types\n"
            "from pyflink.common.types import Row as DefinedRow\n"
            "from pyflink.datastream import StreamExecutionEnvironment, MapFunction\n"
        )

        assert names["Row"] is names["DefinedRow"] is Row
        assert names["Types"] is Types
        assert names["StreamExecutionEnvironment"] is StreamExecutionEnvironment
        assert names["MapFunction"] is MapFunction

    def test_every_module_of_pyflink_can_be_imported(self) -> None:
        for module in pyflink_names().modules:
            assert isinstance(importlib.import_module(module), PyFlinkModule)

    def test_a_module_can_be_taken_from_its_package(self) -> None:
        names = names_after("from pyflink.common import typeinfo, time as t")

        assert names["typeinfo"].Types is Types
        assert names["t"].__name__ == "pyflink.common.time"

    def test_a_star_gives_what_riverrun_has(self) -> None:
        names = names_after("from pyflink.datastream import *")

        assert names["StreamExecutionEnvironment"] is StreamExecutionEnvironment
        assert "CustomStateBackend" not in names

    def test_the_version_is_pyflinks(self) -> None:
        assert names_after("import pyflink")["pyflink"].__version__ == pyflink_names().version

    def test_the_names_of_a_module_can_be_listed(self) -> None:
        assert "Row" in dir(names_after("import pyflink.common as common")["common"])

    @pytest.mark.parametrize(
        ("statement", "said"),
        [
            (
                "from pyflink.datastream.state_backend import CustomStateBackend",
                "pyflink.datastream.state_backend.CustomStateBackend: riverrun does not have it yet",
            ),
            (
                "from pyflink.datastream import Qwxyz",
                "pyflink.datastream.Qwxyz: PyFlink 2.3.0 has no such name",
            ),
            ("import pyflink.qwxyz", "pyflink.qwxyz: PyFlink 2.3.0 has no such name"),
        ],
    )
    def test_an_import_of_a_missing_name_says_why(self, statement: str, said: str) -> None:
        with pytest.raises(ImportError) as caught:
            names_after(statement)

        assert str(caught.value) == said

    def test_a_missing_attribute_says_why(self) -> None:
        backends = importlib.import_module("pyflink.datastream.state_backend")

        assert not hasattr(backends, "CustomStateBackend")
        with pytest.raises(AttributeError, match="CustomStateBackend: riverrun does not have it"):
            _ = backends.CustomStateBackend

    def test_the_jvm_connection_of_pyflink_is_refused(self) -> None:
        with pytest.raises(ImportError, match="belongs to PyFlink's connection to Flink's JVM"):
            names_after("from pyflink.java_gateway import get_gateway")


class TestInstallation:
    def test_a_second_installation_changes_nothing(self, pyflink: None) -> None:
        finders = list(sys.meta_path)

        install()

        assert sys.meta_path == finders

    def test_removal_leaves_nothing_behind(self) -> None:
        finders = list(sys.meta_path)
        install()
        importlib.import_module("pyflink.datastream")

        uninstall()
        uninstall()

        assert sys.meta_path == finders
        assert [name for name in sys.modules if name.split(".")[0] == "pyflink"] == []

    def test_pyflink_itself_is_not_replaced_once_it_is_imported(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = types.ModuleType("pyflink")
        real.__file__ = "site-packages/pyflink/__init__.py"
        monkeypatch.setitem(sys.modules, "pyflink", real)

        with pytest.raises(ProgramError, match=r"imported already, from 'site-packages/pyflink"):
            install()


USER_SCRIPT = """
import pyflink.common.types as types_module
from pyflink.common import Row
from pyflink.datastream.functions import MapFunction


class Pair(MapFunction):
    def map(self, value):
        return Row(value, types_module.RowKind.INSERT)


def pair(value):
    return Row(value, 1)
"""

WORKER = """
import pickle, sys
function = pickle.load(sys.stdin.buffer)
print(repr(getattr(function, "map", function)(7)[0]), "pyflink" in sys.modules)
"""


def call_in_another_process(function: Any) -> str:
    """What a process that nobody prepared makes of a pickled function."""
    completed = subprocess.run(
        [sys.executable, "-c", WORKER],
        input=cloudpickle.dumps(function),
        capture_output=True,
        check=True,
    )
    return str(completed.stdout, "utf-8").strip()


@pytest.mark.usefixtures("pyflink")
class TestPickles:
    def test_objects_are_pickled_under_the_names_of_riverrun(self) -> None:
        names = names_after(
            "from pyflink.common import Row, Types\nfrom pyflink.common.time import Time"
        )

        for value in (names["Row"](1), names["Types"].STRING(), names["Row"], names["Time"]):
            assert b"pyflink" not in pickle.dumps(value)

    def test_a_function_of_a_script_needs_no_pyflink_in_a_worker(self) -> None:
        names = {"__name__": "__main__"}
        exec(USER_SCRIPT, names)

        assert call_in_another_process(names["pair"]) == "7 False"

    def test_a_function_takes_the_module_it_uses_along(self) -> None:
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(USER_SCRIPT, names)

        assert call_in_another_process(names["Pair"]()) == "7 True"
