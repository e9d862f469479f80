"""Shows the page in the reader's browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Mapping

PORTS = "8081-8180,0"
"""Where the page of a program of its own is served: the usual port, or the next that is free."""


def open_page(url: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Open ``url`` in a browser with windows; False where there is none: a text browser is no help."""
    if not has_windows(environment, sys.platform):
        return False
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False


def has_windows(environment: Mapping[str, str], platform: str) -> bool:
    """Whether a browser could show itself; one that the user named counts as such.

    >>> has_windows({}, "linux"), has_windows({"DISPLAY": ":0"}, "linux"), has_windows({}, "darwin")
    (False, True, True)
    """
    if platform in ("darwin", "win32"):
        return True
    return any(environment.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
