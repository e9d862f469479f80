"""Copy the pinned libraries of the web page into riverrun/ui/vendor; with --check, only compare.

To take a newer version: change it in scripts/ui/package.json, run `npm install --package-lock-only`
in scripts/ui, then this script, and look at what changed.
"""

# ruff: noqa: INP001, T201, S603 - a script for the terminal; it runs only what is spelled out here

from __future__ import annotations

import argparse
import fcntl
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INSTALLED = ROOT / ".cache" / "ui"
"""Where npm puts the packages: those that are copied, and those that only checks need."""
VENDOR = ROOT / "riverrun" / "ui" / "vendor"


@dataclass(frozen=True, slots=True)
class Copy:
    """A file of a package, and what it is called here."""

    package: str
    file: str
    name: str
    types: str | None = None
    """The module whose types it has."""


COPIES = (
    Copy("preact", "dist/preact.module.js", "preact.js", "preact"),
    Copy("preact", "hooks/dist/hooks.module.js", "preact-hooks.js", "preact/hooks"),
    Copy("htm", "dist/htm.module.js", "htm.js", "htm"),
    Copy("@dagrejs/dagre", "dist/dagre.esm.js", "dagre.js", "@dagrejs/dagre"),
    Copy("uplot", "dist/uPlot.esm.js", "uplot.js", "uplot"),
    Copy("uplot", "dist/uPlot.min.css", "uplot.css"),
    Copy("preact", "LICENSE", "licences/preact.txt"),
    Copy("htm", "LICENSE", "licences/htm.txt"),
    Copy("@dagrejs/dagre", "LICENSE", "licences/dagre.txt"),
    Copy("@dagrejs/graphlib", "LICENSE", "licences/graphlib.txt"),
    Copy("uplot", "LICENSE", "licences/uplot.txt"),
)


def install() -> Path:
    """The folder with the packages, installed from the lock file unless they are there already."""
    INSTALLED.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "package-lock.json").read_bytes()
    done = INSTALLED / "installed.json"
    with (INSTALLED / "install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists() or done.read_bytes() != wanted:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / name, INSTALLED / name)
            command = [npm(), "ci", "--no-audit", "--no-fund", "--loglevel=error"]
            if subprocess.run(command, cwd=INSTALLED, check=False).returncode:
                raise SystemExit(
                    f"ui: {' '.join(command)} failed; the packages of scripts/ui/package.json are "
                    "needed: check the network, or set a registry with npm_config_registry"
                )
            done.write_bytes(wanted)
    return INSTALLED / "node_modules"


def npm() -> str:
    """The npm of the environment, else the one on the path."""
    ours = ROOT / ".venv" / "bin" / "npm"
    return str(ours) if ours.exists() else "npm"


def contents(packages: Path) -> dict[str, str]:
    """What belongs into the vendor folder, by the file's name."""
    files = {}
    for copy in COPIES:
        lines = (packages / copy.package / copy.file).read_text().splitlines()
        # There are no source maps here; and a browser finds modules by path, not by package.
        text = "\n".join(line for line in lines if not line.startswith("//# sourceMappingURL="))
        files[copy.name] = text.replace('from"preact"', 'from"./preact.js"').rstrip() + "\n"
        if copy.types is not None:
            files[copy.name.replace(".js", ".d.ts")] = _types(copy.types)
    return files


def _types(module: str) -> str:
    # Modules with a default export need it named: `export *` leaves it out.
    named = f"export * from '{module}';\n"
    default = f"export {{ default }} from '{module}';\n"
    return {"htm": default, "uplot": default, "@dagrejs/dagre": named + default}.get(module, named)


def main() -> int:
    """Copy or compare; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when a file differs; write none")
    arguments = parser.parse_args()
    different = []
    for name, text in contents(install()).items():
        target = VENDOR / name
        if target.exists() and target.read_text() == text:
            continue
        different.append(name)
        if not arguments.check:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    words = "differs from its package" if arguments.check else "written"
    for name in different:
        print(f"riverrun/ui/vendor/{name}: {words}")
    return 1 if arguments.check and different else 0


if __name__ == "__main__":
    sys.exit(main())
