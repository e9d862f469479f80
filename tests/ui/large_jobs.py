"""Jobs that are too large for the machines that test: a real job's answers, made larger on their way to the page.

Nothing runs a hundred operators or a thousand subtasks here. What the REST interface says about a real job is
recorded once; then its vertices or the subtasks of one vertex are multiplied, and the page gets that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from playwright.sync_api import Page, Route

from tests.ui.job_managers import JobManager

Change = Callable[[Any], Any]


def show_many_vertices(page: Page, job_manager: JobManager, job: str, count: int) -> list[str]:
    """Let the page see the job with this many vertices, in rows of pairs that fan out and join; their names."""
    ids = [f"{n:032x}" for n in range(count)]
    names = [f"operator {n}" for n in range(count)]

    def detail(answer: Any) -> Any:
        vertex, node = answer["vertices"][-1], answer["plan"]["nodes"][-1]
        answer["vertices"] = [
            {**vertex, "id": each, "name": name} for each, name in zip(ids, names, strict=True)
        ]
        answer["plan"]["nodes"] = [_node(node, ids, n, names[n]) for n in range(count)]
        return answer

    def flow(answer: Any) -> Any:
        answer["vertices"] = [{**answer["vertices"][-1], "id": each} for each in ids]
        return answer

    _answer(page, job_manager, f"/jobs/{job}", detail)
    _answer(page, job_manager, f"/jobs/{job}/flow", flow)
    return names


def _node(like: Any, ids: list[str], n: int, name: str) -> Any:
    # 0 -> (1, 2) -> 3 -> (4, 5) -> 6 ...
    before = {0: [n - 2, n - 1], 1: [n - 1], 2: [n - 2]}[n % 3] if n else []
    edge = {"ship_strategy": "REBALANCE", "exchange": "pipelined_bounded"}
    return {
        **like,
        "id": ids[n],
        "description": name,
        "operators": [{"name": name, "parent": None}],
        "inputs": [{"num": num, "id": ids[each], **edge} for num, each in enumerate(before)],
    }


def show_many_subtasks(
    page: Page, job_manager: JobManager, job: str, vertex: str, count: int
) -> None:
    """Let the page see one vertex of the job with this many subtasks."""

    def parallel(answer: Any) -> Any:
        for each in (*answer["vertices"], *answer["plan"]["nodes"]):
            if each["id"] == vertex:
                each["parallelism"] = count
        return answer

    def subtasks(answer: Any) -> Any:
        if "parallelism" in answer:
            answer["parallelism"] = count
        one = answer["subtasks"][0]
        answer["subtasks"] = [{**deepcopy(one), "subtask": n} for n in range(count)]
        return answer

    def metrics(answer: Any) -> Any:
        first = [each for each in answer["metrics"] if each["id"].startswith("0.")]
        answer["metrics"] = [
            {**each, "id": f"{n}{each['id'].removeprefix('0')}"}
            for n in range(count)
            for each in first
        ]
        return answer

    path = f"/jobs/{job}/vertices/{vertex}"
    _answer(page, job_manager, f"/jobs/{job}", parallel)
    for each in ("", "/backpressure", "/subtasktimes"):
        _answer(page, job_manager, path + each, subtasks)
    _answer(page, job_manager, f"{path}/metrics", metrics)


def _answer(page: Page, job_manager: JobManager, path: str, change: Change) -> None:
    known: dict[str, Any] = {}

    def answer(route: Route) -> None:
        asked = route.request.url.removeprefix(job_manager.url)
        if asked not in known:
            known[asked] = change(job_manager.get(asked))
        route.fulfill(json=known[asked])

    page.route(re.compile(f"{re.escape(path)}(\\?|$)"), answer)
