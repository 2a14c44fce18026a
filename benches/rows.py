#!/usr/bin/env python3
"""Rows of a large table over HTTP: what the server takes to stream all of them in each format, and to answer pages.

    benches/rows.py target/release/tokendeck [--rows 20000000] [--folder /tmp/rows-tokendeck] [--keep] [--figures benches/figures.md]

The table is `tokendeck demo`'s candles as Parquet, of 200 tokens. The client reads and forgets. CPU is the server's; MB/s a core are bytes over
its CPU seconds; memory is the peak of RssAnon of the step. Needs Python 3.9 alone.
"""

import argparse, http.client, json, os, shutil, subprocess, time, urllib.parse

from figures import Table
from measure import Watch, cpu

FORMATS = ("arrow", "parquet", "csv", "ndjson")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--rows", type=int, default=20_000_000)
    arguments.add_argument("--folder", default="/tmp/rows-tokendeck")
    arguments.add_argument("--keep", action="store_true", help="leaves the data and the cache for the next run")
    arguments.add_argument("--figures", help="a Markdown file whose table of rows is replaced")
    given = arguments.parse_args()
    program, data = os.path.abspath(given.program), os.path.join(given.folder, f"parquet-{given.rows}")
    env = {**os.environ, **{f"XDG_{name}_HOME": os.path.join(given.folder, name.lower()) for name in ("CACHE", "STATE", "CONFIG", "DATA")}}
    if not os.path.exists(data):
        subprocess.run([program, "demo", data, "--tokens", "200", "--candles", str(given.rows), "--format", "parquet"], env=env, check=True, capture_output=True)
    subprocess.run([program, "check", data], env=env, capture_output=True)
    process = subprocess.Popen([program, "serve", "--data", data, "--listen", "127.0.0.1:0"], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    watch = Watch(process.pid)
    table = Table(f"/tables/candles of {given.rows:,} rows", "rows")
    try:
        client = http.client.HTTPConnection(process.stdout.readline().split("//")[-1].split()[0].strip("/"))
        key = subprocess.run([program, "key"], env=env, capture_output=True, text=True).stdout.strip()
        buffer = bytearray(1 << 20)

        def ask(target, **headers):
            asked, used = time.perf_counter(), cpu(process.pid)
            client.request("GET", target, headers={"x-api-key": key, **headers})
            reply, bytes, said = client.getresponse(), 0, b""
            while count := reply.readinto(buffer):
                bytes, said = bytes + count, said or buffer[:count][:4096]
            return time.perf_counter() - asked, cpu(process.pid) - used, reply.status, bytes, said

        while ask("/tables/candles?limit=1")[2] != 200:
            time.sleep(0.05)
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
    finally:
        process.terminate()
        process.wait()
    table.done(given.figures)
    if not given.keep:
        shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
