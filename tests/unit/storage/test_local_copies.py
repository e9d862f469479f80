"""Copies on the machine: kept while they may help, shared between processes, never in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from riverrun.storage.blobs import FileRef
from riverrun.storage.digests import digest_of
from riverrun.storage.local_copies import LocalCopies, sweep_stale


def ref_of(name: str) -> FileRef:
    return FileRef(f"s3://bucket/job/shared/{name}", len(name), digest_of(name.encode()))


def keep(copies: LocalCopies, *names: str, checkpoint: int = 1) -> None:
    for name in names:
        copies.keep_bytes(ref_of(name), name.encode(), checkpoint)


def held(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_a_copy_is_found_by_every_process_of_the_job(tmp_path: Path) -> None:
    mine, other = (LocalCopies(tmp_path, "job", owner) for owner in ("map-0", "map-1"))
    stranger = LocalCopies(tmp_path, "another-job", "map-0")
    keep(mine, "file")

    assert mine.read(ref_of("file")) == other.read(ref_of("file")) == b"file"
    assert stranger.read(ref_of("file")) is None
    assert not other.fetch(ref_of("none"), tmp_path / "target")
    assert (mine.hits, mine.misses) == (1, 0)
    assert (other.hits, other.misses) == (1, 1)


def test_a_local_file_is_linked_and_not_copied(tmp_path: Path) -> None:
    copies = LocalCopies(tmp_path / "root", "job", "map-0")
    source = tmp_path / "source"
    source.write_bytes(b"file")

    copies.keep_file(ref_of("file"), source, 1)
    assert copies.fetch(ref_of("file"), tmp_path / "deep" / "target")

    assert (tmp_path / "deep" / "target").stat().st_ino == source.stat().st_ino


def test_a_completed_checkpoint_drops_what_it_does_not_need_but_not_what_comes_after(
    tmp_path: Path,
) -> None:
    copies = LocalCopies(tmp_path, "job", "map-0")
    other = LocalCopies(tmp_path, "job", "map-1")
    keep(copies, "old", "base", checkpoint=1)
    keep(copies, "new", "never-used", checkpoint=2)
    keep(copies, "in-flight", checkpoint=3)
    keep(other, "of-other", checkpoint=1)

    copies.keep_only([ref_of("base"), ref_of("new")], 2)

    assert held(tmp_path) == [f"job/map-0/{each}" for each in ("base", "in-flight", "new")] + [
        "job/map-1/of-other"
    ]


def test_a_process_that_comes_later_drops_what_the_one_before_kept(tmp_path: Path) -> None:
    keep(LocalCopies(tmp_path, "job", "map-0"), "old", "base", checkpoint=5)
    copies = LocalCopies(tmp_path, "job", "map-0")
    assert copies.read(ref_of("old")) == b"old"

    copies.keep_only([ref_of("base")], 6)

    assert held(tmp_path) == ["job/map-0/base"]


def test_no_more_is_kept_than_the_limit_allows(tmp_path: Path) -> None:
    copies = LocalCopies(tmp_path, "job", "map-0", limit=10)

    keep(copies, "12345", "678901", "67890")

    assert held(tmp_path) == ["job/map-0/12345", "job/map-0/67890"]


def test_a_disk_that_fails_is_no_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "job").write_bytes(b"a file in the way")
    copies = LocalCopies(tmp_path, "job", "map-0")

    keep(copies, "file")
    copies.keep_only([], 1)
    copies.drop_all()

    assert copies.read(ref_of("file")) is None
    assert "no local copy file=s3://bucket/job/shared/file" in caplog.text


def test_the_copies_of_a_job_that_is_over_go(tmp_path: Path) -> None:
    one, two = (LocalCopies(tmp_path, "job", owner) for owner in ("map-0", "map-1"))
    keep(one, "a")
    keep(two, "b")

    one.drop_all()
    assert held(tmp_path) == ["job/map-1/b"]
    two.drop_all()
    assert list(tmp_path.iterdir()) == []


def test_stale_jobs_are_swept_and_living_ones_are_not(tmp_path: Path) -> None:
    keep(LocalCopies(tmp_path, "stale", "map-0"), "a")
    keep(LocalCopies(tmp_path, "alive", "map-0"), "a")
    for path in (tmp_path / "stale", tmp_path / "stale" / "map-0", tmp_path / "alive" / "map-0"):
        os.utime(path, (0, 0))
    LocalCopies(tmp_path, "alive", "map-0").keep_only([ref_of("a")], 1)

    assert sweep_stale(tmp_path) == 1
    assert sweep_stale(tmp_path / "none") == 0
    assert held(tmp_path) == ["alive/map-0/a"]
