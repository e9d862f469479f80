"""PyFlink's own example scripts, out of its package, which is fetched but not installed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REQUIREMENT = "apache-flink==2.3.*"
INSIDE = "pyflink/examples/datastream"


@pytest.fixture(scope="session")
def scripts() -> Path:
    """The folder of the scripts; fetched once, skipped with a reason where that cannot be done."""
    home = ROOT / ".cache" / "pyflink-examples"
    folder = home / INSIDE
    if not folder.exists():
        _fetch(home)
    return folder


def _fetch(home: Path) -> None:
    wheels = home / "wheels"
    fetched = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
            *("--only-binary", ":all:", "--dest", str(wheels), REQUIREMENT),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    found = sorted(wheels.glob("apache_flink-*.whl"))
    if fetched.returncode != 0 or not found:
        reason = (fetched.stderr.strip().splitlines() or ["no wheel was found"])[-1]
        pytest.skip(f"PyFlink's examples: {REQUIREMENT} cannot be fetched from PyPI: {reason}")
    with zipfile.ZipFile(found[-1]) as wheel:
        for name in wheel.namelist():
            if name.startswith(f"{INSIDE}/"):
                wheel.extract(name, home)
