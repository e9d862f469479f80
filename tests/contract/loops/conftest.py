"""The loops in Python and, where there was a compiler, in C."""

import importlib
from types import ModuleType

import pytest

from tests.contract.loops.shared import MODULES


@pytest.fixture(params=MODULES)
def module(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(f"riverrun.loops.{request.param}")
