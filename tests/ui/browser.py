"""The Chromium that the tests of the page drive: one that is installed, else Playwright's own.

``python -m tests.ui.browser`` makes sure that there is one, as ``make test-ui`` does.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, sync_playwright

CHOICE: Final = "RIVERRUN_BROWSER"
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGUMENTS: Final = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
MISSING: Final = (
    f"no Chromium on this machine: expected one of {', '.join(_NAMES)} on PATH, or its path in "
    f"${CHOICE}; 'make test-ui' installs one, so does 'apt install chromium'"
)


def find_browser() -> str | None:
    """The path of a Chromium; ``None``: there is none."""
    chosen = os.environ.get(CHOICE)
    if chosen:
        return shutil.which(chosen)
    installed = next(filter(None, map(shutil.which, _NAMES)), None)
    return installed or _of_playwright()


def _of_playwright() -> str | None:
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


@contextmanager
def running_browser(path: str) -> Iterator[Browser]:
    """A Chromium without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


def _ways_to_install() -> Iterator[list[str]]:
    if os.geteuid() == 0 and shutil.which("apt-get") and platform.system() == "Linux":
        install = "apt-get install -y --no-install-recommends chromium"
        yield ["sh", "-c", f"{install} || {{ apt-get update && {install}; }}"]
    yield [sys.executable, "-m", "playwright", "install", "chromium"]


def main() -> int:
    """Install a Chromium unless there is one; the exit code."""
    if find_browser():
        return 0
    if chosen := os.environ.get(CHOICE):
        sys.stderr.write(f"browser: {CHOICE}={chosen!r} is no program that can be run\n")
        return 1
    for command in _ways_to_install():
        words = " ".join(command)
        sys.stderr.write(f"browser: none found; running: {words}\n")
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode == 0 and find_browser():
            return 0
        sys.stderr.write(f"browser: this did not bring one (exit code {done.returncode})\n")
    sys.stderr.write(f"browser: {MISSING}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
