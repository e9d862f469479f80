"""Which JobManager a command talks to."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import msgspec

from riverrun.jobmanager.local_clusters import LocalCluster, birth_of, noted
from tests.unit.cli.conftest import Cluster, MakeCluster, River


def test_without_any_the_command_says_what_to_do(river: River) -> None:
    said = river("list")

    assert said.code == 3
    assert "river cluster start -d" in said.err
    assert "-m host:port" in said.err


def test_one_that_does_not_answer_has_the_same_code(river: River) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    said = river("list", "-m", f"127.0.0.1:{port}")

    assert said.code == 3
    assert f"http://127.0.0.1:{port}: does not answer" in said.err


def test_an_address_that_is_none_is_a_wrong_use(river: River) -> None:
    assert river("list", "-m", "host:http").code == 2


def test_one_that_is_named_goes_before_all_others(
    river: River, cluster: Cluster, make_cluster: MakeCluster
) -> None:
    other, third = make_cluster(), make_cluster()
    other.dispatcher.add("d" * 32, "of the other")
    third.dispatcher.add("e" * 32, "of the third")
    configured = ("-D", f"rest.port={third.server.address[1]}", "-D", "rest.address=127.0.0.1")

    assert "of the other" in river("list", "-m", other.place, *configured).out
    assert "of the other" in river("list", "-m", other.url).out
    assert "of the third" in river("list", *configured).out
    assert "of the third" in river("list", "-D", f"riverrun.master={third.url}").out
    assert "of the" not in river("list").out


def test_of_several_on_this_machine_one_must_be_named(
    river: River, cluster: Cluster, make_cluster: MakeCluster
) -> None:
    other = make_cluster()
    process = os.getppid()
    second = LocalCluster.of_this_process(other.url, master="local[1]", started=2)
    second = msgspec.structs.replace(second, pid=process, born=birth_of(process) or "")
    with noted(second, os.environ):
        said = river("list")

    assert said.code == 2
    assert f"-m {cluster.place}\n  -m {other.place}" in said.err


def test_one_that_was_killed_is_not_found_and_its_file_goes(
    river: River, make_cluster: MakeCluster, state_folder: Path
) -> None:
    gone = LocalCluster.of_this_process(make_cluster().url, master="local", started=1)
    with noted(msgspec.structs.replace(gone, born="0"), os.environ):
        assert river("list").code == 3
        assert list(state_folder.glob("*")) == []
