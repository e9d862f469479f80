"""Options that name what a program needs beside itself: modules, packages, archives, an interpreter."""

from __future__ import annotations

from typing import Final

from riverrun.core.config_options import STRING, ConfigOption, optional

PYTHON_FILES: Final = ConfigOption(
    "python.files",
    optional(STRING),
    None,
    "what functions import: .py files, folders of modules or zips, with commas between them",
)
PYTHON_ARCHIVES: Final = ConfigOption(
    "python.archives",
    optional(STRING),
    None,
    "zips and tar files that are unpacked for the workers, with commas between them; "
    "'file#name' is found as 'name' in the working directory of functions",
)
PYTHON_EXECUTABLE: Final = ConfigOption(
    "python.executable",
    optional(STRING),
    None,
    "the interpreter of the workers: a path on their machines, or one inside an archive, such as "
    "'venv.zip/bin/python'",
)
PYTHON_REQUIREMENTS: Final = ConfigOption(
    "python.requirements",
    optional(STRING),
    None,
    "a requirements file; packages that are pure Python are installed and sent with the job. "
    "'file#folder': only packages in that folder are used",
)
CACHED_FILES: Final = ConfigOption(
    "pipeline.cached-files",
    optional(STRING),
    None,
    "files that functions find in their working directory: 'name:a,path:/p/a;name:b,path:/p/b,executable:true'",
)
