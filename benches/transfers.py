#!/usr/bin/env python3
"""Tables of transfers larger than memory should be: 40 million in all, and 10 million of one token, brought in and asked about over the API.

    benches/transfers.py target/release/tokendeck [--folder /tmp/scale-tokendeck] [--only all|one] [--keep] [--figures benches/figures.md]

The 40 million are the demo's. The 10 million are written here, with polars: three million wallets, of which some trade far more than
others, over 400 days and over 10; every tenth goes to or comes from a pool. CPU and memory are the server's, its peak that of the step.
"""

import os, re, shutil

from figures import Table
from measure import Bench, options

ROWS, PARTS, WALLETS, END = 10_000_000, 10, 3_000_000, 1_795_000_000


def write(folder, token, creator, pool, days):
    """One token's transfers, as a folder of Parquet files."""
    import polars as pl

    os.makedirs(folder)
    each = ROWS // PARTS
    for part in range(PARTS):
        place = pl.int_range(part * each, (part + 1) * each, eager=True)
        chance = lambda seed: place.hash(seed).cast(pl.Float64) / 2.0**64
        wallet = lambda seed: "0x1" + (chance(seed) ** 3 * WALLETS).cast(pl.Int64).cast(pl.String).str.zfill(39)
        frame = pl.DataFrame({"place": place, "kind": chance(1), "from_address": wallet(2), "to_address": wallet(3), "size": chance(4)})
        seconds = pl.col("place") * (days * 86_400) // ROWS + END - days * 86_400
        first = pl.col("place") == 0
        frame.select(
            pl.lit(token).alias("token_address"),
            pl.from_epoch(seconds, "s").dt.cast_time_unit("ms").dt.replace_time_zone("UTC").alias("timestamp"),
            (seconds // 12 - 120_000_000).alias("block_number"),
            ("0x" + pl.col("place").cast(pl.String).str.zfill(64)).alias("transaction_hash"),
            pl.when(first).then(pl.lit("0x" + "0" * 40)).when(pl.col("kind") < 0.05).then(pl.lit(pool)).otherwise("from_address").alias("from_address"),
            pl.when(first).then(pl.lit(creator)).when(pl.col("kind") > 0.95).then(pl.lit(pool)).otherwise("to_address").alias("to_address"),
            ((10 ** (1 + pl.col("size") * 8)).cast(pl.Int64).cast(pl.String) + "0" * 12).alias("value"),
            (pl.col("place") % 180).alias("log_index"),
            pl.lit(1).alias("status"),
        ).write_parquet(os.path.join(folder, f"part-{part}.parquet"))


class Dataset(Bench):
    def __init__(self, given, name, table):
        # Not the folders of benches/scale.py, which empties its cache.
        super().__init__(given.program, os.path.join(given.folder, "home-transfers"))
        self.table, self.name, self.data = table, name, os.path.join(given.folder, name)

    def demo(self, *more):
        return self.run("demo", self.data, "--format", "parquet", *more)

    def rows(self, name):
        with open(os.path.join(self.data, f"{name}.csv")) as lines:
            head = lines.readline().strip().split(",")
            return [dict(zip(head, line.strip().split(","))) for line in lines]

    def measure(self, tokens, mib_max):
        shutil.rmtree(self.cache, ignore_errors=True)
        used, wall, mib, said = self.run("check", self.data)
        self.table.row(f"{self.name}: first import ({said.strip().splitlines()[-1].split(':')[0]})", used, wall, mib, mib_max=mib_max)
        used, wall, mib, _ = self.run("check", self.data)
        self.table.row(f"{self.name}: `check` after it", used, wall, mib)
        self.ask(tokens)

    def ask(self, tokens):
        with self.serve(self.data) as server:
            server.ready()
            self.table.row(f"{self.name}: `serve` is ready", server.cpu(), None, server.watch.lap())
            for token in tokens:
                for path in (f"/{token}/security/inference?explain=true", f"/tokens/{token}", f"/tokens/{token}/clusters", f"/tokens/{token}/flows"):
                    used = server.cpu()
                    status, body, wall = server.ask(path)
                    what = f"{self.name}: {path.replace(token, token[:6] + '…')}: {status}, {len(body)} bytes"
                    self.table.row(what, server.cpu() - used, wall, server.watch.lap())
                    cut = re.search(r'"unfinished":\[[^]]+\]', body.decode())
                    if cut:
                        print("   ", cut[0])


def main():
    arguments = options(__doc__, folder="/tmp/scale-tokendeck", keep=False)
    arguments.add_argument("--only", choices=["all", "one"])
    given = arguments.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    table = Table("transfers", "transfers")
    if given.only != "one":
        many = Dataset(given, "transfers-40000000", table)
        if not os.path.exists(many.data):
            used, wall, mib, _ = many.demo("--transfers", "40000000")
            table.row(f"{many.name}: `demo` writes them", used, wall, mib)
        many.measure([row["token_address"] for row in many.rows("tokens")[:3]], 2048)
    for days in (400, 10) if given.only != "all" else ():
        one = Dataset(given, f"transfers-one-{days}-days", table)
        if not os.path.exists(one.data):
            one.demo("--tokens", "80")
            os.remove(os.path.join(one.data, "transfers.parquet"))
        contract, pool = next((contract, pool) for contract in one.rows("contracts") for pool in one.rows("pools") if contract["token_address"] == pool["token0"])
        if not os.path.exists(os.path.join(one.data, "transfers")):
            write(os.path.join(one.data, "transfers"), contract["token_address"], contract["creator"], pool["address"], days)
        one.measure([contract["token_address"]], None)
    table.done(given.figures)
    if not given.keep:
        shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
