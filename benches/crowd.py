#!/usr/bin/env python3
"""How others fare while a crowd sits on the server: 1,100 idle connections, and 1,500 that send their request a byte a second.

    benches/crowd.py target/release/tokendeck [--seconds 8] [--figures benches/figures.md]

One connection asks for a token again and again; beside it, new clients connect and ask once, one after another. Those of the crowd that are
closed connect again. The crowd is a process of its own. Needs Python 3.9 alone, and room for 4,000 open files.
"""

import asyncio, multiprocessing, resource, threading, time

from figures import Table
from measure import Bench, options

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"a" * 4_000


async def idle(port):
    """Asks once, and stays."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    while await reader.read(4_096):
        pass


async def slow(port):
    """A request that never ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    ended = asyncio.ensure_future(reader.read(1))
    for byte in HEAD:
        writer.write(bytes([byte]))
        if (await asyncio.wait({ended}, timeout=1))[0]:
            break
    writer.close()


def crowd(port, size, one):
    async def stay():
        while True:
            try:
                await one(port)
            except OSError:
                pass
            await asyncio.sleep(0.1)

    async def all():
        await asyncio.gather(*(stay() for _ in range(size)))

    asyncio.run(all())


def new_ones(server, path, end, taken):
    """Clients that connect, ask and go: milliseconds from connecting to the answer; none where there was none."""
    while time.monotonic() < end:
        begun, client = time.monotonic(), server.connect(30)
        try:
            status = server.ask(path, client=client)[0]
        except OSError:
            status = 0
        taken.append((time.monotonic() - begun) * 1e3 if status == 200 else None)
        client.close()
        time.sleep(0.05)


def main():
    given = options(__doc__, seconds=8.0).parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    table = Table("a token beside a crowd, ms (wanted: p99 ≤ 10, new ones ≤ 1,000)", "crowd")
    for what, size, one in (("nobody else", 0, None), ("1,100 idle connections", 1_100, idle), ("1,500 connections, a byte a second each", 1_500, slow)):
        with Bench(given.program) as bench:
            bench.run("demo", bench.data)
            with bench.serve(bench.data) as server:
                path = "/tokens/0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"
                server.ready(path)
                server.watch.lap()
                used = server.cpu()
                others = multiprocessing.Process(target=crowd, args=(server.port, size, one), daemon=True)
                if size:
                    others.start()
                # While the crowd gathers nothing is measured.
                for length, news, olds in ((3, [], []), (given.seconds, [], [])):
                    end = time.monotonic() + length
                    beside = threading.Thread(target=new_ones, args=(server, path, end, news))
                    beside.start()
                    while time.monotonic() < end:
                        status, _, took = server.ask(path)
                        assert status == 200, status
                        olds.append(took * 1e3)
                        time.sleep(0.002)
                    beside.join()
                if size:
                    others.kill()
                olds.sort()
                lost, news = news.count(None), sorted(one for one in news if one is not None)
                at = lambda list, share: f"{list[min(len(list) - 1, int(len(list) * share))]:.2f}" if list else "–"
                table.row(
                    f"{what}: one that asks again and again, p50 {at(olds, .5)}, p99 {at(olds, .99)}, longest {at(olds, 1)}; "
                    f"{len(news)} new ones, p50 {at(news, .5)}, longest {at(news, 1)}, not answered {lost}",
                    server.cpu() - used, given.seconds, server.watch.lap(),
                )
    table.done(given.figures)


if __name__ == "__main__":
    main()
