from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.unit.cluster.played_job import PlayedJob


@pytest.fixture
def play() -> Iterator[Callable[..., PlayedJob]]:
    """Makes jobs, and ends them; nothing of them is left."""
    threads = set(threading.enumerate())
    jobs: list[PlayedJob] = []

    def make(*args: Any, **kwargs: Any) -> PlayedJob:
        jobs.append(PlayedJob(*args, **kwargs))
        return jobs[-1]

    yield make
    for job in jobs:
        job.stop()
    assert set(threading.enumerate()) - threads == set()
