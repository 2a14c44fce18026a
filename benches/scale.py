#!/usr/bin/env python3
"""How the program behaves on candle tables of many rows, beside csvlens and a plain polars script in the same run.

    benches/scale.py target/release/tokendeck [--rows 1000000 20000000] [--folder /tmp/scale-tokendeck] [--keep] [--figures benches/figures.md]

For each size and each of Parquet and CSV, from data `tokendeck demo` writes: CPU seconds, wall seconds and peak RssAnon of the first import, of
the dashboard in a pseudo-terminal (start, idle, jump, filter, sort, keys meanwhile, Esc), and of the API. The peak of the dashboard is
that of the step. Wall time on a shared machine says little. Needs Python 3.9; polars and csvlens are measured where they are found.
"""

import json, os, re, shutil, statistics, subprocess, sys, time

from measure import Bench, Missed, Terminal, forget, options, run
from figures import Table

TOKENS = 200
STARTS, SAMPLES, IDLE = 5, 25, 10
POLARS = """
import polars as pl, sys
what, file, out = sys.argv[1:]
scan = pl.scan_parquet(file) if file.endswith("parquet") else pl.scan_csv(file, infer_schema_length=10_000)
if what == "sort":
    scan.sort("token_address", "interval", "timestamp", maintain_order=True).sink_ipc(out, compression="uncompressed")
elif what == "page":
    print(scan.bottom_k(1000, by="volume").collect())
elif what == "token":
    print(scan.filter(pl.col("token_address") == out).collect())
"""


def ends(text, times):
    """The middle, the 99th of 100, and the longest."""
    times = sorted(times)
    return f"{text}: median {statistics.median(times) * 1e3:.1f}, p99 {times[len(times) * 99 // 100] * 1e3:.1f}, longest {times[-1] * 1e3:.1f} ms"


class Scale(Bench):
    """One table of one size in one format, and where its figures go."""

    def __init__(self, given, rows, form, table):
        super().__init__(given.program, given.folder)
        self.rows, self.form, self.table = rows, form, table
        self.data = os.path.join(given.folder, f"{form}-{rows}-{TOKENS}")
        self.file = os.path.join(self.data, f"candles.{form}")
        self.csvlens = given.csvlens
        self.all = f"{rows:,}"
        if not os.path.exists(self.data):
            self.run("demo", self.data, "--tokens", str(TOKENS), "--candles", str(rows), "--format", form)

    def row(self, what, used=None, wall=None, mib=None, **goal):
        self.table.row(f"{self.form}: {what}", used, wall, mib, **goal)

    def measure(self):
        shutil.rmtree(self.cache, ignore_errors=True)
        for what, goal in (("first import (`check`)", {"cpu_max": 10 if self.form == "parquet" else 18, "mib_max": 300} if self.rows > 10_000_000 else {}), ("`check` after it", {})):
            used, wall, mib, _ = self.run("check", self.data)
            self.row(what, used, wall, mib, **goal)
        for step in (self.starts, self.dashboard, self.api, self.importing, self.polars):
            try:
                step()
            except Missed as missed:
                self.row(f"{step.__name__} failed: {str(missed).splitlines()[0].replace(sys.executable, 'python3')}")
                print(missed, file=sys.stderr)
        if self.form == "csv" and self.csvlens:
            self.lens()

    def open(self):
        shutil.rmtree(os.path.join(self.folder, "state"), ignore_errors=True)
        return self.terminal(self.data, "--no-api")

    @staticmethod
    def first_data(terminal):
        """The header names a token once the market is there."""
        return terminal.until("the first data", lambda screen: "0x" in screen.split("\n", 1)[0])

    def starts(self):
        for what, cold in (("start → first data", False), ("the same, cache not in memory", True)):
            seen = []
            for _ in range(STARTS):
                if cold:
                    forget(self.cache)
                with self.open() as terminal:
                    when, used = self.first_data(terminal)
                    seen.append((used, when - terminal.started, terminal.watch.mib()))
            middle = [statistics.median(column) for column in zip(*seen)]
            self.row(f"{what}, median of {STARTS}", *middle, cpu_max=0.05, wall_max=None if cold else 0.1)

    def dashboard(self):
        with self.open() as terminal:
            self.first_data(terminal)
            terminal.settle()
            drawn, used = terminal.rest_for(IDLE)
            self.row(f"idle for {IDLE} s: {drawn} bytes drawn", used, IDLE, terminal.watch.lap(), cpu_max=0.01)
            terminal.keys("9")
            terminal.until("the tables", lambda screen: "\n candles  " in screen)
            terminal.settle(0.2)
            line = next(y for y, line in enumerate(terminal.screen.lines(), 1) if line.startswith(" candles"))
            # Two clicks open it.
            for click, seen in (("select", "candles.*columns"), ("open", "column 1 of 8")):
                terminal.press(f"\x1b[<0;4;{line}M\x1b[<0;4;{line}m", click, lambda screen: re.search(seen, screen))
            terminal.settle()
            used, wall = terminal.press("G", "the last row", lambda screen: f"row {self.all}" in screen)
            self.row("jump to the end", used, wall, terminal.watch.lap(), wall_max=0.02)
            self.filters(terminal)
            self.sorts(terminal)
            self.row("the dashboard's peak, all of these", mib=terminal.watch.mib(), mib_max=80)

    def filters(self, terminal):
        for text in ("close>50000", "volume>0"):
            terminal.keys("/")
            terminal.see("Esc cancel")
            done = lambda screen: re.search(f"[0-9] (of {self.all} )?rows ─", screen) and f"/ {text} ─" in screen
            used, wall = terminal.press(f"\x1b[200~{text}\x1b[201~\r", f"the rows of {text}", done)
            count = re.search(r"([0-9,]+) (of [0-9,]+ )?rows ─", terminal.screen.text())[1]
            self.row(f"filter `{text}`: {count} rows", used, wall, terminal.watch.lap())
            terminal.press("/\x15\r", "all rows", lambda screen: f"─ {self.all} rows ─" in screen)

    def sorts(self, terminal):
        self.choose(terminal, "volume")
        used, asked = terminal.cpu(), time.monotonic()
        terminal.keys("s")
        when, after = terminal.see("VOLUME ▾")
        self.row("sort by volume: first page", after - used, when - asked, terminal.watch.lap(), cpu_max=0.8 if self.rows > 10_000_000 else None)
        frames = self.keys(terminal, "Esc cancels")
        when, after = terminal.see(f"─ {self.all} rows ─")
        self.row("sort by volume: the order of all rows ready", after - used, when - asked, terminal.watch.lap())
        if frames:
            self.row(ends(f"key → frame meanwhile, {len(frames)} keys", frames), wall=statistics.median(frames), wall_max=0.016)
        terminal.press("G", "the last row in that order", lambda screen: "VOLUME ▴" in screen)
        self.choose(terminal, "high")
        terminal.keys("s")
        terminal.see("Esc cancels")
        used, wall = terminal.press("\x1b", "that it was cancelled", lambda screen: "Esc cancels" not in screen)
        terminal.rest_for(0.1)
        self.row(f"Esc cancels; CPU from 0.1 s after it: {terminal.rest_for(1)[1] * 1e3:.1f} ms", used, wall, terminal.watch.lap(), wall_max=0.1)

    @staticmethod
    def choose(terminal, column):
        for _ in range(20):
            if re.search(rf"^ {column}  .*column \d+ of", terminal.screen.text(), re.M):
                return
            terminal.keys("l" if column == "volume" else "h")
            terminal.settle(0.1)
        raise Missed(f"never selected {column}")

    @staticmethod
    def keys(terminal, going):
        """How long help takes to come and go while something runs, of which the text on screen tells."""
        times, shown = [], False
        while (shown or going in terminal.screen.text()) and len(times) < SAMPLES * 4:
            shown = not shown
            # A person's keys do not come at once after a frame.
            terminal.rest_for(0.03)
            times.append(terminal.press("?" if shown else "\x1b", "help", lambda screen: ("keys · " in screen) == shown)[1])
        return times

    def importing(self):
        """The dashboard that has to import first."""
        shutil.rmtree(self.cache, ignore_errors=True)
        with self.open() as terminal:
            when, used = terminal.until("the first frame", lambda screen: "tokendeck" in screen)
            self.row("dashboard without a cache: first frame", used, when - terminal.started, terminal.watch.lap())
            when, used = self.first_data(terminal)
            self.row("dashboard without a cache: first data, candles still to come", used, when - terminal.started, terminal.watch.lap())
            frames = self.keys(terminal, "loading")
            if frames:
                self.row(ends(f"key → frame while importing, {len(frames)} keys", frames), wall=statistics.median(frames), wall_max=0.016)
            when, used = terminal.until("the end of the load", lambda screen: "loading" not in screen)
            self.row("dashboard without a cache: candles there too", used, when - terminal.started, terminal.watch.lap(), mib_max=300)

    def api(self):
        forget(self.cache)
        with self.serve(self.data) as server:
            watch, page = server.watch, server.ready("/tokens?limit=250", 0.002)
            self.row("`serve`, cache not in memory: first 200", server.cpu(), time.monotonic() - server.started, watch.lap())
            tokens = [token["token_address"] for token in json.loads(page)["tokens"]]
            for what, limit in (("first read", 500), ("read before", 499), ("the same question again", 499)):
                used = server.cpu()
                times = [server.ask(f"/tokens/{token}/candles?timeframe=1h&limit={limit}")[2] for token in tokens]
                each = (server.cpu() - used) / len(tokens)
                self.row(ends(f"500 candles over HTTP, {what}", times), each, statistics.median(times), watch.lap())
            used = server.cpu()
            time.sleep(IDLE)
            self.row(f"`serve` idle for {IDLE} s", server.cpu() - used, IDLE, watch.lap(), cpu_max=0.01)

    def polars(self):
        if subprocess.run([sys.executable, "-c", "import polars"], capture_output=True).returncode:
            return
        with open(os.path.join(self.data, "tokens.csv")) as tokens:
            tokens.readline()
            token = re.search("0x[0-9a-f]{40}", tokens.readline())[0]
        sorted_file = os.path.join(self.folder, "sorted.arrow")
        for what, arguments in (
            ("nothing but its import", ["", self.file, ""]),
            ("one token's rows, filtered", ["token", self.file, token]),
            ("first 1,000 rows by volume", ["page", self.file, ""]),
            ("sort and sink", ["sort", self.file, sorted_file]),
        ):
            used, wall, mib, _ = run([sys.executable, "-c", POLARS, *arguments], self.env)
            self.row(f"polars: {what}", used, wall, mib)
        os.remove(sorted_file)

    def lens(self):
        with Terminal([self.csvlens, self.file], self.env) as terminal:
            when, used = terminal.until("a row", lambda screen: "0x" in screen)
            self.row("csvlens: start → first data", used, when - terminal.started, terminal.watch.lap())
            when, used = terminal.until("the number of rows", lambda screen: f"/{self.rows}" in screen)
            self.row("csvlens: rows counted", used, when - terminal.started, terminal.watch.lap())
            terminal.rest_for(1)
            drawn, used = terminal.rest_for(IDLE)
            self.row(f"csvlens: idle for {IDLE} s: {drawn} bytes drawn", used, IDLE, terminal.watch.lap())
            used, wall = terminal.press("G", "the last row", lambda screen: re.search(rf"^ *{self.rows} ", screen, re.M))
            self.row("csvlens: jump to the end", used, wall, terminal.watch.lap())
            # The selection of columns, then the last of them.
            terminal.keys("g\t" + "l" * 7)
            terminal.rest_for(1)
            used, wall = terminal.press("J", "the sorted rows", lambda screen: re.search(r"\[Row (?!1/)", screen))
            self.row("csvlens: sort by volume", used, wall, terminal.watch.lap())


def main():
    arguments = options(__doc__, folder="/tmp/scale-tokendeck", keep=False)
    arguments.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 20_000_000])
    arguments.add_argument("--forms", nargs="+", default=["parquet", "csv"])
    arguments.add_argument("--csvlens", default=shutil.which("csvlens"))
    given = arguments.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    for rows in given.rows:
        table = Table(f"{rows:,} rows", f"scale {rows}")
        for form in given.forms:
            Scale(given, rows, form, table).measure()
        table.done(given.figures)
    if not given.keep:
        shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
