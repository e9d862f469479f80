"""The one place that reaches into Spark's JVM. A new Spark release is this file's work.

Spark 4.3 runs all stages of a job at the same time and streams rows between them when the exchange
between two stages is a *pipelined* ``ShuffleExchangeExec``. No public Python call asks for that, so the
exchange that ``repartitionById`` plans is copied with its ``pipelined`` flag set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from riverrun.core.errors import ExternalError
from riverrun.spark.driver.explain import explain

ROW_SCHEMA: Final = StructType(
    [
        StructField("target", IntegerType(), nullable=False),
        StructField("frame", BinaryType(), nullable=False),
    ]
)
_EXCHANGE: Final = "ShuffleExchangeExec"
_NO_FREE_SLOTS: Final = "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT"


class SparkRefused(ExternalError):  # noqa: N818
    """Spark ended or refused the job; carries Spark's own words, not its stack."""


class NoFreeSlots(SparkRefused):
    """Spark has too few free slots at this moment; nothing of the job ran."""


class SparkJvm:
    """What riverrun asks of the JVM behind one session."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._context = session.sparkContext._jsc.sc()  # noqa: SLF001  (no public way)
        self._profile: Any = None

    def activate(self) -> None:
        """Make the session the one that plans made in this thread belong to."""
        jvm: Any = self._session.sparkContext._jvm  # noqa: SLF001
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(
            self._session._jsparkSession  # noqa: SLF001
        )

    def pipelined(self, rows: DataFrame, partitions: int) -> DataFrame:
        """``rows`` streamed to ``partitions`` tasks; the column ``target`` names the partition."""
        with _in_words():
            frame = rows.repartitionById(partitions, "target")
            plan = _find_exchange(frame._jdf.queryExecution().executedPlan())  # noqa: SLF001
            exchange = plan.copy(
                plan.outputPartitioning(),
                plan.child(),
                plan.shuffleOrigin(),
                plan.advisoryPartitionSize(),
                True,  # noqa: FBT003  (Scala's copy takes its fields by position)
            )
            streamed = self._session._jsparkSession.internalCreateDataFrame(  # noqa: SLF001
                exchange.execute(),
                frame._jdf.schema(),  # noqa: SLF001
                False,  # noqa: FBT003
            )
            return DataFrame(streamed, self._session)

    def run(self, rows: DataFrame) -> None:
        """Run the job that makes ``rows`` and drop them; blocks until it ended."""
        try:
            with _in_words():
                rows._jdf.queryExecution().toRdd().count()  # noqa: SLF001
        except SparkRefused as error:
            if _NO_FREE_SLOTS in str(error):
                raise NoFreeSlots(str(error)) from None
            raise

    def cancel(self, group: str) -> None:
        """Cancel the jobs of ``group``, those that are yet to come too."""
        self._context.cancelJobGroupAndFutureJobs(group)

    def slots(self) -> int:
        """How many tasks can run at the same time on the executors that are there now."""
        with _in_words():
            if self._profile is None:  # asked for once: it stays, and every call costs
                self._profile = self._context.resourceProfileManager().defaultResourceProfile()
            return int(self._context.maxNumConcurrentTasks(self._profile))

    def executor_ids(self) -> str:
        """The ids of the executors that the scheduler knows now, with commas; none in local mode."""
        with _in_words():
            return str(self._context.getExecutorIds().mkString(","))

    def executor_list(self) -> str:
        """All about the executors that are there and the driver, as Spark's own REST interface tells it.

        Made by Spark in one call: a call for every figure would take a second on a large cluster.
        """
        with _in_words():
            jvm: Any = self._session.sparkContext._jvm  # noqa: SLF001
            mapper = jvm.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()
            listed = self._context.statusStore().executorList(True)  # noqa: FBT003  (active ones only)
            return str(mapper.writeValueAsString(listed))

    def is_local(self) -> bool:
        """Whether tasks run inside the driver's JVM."""
        return bool(self._context.isLocal())

    def delete_at_exit(self, folder: Path) -> None:
        """Let the JVM delete ``folder`` when it ends, also when this process was killed."""
        jvm: Any = self._session.sparkContext._jvm  # noqa: SLF001
        jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(
            jvm.java.io.File(str(folder))
        )

    def stopped(self) -> bool:
        """Whether the Spark context is gone."""
        try:
            return bool(self._context.isStopped())
        except (Py4JError, OSError):
            return True


def _find_exchange(plan: Any) -> Any:
    node = plan
    while node.getClass().getSimpleName() != _EXCHANGE:
        children = node.children()
        if children.size() != 1:
            raise SparkRefused(
                f"this Spark plans repartitionById without {_EXCHANGE}: "
                f"expected Spark 4.3 with spark.sql.adaptive.enabled=false"
            )
        node = children.head()
    return node


@contextmanager
def _in_words() -> Iterator[None]:
    """Let what Spark raises come out as SparkRefused."""
    try:
        yield
    except PySparkException as error:  # what pyspark makes of Java's exceptions that it knows
        raise SparkRefused(explain(str(error))) from None
    except Py4JJavaError as error:
        raise SparkRefused(_said(error)) from None
    except (Py4JError, OSError):
        raise SparkRefused("the JVM of the Spark driver does not answer any more") from None


def _said(error: Py4JJavaError) -> str:
    """Spark's own message without Java's stack."""
    exception = error.java_exception
    return explain(str(exception.getMessage() or exception.toString()))
