"""A server that writes paced records to whoever connects: the source of systems that have none in Python.

Standard library only. A line is ``customer,amount,due``.
"""

import socket
import threading
import time

from benchmarks.latencies.timed import Pace, Timed


def line_of(record: Timed) -> str:
    """The line of a record.

    >>> line_of((7, 30, 1_000))
    '7,30,1000'
    """
    return ",".join(map(str, record))


def record_of(line: str) -> Timed:
    """The record of a line.

    >>> record_of("7,30,1000")
    (7, 30, 1000)
    """
    customer, amount, due = line.split(",")
    return int(customer), int(amount), int(due)


def serve(rate: int, records: int) -> int:
    """Start to serve one connection in the background; the port to connect to."""
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_feed, args=(server, rate, records), daemon=True).start()
    port: int = server.getsockname()[1]
    return port


def _feed(server: socket.socket, rate: int, records: int) -> None:
    connection, _ = server.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    pace = Pace(rate, first=0, step=1, count=records)
    with server, connection:
        while not pace.over:
            due = pace.due()
            if due:
                connection.sendall("".join(f"{line_of(record)}\n" for record in due).encode())
            time.sleep(0.001)
