#!/usr/bin/env python3
"""How soon a row that is appended to a large table is there, while a writer appends one every 100 ms and never rests.

    benches/append.py target/release/tokendeck [--rows 1000000,5000000] [--folder /tmp/append-tokendeck] [--figures benches/figures.md]

The rows are candles in one CSV, some tokens whose times rise; `/datasets` tells how many rows stand. CPU and memory are tokendeck's.
"""

import json, os, shutil, time

from figures import Table
from measure import Bench, address, options, write_tokens

TOKENS, START, EVERY, SECONDS = 20, 1_600_000_200, 0.1, 30


def line(row):
    time, token = divmod(row, TOKENS)
    mid = 100 + row % 977 / 10
    return f"{address(token)},{START + time * 60},{mid:.2f},{mid + 1:.2f},{mid - 1:.2f},{mid + 0.5:.2f},{row % 313},1m\n"


def measure(program, folder, rows, table):
    shutil.rmtree(folder, ignore_errors=True)
    bench = Bench(program, folder)
    os.makedirs(bench.data)
    write_tokens(bench.data, TOKENS)
    candles = os.path.join(bench.data, "candles.csv")
    with open(candles, "w") as file:
        file.write("token_address,timestamp,open,high,low,close,volume,interval\n")
        file.writelines(line(row) for row in range(rows))
    with bench.serve(bench.data) as server:

        def stand():
            tables = json.loads(server.ask("/datasets", client=server.connect(30))[1]).get("tables", [])
            return next((table.get("rows") or 0 for table in tables if table["name"] == "candles"), 0)

        while stand() < rows:
            time.sleep(0.2)
        time.sleep(1)
        server.watch.lap()
        before, begun = server.cpu(), time.monotonic()
        written, delays, seen, taken = [], [], rows, 0
        with open(candles, "a") as file:
            while time.monotonic() - begun < SECONDS:
                file.write(line(rows + len(written)))
                file.flush()
                written.append(time.monotonic())
                until = written[-1] + EVERY
                while time.monotonic() < until:
                    now, at = stand(), time.monotonic()
                    delays += [at - when for when in written[seen - rows : now - rows]]
                    taken, seen = taken + (now > seen), max(seen, now)
                    time.sleep(0.02)
        used = server.cpu() - before
        delays.sort()
        late = max([time.monotonic() - when for when in written[seen - rows :]], default=0)
        longest = max(delays[-1] if delays else SECONDS, late)
        what = f"{rows:,} candles, a row every {EVERY * 1000:.0f} ms for {SECONDS} s: taken in {taken} times; wall s until a row is there, the longest"
        table.row(what, used, longest, server.watch.lap(), wall_max=2)
    shutil.rmtree(folder)


def main():
    given = options(__doc__, rows="1000000,5000000", folder="/tmp/append-tokendeck").parse_args()
    table = Table("a large table that is appended to without a pause", "append")
    for rows in given.rows.split(","):
        measure(given.program, given.folder, int(rows), table)
    table.done(given.figures)


if __name__ == "__main__":
    main()
