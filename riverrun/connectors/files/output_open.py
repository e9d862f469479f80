"""From a base path to the parts below it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from riverrun.connectors.files.output_local import LocalOutput
from riverrun.connectors.files.output_parts import Lineage, OutputFiles
from riverrun.connectors.files.paths import S3_SCHEMES
from riverrun.core.errors import ConfigError

__all__ = ["checked_base", "open_output"]


def checked_base(base: str) -> str:
    """``base`` if files can be written there exactly once.

    Raises:
        ConfigError: the store can neither rename a file in one step nor put off the end of an upload.
    """
    scheme = _scheme(base)
    if scheme != "file" and scheme not in S3_SCHEMES:
        raise ConfigError(
            f"file sink {base!r}: cannot write exactly once to {scheme + '://'!r}; expected a path (also of "
            f"a mounted file system) or s3://"
        )
    return base


def open_output(base: str, lineage: Lineage, config: Mapping[str, str]) -> OutputFiles:
    """The parts below ``base``; nothing is connected or made before it is used."""
    if _scheme(base) == "file":
        return LocalOutput(base, lineage)
    # Only a sink that uses S3 loads the software for it.
    from riverrun.connectors.files.output_s3 import S3Output  # noqa: PLC0415

    return S3Output(base, lineage, config)


def _scheme(location: str) -> str:
    return urlsplit(location).scheme if "://" in location else "file"
