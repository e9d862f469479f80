from __future__ import annotations

from riverrun.core.clock import ManualClock
from riverrun.protocol.control import Metrics
from riverrun.spark.worker.ledger import Spending, TimeLedger
from riverrun.spark.worker.reporter import InputUsage, MetricsReporter


def test_a_report_holds_rates_times_and_how_full_the_input_is() -> None:
    clock = ManualClock()
    ledger = TimeLedger(clock)
    sent: list[Metrics] = []
    reporter = MetricsReporter(
        lambda: {"": {"numRecordsIn": 50.0}, "map": {"numRecordsIn": 50.0}},
        ledger,
        sent.append,
        0.5,
        InputUsage(lambda: 3, 4),
    )
    clock.advance(100)
    ledger.enter(Spending.BACK_PRESSURED)
    clock.advance(300)

    reporter.start()
    reporter.close()

    task = sent[0].values[""]
    assert task["numRecordsInPerSecond"] == 100.0
    assert (task["accumulatedBusyTimeMs"], task["accumulatedBackPressuredTimeMs"]) == (100.0, 300.0)
    assert (task["busyTimeMsPerSecond"], task["backPressuredTimeMsPerSecond"]) == (250.0, 750.0)
    assert task["isBackPressured"] == 1.0
    assert (task["buffers.inputQueueLength"], task["buffers.inPoolUsage"]) == (3.0, 0.75)
    assert sent[0].values["map"]["numRecordsInPerSecond"] == 100.0
