"""Look customers up in a service over the network while payments stream by: asynchronous calls.

The service is started here, too, and needs 10 ms for an answer; fifty calls are under way at once.
Run it: python examples/async_enrichment.py
"""

import asyncio
import threading
from collections import Counter

from riverrun import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment, Time

COUNTRIES = ["Chile", "Ghana", "Japan", "Norway"]


class Lookup(AsyncFunction[tuple[int, int], tuple[str, int]]):
    """The country of a payment's customer, asked of the service."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def async_invoke(self, value: tuple[int, int]) -> list[tuple[str, int]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"{value[0]}\n".encode())
        country = (await reader.readline()).decode().strip()
        writer.close()
        await writer.wait_closed()
        return [(country, value[1])]


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    customer = int(await reader.readline())
    await asyncio.sleep(0.01)
    writer.write(f"{COUNTRIES[customer % len(COUNTRIES)]}\n".encode())
    writer.close()


def main() -> None:
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    service = threading.Thread(target=loop.run_forever)
    service.start()
    with StreamExecutionEnvironment.get_execution_environment() as env:
        payments = env.set_parallelism(1).from_collection([(n % 9, n) for n in range(500)])
        lookup = Lookup(server.sockets[0].getsockname()[1])
        enriched = AsyncDataStream.ordered_wait(payments, lookup, Time.seconds(30), 50)
        with enriched.execute_and_collect("enrichment") as results:
            found = list(results)
    loop.call_soon_threadsafe(loop.stop)
    service.join()
    server.close()
    loop.close()
    print("in order:", [amount for _, amount in found] == list(range(500)))
    for country, count in sorted(Counter(country for country, _ in found).items()):
        print(f"{country}: {count} payments")


if __name__ == "__main__":
    main()
