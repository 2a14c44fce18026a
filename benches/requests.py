#!/usr/bin/env python3
"""Whole HTTP requests for a yield plan over 20,000 pools: every one with another amount, so that none is answered from memory.

    benches/requests.py target/release/tokendeck [--requests 500] [--pools 20000] [--figures benches/figures.md]

One connection, one request after another. What the client takes is measured with `/healthz` in the same run: subtract it. The pools are
the demo's, each many times under another name and with other rates; five tokens, more than $ 100,000 of each. Needs Python 3.9 alone.
"""

import csv, json, os, random, statistics

from figures import Table
from measure import Bench, options


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
    given = options(__doc__, requests=500, pools=20_000).parse_args()
    table = Table(f"POST /yield/optimize over {given.pools:,} pools", "requests")
    with Bench(given.program) as bench:
        bench.run("demo", bench.data)
        many(bench.data, given.pools)
        with bench.serve(bench.data) as server:
            server.ready()

            def ask(path, body=None):
                used = server.cpu()
                status, said, wall = server.ask(path, body)
                return status, said, server.cpu() - used, wall

            with open(os.path.join(bench.data, "tokens.csv"), newline="") as rows:
                tokens = [row for row in csv.DictReader(rows) if row["chain"] == "eth" and row["price"] and row["decimals"]][:5]

            def plan(nth):
                # From $ 100,000 of each up.
                amounts = {row["token_address"]: str(int((100_000 + nth) / float(row["price"]) * 10 ** int(row["decimals"]))) for row in tokens}
                return ask("/yield/optimize", json.dumps({"tokens": amounts, "settings": {"riskLevel": "medium"}}))

            for what, one, count in (
                ("`/healthz`: the client and the connection", lambda _: ask("/healthz"), given.requests),
                ("the first request", plan, 1),
                ("other requests, each of 5 tokens", lambda nth: plan(nth + 1), given.requests),
            ):
                seen = [one(nth) for nth in range(count)]
                for status, said, *_ in seen:
                    if status != 200:
                        raise SystemExit(f"{what}: {said[:500]}")
                work, times = sorted(used for *_, used, _ in seen), sorted(wall for *_, wall in seen)
                place = lambda list, share: f"{list[min(len(list) - 1, int(len(list) * share))] * 1e3:.2f}"
                wall = f"wall ms: median {place(times, 0.5)}, p99 {place(times, 0.99)}; CPU ms of the server: p99 {place(work, 0.99)}"
                table.row(f"{what}: {count}, {wall}", statistics.mean(work), statistics.mean(times), server.watch.lap())
    table.done(given.figures)


if __name__ == "__main__":
    main()
