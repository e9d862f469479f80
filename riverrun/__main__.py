"""``python -m riverrun``: the ``river`` command."""

from __future__ import annotations

from riverrun.cli.main import main

if __name__ == "__main__":
    main()
