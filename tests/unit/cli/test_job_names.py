"""Which job a word means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.cli.job_names import NoSuchJob, job_named
from riverrun.rest.bodies.jobs import JobDetails

ids = st.text("0123456789abcdef", min_size=32, max_size=32)


def job(id_: str, name: str = "orders", state: str = "RUNNING") -> JobDetails:
    return JobDetails(
        jid=id_,
        name=name,
        state=state,
        start_time=0,
        end_time=-1,
        duration=0,
        last_modification=0,
        tasks={},
    )


@given(st.lists(ids, min_size=1, max_size=6, unique=True), st.integers(1, 32), st.data())
def test_a_beginning_of_an_id_means_the_one_job_that_has_it(
    found: list[str], length: int, data: st.DataObject
) -> None:
    chosen = data.draw(st.sampled_from(found))
    word = chosen[:length]
    jobs = [job(each) for each in found]

    if sum(each.startswith(word) for each in found) == 1:
        assert job_named(word, jobs).jid == chosen
    else:
        with pytest.raises(NoSuchJob, match="give more of the id"):
            job_named(word, jobs)


def test_a_name_means_the_job_that_runs_under_it() -> None:
    jobs = [job("a" * 32, state="FINISHED"), job("b" * 32), job("c" * 32, state="FAILED")]

    assert job_named("orders", jobs).jid == "b" * 32


def test_a_name_of_one_job_that_ended_is_enough() -> None:
    assert job_named("orders", [job("a" * 32, state="FINISHED")]).jid == "a" * 32


def test_a_name_that_two_jobs_run_under_is_refused_with_both() -> None:
    with pytest.raises(NoSuchJob, match=f"2 jobs are meant.*\n  {'a' * 32}.*\n  {'b' * 32}"):
        job_named("orders", [job("a" * 32), job("b" * 32)])


def test_a_name_goes_before_a_beginning_of_an_id() -> None:
    assert job_named("abc", [job("abc" + "0" * 29), job("d" * 32, "abc")]).name == "abc"


@pytest.mark.parametrize(
    ("word", "hint"),
    [("ordes", "did you mean 'orders'"), ("xyz", "river list -a shows all"), ("", "river list -a")],
)
def test_a_word_that_means_nothing_gets_a_hint(word: str, hint: str) -> None:
    with pytest.raises(NoSuchJob, match=hint):
        job_named(word, [job("a" * 32), job("b" * 32, "payments")])


def test_without_jobs_it_says_so() -> None:
    with pytest.raises(NoSuchJob, match="has no jobs"):
        job_named("orders", [])
