"""Memory of large records is used again, not returned to the system and taken anew."""

from __future__ import annotations

import mmap
import platform
import subprocess
import sys

import pytest

_PROGRAM = """
import resource
from riverrun.spark.worker import allocator

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        [bytes([1]) * (1 << 20) for _ in range(8)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

allocator.keep_memory()
faults()
print(faults())
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="other allocators are left as they are"
)
def test_large_values_that_come_and_go_need_no_new_pages() -> None:
    run = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, check=True)

    assert int(run.stdout) < 50 * (1 << 20) // mmap.PAGESIZE  # of 50 rounds of eight megabytes
