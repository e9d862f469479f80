from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.compatibility.held_source import HOLD


@pytest.fixture(autouse=True)
def nobody_is_held() -> Iterator[None]:
    """Sources stand still only in the test that wants it, whatever a test before left behind."""
    HOLD.open()
    yield
    HOLD.open()
