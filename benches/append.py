#!/usr/bin/env python3
"""How soon a row that is appended to a large table is there, while a writer appends one every 100 ms and never rests.

    benches/append.py target/release/tokendeck [--rows 1000000,5000000] [--folder /tmp/append-tokendeck] [--figures benches/figures.md]

The rows are candles in one CSV, some tokens whose times rise; `/datasets` tells how many rows stand. CPU and memory are tokendeck's.
"""

import argparse, http.client, json, os, re, shutil, subprocess, time

from figures import Table
from measure import Watch, cpu

TOKENS, START, EVERY, SECONDS = 20, 1_600_000_200, 0.1, 30


def address(token):
    return f"0x{token * 7919 + 1:040x}"


def line(row):
    time, token = divmod(row, TOKENS)
    mid = 100 + row % 977 / 10
    return f"{address(token)},{START + time * 60},{mid:.2f},{mid + 1:.2f},{mid - 1:.2f},{mid + 0.5:.2f},{row % 313},1m\n"


def measure(program, folder, rows, table):
    shutil.rmtree(folder, ignore_errors=True)
    data = os.path.join(folder, "data")
    os.makedirs(data)
    with open(os.path.join(data, "tokens.csv"), "w") as file:
        file.write("token_address,symbol,name,chain\n")
        file.writelines(f"{address(token)},T{token},Token {token},eth\n" for token in range(TOKENS))
    candles = os.path.join(data, "candles.csv")
    with open(candles, "w") as file:
        file.write("token_address,timestamp,open,high,low,close,volume,interval\n")
        file.writelines(line(row) for row in range(rows))
    key = "a-key-that-is-long-enough-for-a-bench"
    env = dict(os.environ, TOKENDECK_API_KEY=key, **{f"XDG_{kind}_HOME": os.path.join(folder, kind) for kind in ("STATE", "CACHE", "CONFIG")})
    command = [program, "serve", "--data", data, "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    watch = Watch(process.pid)
    try:
        port = next(int(found[1]) for said in process.stdout if (found := re.search(r"127\.0\.0\.1:(\d+)", said)))

        def stand():
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/datasets", headers={"x-api-key": key})
            answer = json.loads(connection.getresponse().read())
            return next((table.get("rows") or 0 for table in answer.get("tables", []) if table["name"] == "candles"), 0)

        while stand() < rows:
            time.sleep(0.2)
        time.sleep(1)
        before, begun, first = cpu(process.pid), time.monotonic(), watch.lap()
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
        used = cpu(process.pid) - before
        delays.sort()
        late = max([time.monotonic() - when for when in written[seen - rows :]], default=0)
        longest = max(delays[-1] if delays else SECONDS, late)
        what = f"{rows:,} candles, a row every {EVERY * 1000:.0f} ms for {SECONDS} s: taken in {taken} times; wall s until a row is there, the longest"
        table.row(what, used, longest, watch.lap(), wall_max=2)
    finally:
        process.terminate()
        process.wait()
    shutil.rmtree(folder)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--rows", default="1000000,5000000")
    arguments.add_argument("--folder", default="/tmp/append-tokendeck")
    arguments.add_argument("--figures")
    given = arguments.parse_args()
    table = Table("a large table that is appended to without a pause", "append")
    for rows in given.rows.split(","):
        measure(given.program, given.folder, int(rows), table)
    table.done(given.figures)


if __name__ == "__main__":
    main()
