"""Where figures come from: the machine, the versions and the command; kept beside every saved figure."""

import os
import platform
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from benchmarks.setup_peers import PEERS, ROOT, Peer
from riverrun.spark.java import ensure_java_home

_OWN: Final = ("riverrun", "pyspark", "pyarrow", "numpy")
_CPU_FACTS: Final = Path("/proc/cpuinfo")


def provenance() -> dict[str, Any]:
    """What a reader of a figure must know to judge it, or to measure it again."""
    return {
        "date": datetime.now(UTC).isoformat(),
        "machine": {
            "cores": os.cpu_count(),
            "processor": _processor(),
            "memory_gb": _memory_gb(),
            "python": platform.python_version(),
            "system": platform.platform(),
        },
        "versions": versions(),
        "revision": revision(),
        "command": command(sys.orig_argv),
    }


def versions() -> dict[str, str]:
    """Of ours and of the peers whose environments are there."""
    found = {}
    if (java := java_version()) is not None:
        found["java"] = java
    for name in _OWN:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    for peer in PEERS.values():
        if (version := _installed(peer)) is not None:
            found[peer.name] = version
    return found


def revision(root: Path = ROOT) -> str | None:
    """The commit that is measured, with a plus where files differ from it; None outside of git."""
    commit = _output("git", "-C", str(root), "rev-parse", "--short=12", "HEAD")
    if commit is None:
        return None
    changed = _output("git", "-C", str(root), "status", "--porcelain", "--untracked-files=no")
    return f"{commit}+" if changed else commit


def java_version() -> str | None:
    """Of the Java that Spark and Flink run on."""
    environment = dict(os.environ)
    ensure_java_home(environment)
    home = environment.get("JAVA_HOME")
    said = _output(str(Path(home, "bin", "java")) if home else "java", "-version")
    quoted = re.search(r'"([^"]+)"', said or "")
    return quoted[1] if quoted else None


def _output(*words: str) -> str | None:
    try:
        done = subprocess.run(
            words, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def command(argv: list[str]) -> str:
    """The command line without the path of the interpreter.

    >>> command(["/opt/env/bin/python", "-m", "benchmarks.run", "--only", "riverrun"])
    'python -m benchmarks.run --only riverrun'
    """
    return shlex.join(["python", *argv[1:]])


def _installed(peer: Peer) -> str | None:
    package = peer.requirement.partition("==")[0]
    places = [str(place) for place in peer.home.glob("lib/python*/site-packages")]
    for found in metadata.distributions(name=package, path=places):
        return found.version
    return None


def _processor() -> str:
    if _CPU_FACTS.exists():
        for line in _CPU_FACTS.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (ValueError, OSError, AttributeError):
        return None
