#!/usr/bin/env python3
"""Rows of a large table over HTTP: what the server takes to stream all of them in each format, and to answer pages.

    benches/rows.py target/release/tokendeck [--rows 20000000] [--folder /tmp/rows-tokendeck] [--keep] [--figures benches/figures.md]

The table is `tokendeck demo`'s candles as Parquet, of 200 tokens. The client reads and forgets. CPU is the server's; MB/s a core are bytes over
its CPU seconds; memory is the peak of RssAnon of the step. Needs Python 3.9 alone.
"""

import os, shutil, subprocess, time, urllib.parse

from figures import Table
from measure import KEY, Bench, options

FORMATS = ("arrow", "parquet", "csv", "ndjson")


def main():
    given = options(__doc__, rows=20_000_000, folder="/tmp/rows-tokendeck", keep=False).parse_args()
    bench, data = Bench(given.program, given.folder), os.path.join(given.folder, f"parquet-{given.rows}")
    if not os.path.exists(data):
        bench.run("demo", data, "--tokens", "200", "--candles", str(given.rows), "--format", "parquet")
    subprocess.run([bench.program, "check", data], env=bench.env, capture_output=True)
    table = Table(f"/tables/candles of {given.rows:,} rows", "rows")
    with bench.serve(data) as server:
        watch, client = server.watch, server.client
        buffer = bytearray(1 << 20)

        def ask(target):
            asked, used = time.perf_counter(), server.cpu()
            client.request("GET", target, headers={"x-api-key": KEY})
            reply, bytes, said = client.getresponse(), 0, b""
            while count := reply.readinto(buffer):
                bytes, said = bytes + count, said or buffer[:count][:4096]
            return time.perf_counter() - asked, server.cpu() - used, reply.status, bytes, said

        server.ready("/tables/candles?limit=1", 0.05)
        watch.lap()
        table.row("the market on screen, nothing asked", mib=watch.lap())
        for format in FORMATS:
            wall, used, status, bytes, _ = ask(f"/tables/candles?format={format}")
            assert status == 200, (format, status)
            speed = bytes / 1e6 / used
            goal = {"cpu_max": bytes / 400e6} if format == "arrow" else {}
            table.row(f"all rows as {format}: {bytes / 1e6:,.0f} MB, {speed:,.0f} MB/s a core", used, wall, watch.lap(), mib_max=100, **goal)
        for what, query in (
            ("the first 100", "limit=100"),
            ("the first 10,000", "limit=10000"),
            ("the first 100 of `volume>1000000`", "limit=100&where=" + urllib.parse.quote("volume>1000000")),
            ("the first 100 by volume", "limit=100&sort=-volume"),
            ("all by volume as Arrow", "sort=-volume&format=arrow"),
            ("all of `volume>1000000` as Arrow", "format=arrow&where=" + urllib.parse.quote("volume>1000000")),
        ):
            wall, used, status, bytes, said = ask(f"/tables/candles?{query}")
            assert status == 200, (what, said)
            table.row(f"{what}: {bytes / 1e6:,.2f} MB", used, wall, watch.lap(), mib_max=100)
    table.done(given.figures)
    if not given.keep:
        shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
