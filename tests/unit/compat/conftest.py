from collections.abc import Iterator

import pytest

from riverrun.compat.pyflink import install, uninstall


@pytest.fixture
def pyflink() -> Iterator[None]:
    """``import pyflink`` finds riverrun for the length of a test."""
    install()
    yield
    uninstall()
