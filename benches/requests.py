#!/usr/bin/env python3
"""Whole HTTP requests for a yield plan over 20,000 pools: every one with another amount, so that none is answered from memory.

    benches/requests.py target/release/tokendeck [--requests 500] [--pools 20000] [--figures benches/figures.md]

One connection, one request after another. What the client takes is measured with `/healthz` in the same run: subtract it. The pools are
the demo's, each many times under another name and with other rates; five tokens, more than $ 100,000 of each. Needs Python 3.9 alone.
"""

import argparse, csv, http.client, json, os, random, shutil, statistics, subprocess, tempfile, time

from figures import Table
from measure import Watch, cpu


def many(data, pools):
    """Multiplies the demo's pools."""
    with open(os.path.join(data, "yields.ndjson")) as file:
        rows = [json.loads(line) for line in file]
    chance = random.Random(7)
    with open(os.path.join(data, "yields.ndjson"), "w") as file:
        for nth in range(pools):
            row = dict(rows[nth % len(rows)])
            if nth >= len(rows):
                row["pool"] = f"{row['pool']}-{nth}"
                for keys in (("tvl", "total_supply_usd", "total_borrow_usd"), ("apy", "apy_base", "apy_reward")):
                    times = chance.uniform(0.5, 1.5)
                    row.update({key: row[key] * times for key in keys if row.get(key) is not None})
            file.write(json.dumps(row) + "\n")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--requests", type=int, default=500)
    arguments.add_argument("--pools", type=int, default=20_000)
    arguments.add_argument("--figures", help="a Markdown file whose table of requests is replaced")
    given = arguments.parse_args()
    program, folder = os.path.abspath(given.program), tempfile.mkdtemp(prefix="tokendeck-requests-")
    env = {**os.environ, **{f"XDG_{name}_HOME": os.path.join(folder, name.lower()) for name in ("CACHE", "STATE", "CONFIG", "DATA")}}
    data = os.path.join(folder, "data")
    subprocess.run([program, "demo", data], env=env, check=True, capture_output=True)
    many(data, given.pools)
    process = subprocess.Popen([program, "serve", "--data", data, "--listen", "127.0.0.1:0"], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    watch = Watch(process.pid)
    table = Table(f"POST /yield/optimize over {given.pools:,} pools", "requests")
    try:
        client = http.client.HTTPConnection(process.stdout.readline().split("//")[-1].split()[0].strip("/"))
        key = subprocess.run([program, "key"], env=env, capture_output=True, text=True).stdout.strip()

        def ask(method, path, body=None):
            asked, used = time.perf_counter(), cpu(process.pid)
            client.request(method, path, body, {"x-api-key": key, "content-type": "application/json"})
            reply = client.getresponse()
            said = reply.read()
            return time.perf_counter() - asked, cpu(process.pid) - used, reply.status, said

        while ask("GET", "/tokens?limit=1")[2] != 200:
            time.sleep(0.01)
        with open(os.path.join(data, "tokens.csv"), newline="") as rows:
            tokens = [row for row in csv.DictReader(rows) if row["chain"] == "eth" and row["price"] and row["decimals"]][:5]

        def plan(nth):
            # From $ 100,000 of each up.
            amounts = {row["token_address"]: str(int((100_000 + nth) / float(row["price"]) * 10 ** int(row["decimals"]))) for row in tokens}
            return ask("POST", "/yield/optimize", json.dumps({"tokens": amounts, "settings": {"riskLevel": "medium"}}))

        for what, one, count in (("`/healthz`: the client and the connection", lambda _: ask("GET", "/healthz"), given.requests), ("the first request", plan, 1), ("other requests, each of 5 tokens", lambda nth: plan(nth + 1), given.requests)):
            seen = [one(nth) for nth in range(count)]
            if any(status != 200 for _, _, status, _ in seen):
                raise SystemExit(f"{what}: {next(said for _, _, status, said in seen if status != 200)[:500]}")
            times = sorted(wall for wall, *_ in seen)
            work = sorted(used for _, used, *_ in seen)
            place = lambda list, share: f"{list[min(len(list) - 1, int(len(list) * share))] * 1e3:.2f}"
            wall = f"wall ms: median {place(times, 0.5)}, p99 {place(times, 0.99)}; CPU ms of the server: p99 {place(work, 0.99)}"
            table.row(f"{what}: {count}, {wall}", statistics.mean(work), statistics.mean(times), watch.lap())
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)
    table.done(given.figures)


if __name__ == "__main__":
    main()
