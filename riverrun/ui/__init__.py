"""The web page: its files, served by the JobManager. Plain ES modules, without a build step.

``core`` asks and routes, ``parts`` are what pages are put together from, ``pages`` has one module for
each page, ``vendor`` the libraries of others (made by scripts/ui/vendor.py).
"""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
"""Where the files are; ``index.html`` is the page itself."""
