"""`/jars`: programs are uploaded, shown as plans, and run."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from riverrun.rest.bodies.jobs import JobPlan, Plan, PlanInput, PlanNode, PlanOperator
from riverrun.rest.bodies.programs import (
    PlanRequest,
    ProgramEntry,
    ProgramFile,
    ProgramList,
    ProgramStarted,
    ProgramUploaded,
    RunRequest,
)
from riverrun.rest.context import ProgramOrder, Programs, RestContext
from riverrun.rest.problems import HttpProblem
from riverrun.rest.routing import BodyKind, Call, Nothing, Route, UploadedFile

_MAIN: Final = "__main__"


class OfProgram(msgspec.Struct, frozen=True):
    """The path names a program."""

    jarid: str


AboutProgram: TypeAlias = Call[OfProgram, Nothing, None]


def all_of_them(rest: RestContext, call: Call[Nothing, Nothing, None]) -> ProgramList:
    """The programs that were uploaded."""
    del call
    files = [
        ProgramFile(id=each.id, name=each.name, uploaded=each.uploaded, entry=[ProgramEntry(_MAIN)])
        for each in _programs(rest).all()
    ]
    return ProgramList(rest.address(), files)


def upload(rest: RestContext, call: Call[Nothing, Nothing, UploadedFile]) -> ProgramUploaded:
    """Keep a program: a .py file, or a .zip with a __main__.py."""
    return ProgramUploaded(filename=_programs(rest).add(call.body.name, call.body.path))


def delete(rest: RestContext, call: AboutProgram) -> None:
    """Forget a program."""
    _programs(rest).delete(call.path.jarid)


def run(rest: RestContext, call: Call[OfProgram, Nothing, RunRequest]) -> ProgramStarted:
    """Run a program; answers when it has sent its job."""
    wish = call.body
    order = ProgramOrder(
        arguments=tuple(wish.arguments),
        module=wish.entry,
        parallelism=wish.parallelism,
        savepoint=wish.savepoint,
        allow_non_restored=bool(wish.allow_non_restored),
        claim_mode=wish.claim_mode,
        job=wish.job,
        config=wish.config,
    )
    return ProgramStarted(str(_programs(rest).run(call.path.jarid, order)))


def plan(rest: RestContext, call: Call[OfProgram, Nothing, PlanRequest]) -> JobPlan:
    """What a program would run."""
    wish = call.body
    order = ProgramOrder(
        arguments=tuple(wish.arguments),
        module=wish.entry,
        parallelism=wish.parallelism,
        config=wish.config,
    )
    nodes = [_node(each) for each in _programs(rest).plan(call.path.jarid, order)]
    return JobPlan(Plan(jid=wish.job or "0" * 32, name=call.path.jarid, nodes=nodes))


def _node(vertex: dict[str, Any]) -> PlanNode:
    return PlanNode(
        id=vertex["id"],
        parallelism=vertex["parallelism"],
        description=vertex["name"],
        inputs=[PlanInput(num=num, **each) for num, each in enumerate(vertex["inputs"])],
        operators=[PlanOperator(**each) for each in vertex["operators"]],
    )


def _programs(rest: RestContext) -> Programs:
    if rest.programs is None:
        raise HttpProblem(
            403,
            "this JobManager takes no programs: it runs one of its own, or web.submit.enable is off",
        )
    return rest.programs


ROUTES: Final = (
    Route("GET", "/jars", all_of_them, gives=ProgramList),
    Route("POST", "/jars/upload", upload, gives=ProgramUploaded, body=BodyKind.FILE, slow=True),
    Route("DELETE", "/jars/{jarid}", delete, of=OfProgram, slow=True),
    Route(
        "POST",
        "/jars/{jarid}/plan",
        plan,
        gives=JobPlan,
        of=OfProgram,
        takes=PlanRequest,
        slow=True,
    ),
    Route(
        "POST",
        "/jars/{jarid}/run",
        run,
        gives=ProgramStarted,
        of=OfProgram,
        takes=RunRequest,
        slow=True,
    ),
)
