"""Which configuration file is read: at most one.

1. the file that the command line names (``--config``);
2. the file that RIVERRUN_CONFIG names;
3. ``river.yaml`` in the folder that RIVERRUN_CONF_DIR names;
4. ``river.yaml`` in the working folder;
5. ``river.yaml`` in the user's configuration folder, ``~/.config/riverrun``.

A file or folder that somebody named must be there; the last two may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from riverrun.core.config_sources.setting import Setting, Source
from riverrun.core.errors import ConfigError

FILE_NAME: Final = "river.yaml"
FILE_VARIABLE: Final = "RIVERRUN_CONFIG"
FOLDER_VARIABLE: Final = "RIVERRUN_CONF_DIR"


def configuration_file(environ: Mapping[str, str], named: Path | None = None) -> Path | None:
    """The file to read, if there is one.

    Raises:
        ConfigError: a file that was named is not there.
    """
    if named is not None:
        return _existing(named, "--config")
    if environ.get(FILE_VARIABLE):
        return _existing(Path(environ[FILE_VARIABLE]), FILE_VARIABLE)
    if environ.get(FOLDER_VARIABLE):
        return _existing(Path(environ[FOLDER_VARIABLE]) / FILE_NAME, FOLDER_VARIABLE)
    return next((place for place in usual_places(environ) if place.is_file()), None)


def usual_places(environ: Mapping[str, str]) -> Iterator[Path]:
    """Where the file may be without anybody naming it."""
    yield Path(FILE_NAME)
    folder = environ.get("XDG_CONFIG_HOME")
    home = environ.get("HOME")
    if folder:
        yield Path(folder) / "riverrun" / FILE_NAME
    elif home:
        yield Path(home) / ".config" / "riverrun" / FILE_NAME


def file_settings(file: Path) -> list[Setting]:
    """The settings in ``file``.

    Raises:
        ConfigError: it cannot be read, or something in it is not understood.
    """
    # A program without a file needs no YAML.
    from riverrun.core.config_sources.yaml_text import read_yaml  # noqa: PLC0415

    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration file {str(file)!r}: cannot be read: {error}") from error
    return read_yaml(text, str(file), Source.FILE)


def _existing(file: Path, who: str) -> Path:
    if not file.is_file():
        raise ConfigError(
            f"configuration file {str(file)!r}: is not there, but {who} names it; correct {who}, or "
            f"write the file"
        )
    return file
