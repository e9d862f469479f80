"""The coordinator among subtasks, a store and a shell that do things in any order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from riverrun.checkpoint import coordinator_events as ev
from riverrun.checkpoint.coordinator import CheckpointCoordinator
from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.checkpoint.plan import CheckpointPlan
from riverrun.checkpoint.references import files_of
from riverrun.checkpoint.settings import CheckpointSettings
from riverrun.checkpoint.shared_files import SharedFiles
from riverrun.checkpoint.statistics import CheckpointStatus
from riverrun.core.ids import SubtaskId
from riverrun.core.lifecycle import JobStatus
from riverrun.graph.job_graph import JobGraph
from riverrun.protocol.barriers import SavepointOrder
from riverrun.protocol.snapshots import (
    KeyedPart,
    KeyedSnapshot,
    OperatorSnapshot,
    SnapshotTimes,
    SubtaskSnapshot,
)
from riverrun.storage.blobs import FileRef

STEPS = 500


class World:
    """Everybody that the coordinator deals with; checks each of its decisions."""

    def __init__(self, plan: CheckpointPlan, chosen: CheckpointSettings, random: Random) -> None:
        self.plan, self.settings, self.random = plan, chosen, random
        self.coordinator = CheckpointCoordinator(chosen, plan, SharedFiles(), 1)
        self.now = 0.0
        self.store: set[str] = set()
        self.names = count()
        self.messages: list[ev.CoordinatorEvent] = []
        """Acknowledgements on their way, and perhaps twice."""
        self.triggers: list[ev.Trigger] = []
        self.writes: dict[int, CheckpointMetadata] = {}
        self.written: set[int] = set()
        self.ever_written: set[int] = set()
        self.aborted: set[int] = set()
        self.asked: set[int] = set()
        self.answered: set[int] = set()
        self.accepted: dict[int, set[SubtaskId]] = {}
        self.ended_at = -1e9
        self.running: set[SubtaskId] = set()
        self.over: set[SubtaskId] = set()
        self.taken: set[tuple[SubtaskId, int]] = set()
        self.hearsay: dict[SubtaskId, list[int]] = {}
        self.own: dict[SubtaskId, dict[int, list[str]]] = {}
        self.relied_on: dict[SubtaskId, list[str]] = {}
        self.savepoints: dict[int, SavepointOrder] = {}
        self.complete_savepoints: set[str] = set()

    def tell(self, event: ev.CoordinatorEvent) -> None:
        """Hand a fact to the coordinator and look at everything it decides."""
        failed = self.coordinator.statistics.counts.failed
        wished = bool(self.asked - self.answered)
        before = self.now
        for decision in self.coordinator.handle(event, self.now):
            self.check(decision, wished=wished, hurried=self.over >= self.running)
        deadline = self.coordinator.deadline()
        assert deadline is None or deadline > before
        statistics = self.coordinator.statistics
        on_their_way = [
            each
            for each in statistics.history
            if each.status is CheckpointStatus.IN_PROGRESS and not each.is_savepoint
        ]
        assert len(on_their_way) <= self.settings.max_concurrent
        newest = statistics.latest.failed
        if statistics.counts.failed > failed and newest is not None and self.counted(event):
            self.ended_at = self.now
        for completed in self.coordinator.retained:
            assert self.files(completed.metadata) | {completed.location} <= self.store
        assert len(self.coordinator.retained) <= self.settings.retained

    def counted(self, event: ev.CoordinatorEvent) -> bool:
        return isinstance(event, ev.Declined | ev.MetadataFailed | ev.TimePassed)

    def check(  # noqa: C901  (one case for each decision)
        self, decision: ev.CoordinatorDecision, *, wished: bool, hurried: bool
    ) -> None:
        match decision:
            case ev.Trigger(checkpoint, _, options, tasks):
                assert checkpoint > (self.triggers[-1].checkpoint if self.triggers else 0)
                assert tasks == self.plan.heads(self.running)
                assert self.coordinator.stopped_with is None
                if options.savepoint is not None:
                    self.savepoints[checkpoint] = options.savepoint
                elif not wished and not hurried:
                    assert self.now >= self.ended_at + self.settings.min_pause_ms
                self.triggers.append(decision)
                self.accepted[checkpoint] = set(self.running)
            case ev.WriteMetadata(metadata, folder):
                order = self.savepoints.get(metadata.checkpoint)
                assert folder == (None if order is None else order.folder)
                assert metadata.savepoint == (order is not None)
                self.check_write(metadata)
            case ev.TellCompleted(checkpoint, tasks):
                assert checkpoint in self.written
                assert checkpoint not in self.aborted
                assert set(tasks) == self.running
                assert checkpoint not in self.savepoints or self.savepoints[checkpoint].stop
                self.ended_at = self.now
                for task in tasks:
                    self.hearsay[task].append(checkpoint)
            case ev.TellAborted(checkpoint, tasks):
                assert set(tasks) == self.running
                self.aborted.add(checkpoint)
            case ev.DeleteFiles(locations):
                self.store -= set(locations)
            case ev.DiscardSavepoint(folder):
                assert folder not in self.complete_savepoints
                self.store -= {path for path in self.store if path.startswith(f"{folder}/")}
            case ev.AnswerRequest(request, checkpoint, location, reason):
                assert request not in self.answered
                assert (checkpoint is None) == (reason is not None)
                self.answered.add(request)
                if checkpoint in self.savepoints:
                    assert location in self.store
                    self.complete_savepoints.add(self.savepoints[checkpoint].folder)
            case ev.FailAttempt():
                self.messages.append(ev.AttemptEnded("too many failures"))

    def check_write(self, metadata: CheckpointMetadata) -> None:
        checkpoint = metadata.checkpoint
        assert checkpoint not in self.ever_written
        assert checkpoint not in self.aborted
        self.ever_written.add(checkpoint)
        self.writes[checkpoint] = metadata
        assert [(each.vertex, each.subtask) for each in metadata.subtasks] == [
            (task.vertex.value, task.index) for task in self.plan.subtasks
        ]
        for part, task in zip(metadata.subtasks, self.plan.subtasks, strict=True):
            if task in self.accepted[checkpoint]:
                assert (task, checkpoint) in self.taken
            else:
                assert part == SubtaskSnapshot(task.vertex.value, task.index, finished=True)

    def files(self, part: CheckpointMetadata | SubtaskSnapshot) -> set[str]:
        return {file.path for file in files_of(part)}

    # what the others do

    def begin(self) -> None:
        """The next attempt, from the newest checkpoint."""
        self.running = set(self.plan.subtasks)
        self.over = set()
        self.hearsay = {task: [] for task in self.running}
        self.own = {task: {} for task in self.running}
        latest = self.coordinator.latest
        parts = () if latest is None else latest.metadata.subtasks
        self.relied_on = {task: [] for task in self.running}
        for task, part in zip(self.plan.subtasks, parts, strict=False):
            self.relied_on[task] = sorted(self.files(part))
        if latest is not None:
            self.tell(ev.AttemptRestored(latest.id, latest.location))
        self.tell(ev.AttemptRunning())

    def end(self) -> None:
        self.running = set()
        self.tell(ev.AttemptEnded("killed"))

    def snapshot(self, task: SubtaskId, checkpoint: int) -> SubtaskSnapshot:
        """What the task writes: something new, and what it believes to be in the store."""
        order = self.savepoints.get(checkpoint)
        folder = "" if order is None else f"{order.folder}/"
        fresh = [
            f"{folder}{task}-{checkpoint}-{next(self.names)}"
            for _ in range(self.random.randint(0, 2))
        ]
        self.store |= set(fresh)
        old = [path for path in self.relied_on[task] if self.random.random() < 0.8]
        if order is not None:
            old = []
        self.own[task][checkpoint] = old + fresh
        parts = tuple(
            KeyedPart(path, FileRef(path, 1, "d"), shared=True) for path in (*old, *fresh)
        )
        operator = OperatorSnapshot("x", KeyedSnapshot("hashmap", 0, 127, (), parts))
        over = task in self.over
        return SubtaskSnapshot(task.vertex.value, task.index, (operator,), finished=over)

    def acknowledge(self) -> None:
        """Some task takes part in some checkpoint, which need not be on its way any more."""
        if not self.triggers or not self.running:
            return
        checkpoint = self.random.choice(
            self.triggers[-self.settings.max_concurrent - 2 :]
        ).checkpoint
        task = self.random.choice(sorted(self.running))
        if (task, checkpoint) in self.taken or task not in self.accepted[checkpoint]:
            return
        self.taken.add((task, checkpoint))
        part = self.snapshot(task, checkpoint)
        self.messages += [ev.Acknowledged(task, checkpoint, part, SnapshotTimes())] * (
            2 if self.random.random() < 0.1 else 1
        )

    def deliver(self) -> None:
        if self.messages:
            event = self.messages.pop(self.random.randrange(len(self.messages)))
            if isinstance(event, ev.AttemptEnded):
                self.running = set()
            self.tell(event)

    def hear(self) -> None:
        """A task hears of a complete checkpoint, perhaps long after."""
        task = self.random.choice(self.plan.subtasks)
        heard = self.hearsay.get(task)
        if heard:
            checkpoint = heard.pop(0)
            self.relied_on[task] = self.own[task].get(checkpoint, self.relied_on[task])

    def decline(self) -> None:
        if self.triggers and self.running:
            task = self.random.choice(sorted(self.running))
            checkpoint = self.triggers[-1].checkpoint
            if (task, checkpoint) not in self.taken:
                self.taken.add((task, checkpoint))
                self.tell(ev.Declined(task, checkpoint, "full"))

    def settle_write(self) -> None:
        if not self.writes:
            return
        checkpoint = self.random.choice(sorted(self.writes))
        del self.writes[checkpoint]
        order = self.savepoints.get(checkpoint)
        location = f"chk-{checkpoint}/_metadata" if order is None else f"{order.folder}/_metadata"
        fails = self.random.random() < 0.2
        if not fails or self.random.random() < 0.5:
            self.store.add(location)
        if fails:
            self.tell(ev.MetadataFailed(checkpoint, "unreachable", location))
        else:
            self.written.add(checkpoint)
            self.tell(ev.MetadataWritten(checkpoint, location, 1))

    def finish(self) -> None:
        """A task finishes, whether or not it has waited for a checkpoint."""
        if len(self.running) > 1:
            task = self.random.choice(sorted(self.running))
            self.running.discard(task)
            self.over.discard(task)
            self.tell(ev.SubtaskFinished(task))

    def input_over(self) -> None:
        if self.running:
            task = self.random.choice(sorted(self.running))
            self.over.add(task)
            self.tell(ev.SubtaskInputOver(task))

    def ask(self) -> None:
        request = len(self.asked)
        self.asked.add(request)
        self.tell(ev.CheckpointRequested(request))

    def ask_savepoint(self) -> None:
        request = len(self.asked)
        self.asked.add(request)
        stop = self.random.random() < 0.1
        folder = f"/savepoints/savepoint-000000-{request * 1000:012x}"
        order = SavepointOrder(folder, stop=stop, drain=stop and self.random.random() < 0.5)
        self.tell(ev.SavepointRequested(request, order))

    def pass_time(self) -> None:
        self.now += self.random.choice((1, 5, 10, 20, 50, 50, 50, 400))
        self.tell(ev.TimePassed())

    def attempt(self) -> None:
        if self.running:
            self.end()
        elif not any(isinstance(each, ev.AttemptEnded) for each in self.messages):
            self.begin()

    def step(self) -> None:
        weighted: list[tuple[int, Callable[[], None]]] = [
            (90, self.acknowledge),
            (60, self.deliver),
            (20, self.hear),
            (12, self.pass_time),
            (20, self.settle_write),
            (1, self.decline),
            (1, self.finish),
            (1, self.input_over),
            (1, self.ask),
            (2, self.ask_savepoint),
            (1 if self.running else 50, self.attempt),
        ]
        weights = [weight for weight, _ in weighted]
        self.random.choices([act for _, act in weighted], weights)[0]()

    def come_to_rest(self) -> None:
        """Everything that is on its way arrives; the attempt is over."""
        self.end()
        while self.messages:
            self.deliver()
        while self.writes:
            self.settle_write()


@given(
    seed=st.integers(0, 2**32),
    concurrent=st.integers(1, 3),
    retained=st.integers(1, 3),
    tolerable=st.integers(0, 3),
    min_pause=st.sampled_from([0, 30]),
)
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_no_order_of_events_breaks_a_law(
    make_graph: Callable[..., JobGraph],
    seed: int,
    concurrent: int,
    retained: int,
    tolerable: int,
    min_pause: int,
) -> None:
    plan = CheckpointPlan.of(make_graph({"a": 2, "b": 2}, "a>b"), "0" * 32, "spend")
    chosen = CheckpointSettings(
        interval_ms=50,
        timeout_ms=600,
        max_concurrent=1 if min_pause else concurrent,
        retained=retained,
        tolerable_failures=tolerable,
        min_pause_ms=min_pause,
    )
    world = World(plan, chosen, Random(seed))

    for _ in range(STEPS):
        world.step()
        if world.coordinator.stopped_with is not None:
            break
    world.come_to_rest()

    saved = {
        path
        for path in world.store
        if any(path.startswith(f"{folder}/") for folder in world.complete_savepoints)
    }
    assert {f"{folder}/_metadata" for folder in world.complete_savepoints} <= saved
    world.store -= saved
    kept = world.coordinator.retained
    assert world.store == {
        path for each in kept for path in (each.location, *world.files(each.metadata))
    }
    assert world.answered == world.asked
    assert not world.coordinator.is_writing
    last = world.coordinator.on_job_end(JobStatus.FINISHED)
    assert world.store == set(() if last is None else last.locations)
