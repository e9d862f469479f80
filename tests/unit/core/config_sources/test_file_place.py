"""Which configuration file is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from riverrun.core.config_sources.file_place import configuration_file, file_settings
from riverrun.core.errors import ConfigError


@pytest.fixture(autouse=True)
def _working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)


def write(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("my.own: 1")
    return file


def test_the_places_are_tried_in_their_documented_order(tmp_path: Path) -> None:
    named = write(tmp_path / "named.yaml")
    variable = write(tmp_path / "variable.yaml")
    folder = write(tmp_path / "folder/river.yaml")
    here = write(Path("river.yaml"))
    home = write(tmp_path / "home/.config/riverrun/river.yaml")
    environ = {
        "HOME": str(tmp_path / "home"),
        "RIVERRUN_CONF_DIR": str(folder.parent),
        "RIVERRUN_CONFIG": str(variable),
    }

    assert configuration_file(environ, named) == named
    assert configuration_file(environ) == variable
    del environ["RIVERRUN_CONFIG"]
    assert configuration_file(environ) == folder
    del environ["RIVERRUN_CONF_DIR"]
    assert configuration_file(environ) == here
    here.unlink()
    assert configuration_file(environ) == home
    home.unlink()
    assert configuration_file(environ) is None


def test_the_users_folder_is_where_the_desktop_standard_says(tmp_path: Path) -> None:
    there = write(tmp_path / "xdg/riverrun/river.yaml")
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}

    assert configuration_file(environ) == there


def test_flinks_folder_is_not_read(tmp_path: Path) -> None:
    write(tmp_path / "flink/river.yaml")
    write(tmp_path / "flink/config.yaml")

    assert configuration_file({"FLINK_CONF_DIR": str(tmp_path / "flink")}) is None


@pytest.mark.parametrize(
    ("environ", "who"),
    [
        ({"RIVERRUN_CONFIG": "absent.yaml"}, "RIVERRUN_CONFIG"),
        ({"RIVERRUN_CONF_DIR": "absent"}, "RIVERRUN_CONF_DIR"),
    ],
)
def test_a_file_that_was_named_must_be_there(environ: dict[str, str], who: str) -> None:
    with pytest.raises(ConfigError, match=f"absent.*is not there, but {who} names it"):
        configuration_file(environ)
    with pytest.raises(ConfigError, match=r"'gone\.yaml': is not there, but --config names it"):
        configuration_file({}, Path("gone.yaml"))


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "river.yaml"
    file.write_bytes(b"a: \xff")

    with pytest.raises(ConfigError, match=r"river\.yaml': cannot be read: .*utf-8"):
        file_settings(file)


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    file = tmp_path / "river.yaml"
    file.write_bytes(b"\xef\xbb\xbfmy.own: 1")

    assert [each.key for each in file_settings(file)] == ["my.own"]
