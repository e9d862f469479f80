"""A JobManager as far as high availability goes, in a process of its own; told what to do on its input.

elected <epoch>, deposed <epoch>    when it is
add <job id>  ->  added <job id> | refused <job id>
jobs          ->  jobs <job ids>
close         ->  closed
"""

from __future__ import annotations

import queue
import sys
import threading

from riverrun.cluster.ha.high_availability import high_availability
from riverrun.cluster.ha.job_store import NotLeading
from riverrun.cluster.ha.stored_jobs import StoredJob


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201


class Listener:
    """Takes jobs over on a thread of its own, as it should."""

    def __init__(self) -> None:
        self.elected: queue.SimpleQueue[int] = queue.SimpleQueue()

    def on_elected(self, epoch: int) -> None:
        self.elected.put(epoch)

    def on_deposed(self, epoch: int) -> None:
        say("deposed", epoch)


def main(folder: str, address: str) -> None:
    ha = high_availability(
        {
            "high-availability.type": "filesystem",
            "high-availability.storageDir": folder,
            "riverrun.high-availability.lease-duration": "2500 ms",
            "riverrun.high-availability.renew-deadline": "2000 ms",
            "riverrun.high-availability.retry-period": "100 ms",
        }
    )
    assert ha is not None
    listener = Listener()

    def lead() -> None:
        while True:
            epoch = listener.elected.get()
            try:
                found = ha.job_store.take_over(epoch)
            except NotLeading:
                continue
            say("elected", epoch, *sorted(job.job_id for job in found.jobs))

    threading.Thread(target=lead, daemon=True).start()
    election = ha.elect(listener, address)
    election.start()
    for line in sys.stdin:
        match line.split():
            case ["add", name]:
                try:
                    ha.job_store.add(StoredJob(job_id=name, name=name, graph=b"graph"))
                except NotLeading:
                    say("refused", name)
                else:
                    say("added", name)
            case _:
                election.close()
                say("closed")
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
