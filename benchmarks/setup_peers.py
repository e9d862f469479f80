"""Makes an environment for each peer, apart from ours: ``python -m benchmarks.setup_peers``.

The peers pin packages that ours must not see. Each environment is made once, under
``.cache/bench/<peer>``, by the Python that runs this (so that all systems are measured on the same
interpreter), or by another one on the path if the peer does not support that version.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
CACHE: Final = ROOT / ".cache" / "bench"


class PeerUnavailable(RuntimeError):  # noqa: N818 - reads as the fact it reports
    """A peer could not be set up; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A system to compare with, and the Python versions it is published for."""

    name: str
    requirement: str
    minors: tuple[int, ...]

    @property
    def home(self) -> Path:
        """The folder of its environment."""
        return CACHE / self.name

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        return self.home / "bin" / "python"

    @property
    def ready(self) -> bool:
        """Whether its environment is there and holds what is required now."""
        stamp = self.home / ".ready"
        return stamp.exists() and stamp.read_text() == self.requirement


PEERS: Final[Mapping[str, Peer]] = {
    peer.name: peer
    for peer in (
        Peer("pyflink", "apache-flink==2.3.*", (9, 10, 11, 12)),
        Peer("bytewax", "bytewax==0.21.*", (9, 10, 11, 12)),
        Peer("pathway", "pathway==0.33.*", (10, 11, 12, 13)),
    )
}


def ensure(peer: Peer) -> Path:
    """The peer's interpreter; its environment is made first where it is missing.

    Raises:
        PeerUnavailable: If no Python fits, or the packages cannot be installed.
    """
    if peer.ready:
        return peer.python
    base = _base_python(peer)
    log = CACHE / "logs" / f"setup-{peer.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    print(f"{peer.name}: installing {peer.requirement} into {peer.home} (log: {log})", flush=True)
    shutil.rmtree(peer.home, ignore_errors=True)
    with log.open("w") as output:
        for command in (
            [base, "-m", "venv", str(peer.home)],
            [str(peer.python), "-m", "pip", "install", "--prefer-binary", peer.requirement],
        ):
            if subprocess.run(command, stdout=output, stderr=output, check=False).returncode:
                raise PeerUnavailable(f"{peer.name}: {command!r} failed; read {str(log)!r}")
    (peer.home / ".ready").write_text(peer.requirement)
    return peer.python


def _base_python(peer: Peer) -> str:
    if sys.version_info.minor in peer.minors:
        return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    for minor in sorted(peer.minors, reverse=True):
        if found := shutil.which(f"python3.{minor}"):
            return found
    wanted = ", ".join(f"3.{minor}" for minor in peer.minors)
    raise PeerUnavailable(
        f"{peer.name}: this is Python 3.{sys.version_info.minor}, it is published for {wanted}; "
        f"put one of these on the path, or pass --no-peers"
    )


def main() -> None:
    """Set up every peer."""
    for peer in PEERS.values():
        print(f"{peer.name}: {ensure(peer)}")


if __name__ == "__main__":
    try:
        main()
    except PeerUnavailable as error:
        raise SystemExit(str(error)) from None
