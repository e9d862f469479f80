"""What ``pyproject.toml`` cannot say: the loops that are compiled where there is a C compiler.

Without one they are left out, and ``riverrun.loops.pure`` does the same in Python.
"""

from setuptools import Extension, setup

_FOLDER = "riverrun/loops"

setup(
    ext_modules=[
        Extension(
            "riverrun.loops._compiled",
            [
                f"{_FOLDER}/{name}.c"
                for name in (
                    "columns",
                    "holders",
                    "joins",
                    "module",
                    "pickles",
                    "runs",
                    "shapes",
                    "writers",
                )
            ],
            depends=[f"{_FOLDER}/compiled.h"],
            optional=True,
        )
    ]
)
