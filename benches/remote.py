#!/usr/bin/env python3
"""Files elsewhere beside the same files here: 2 GB of candles in 10 objects, each request answered after 30 ms, and a source that falls silent.

    benches/remote.py target/release/tokendeck [--folder /tmp/remote-tokendeck] [--rows 45000000] [--keep] [--figures benches/figures.md]

The objects are written here, with polars, and served by a small S3 of this script's own (list, HEAD, ranges), a process of its own, whose CPU
time is not counted. CPU and memory are tokendeck's.
"""

import http.server, multiprocessing, os, re, shutil, statistics, time, urllib.parse

from figures import Table
from measure import Bench, address, options, write_tokens

FILES, TOKENS, LATENCY, START = 10, 200, 0.030, 1_600_000_200


def write(folder, rows):
    """Candles of 5 minutes, by token and time, a row group a million rows, as Spark and polars write them."""
    import polars as pl

    os.makedirs(os.path.join(folder, "candles"))
    write_tokens(folder, TOKENS, 1)
    each = rows // FILES
    long = rows // TOKENS
    for part in range(FILES):
        place = pl.int_range(part * each, (part + 1) * each, eager=True)
        chance = lambda seed: place.hash(seed).cast(pl.Float64) / 2.0**64
        frame = pl.DataFrame({"place": place, "mid": 1 + chance(1), "a": chance(2) / 50, "b": chance(3) / 50, "volume": chance(4) * 1e6})
        token = (pl.col("place") // long).clip(upper_bound=TOKENS - 1)
        frame.select(
            token.replace_strict({token: address(token) for token in range(TOKENS)}, return_dtype=pl.String).alias("token_address"),
            pl.from_epoch(pl.col("place") % long * 300 + START, "s").dt.cast_time_unit("ms").dt.replace_time_zone("UTC").alias("timestamp"),
            pl.col("mid").alias("open"),
            (pl.col("mid") + pl.col("a") + 0.001).alias("high"),
            (pl.col("mid") - pl.col("b") - 0.001).alias("low"),
            (pl.col("mid") + pl.col("a") - pl.col("b")).alias("close"),
            "volume",
            pl.lit("5m").alias("interval"),
        ).write_parquet(os.path.join(folder, "candles", f"part-{part}.parquet"), row_group_size=1_000_000)


def serve(folder, port, silent):
    """A bucket `bucket` of what lies in the folder."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

        def log_message(self, *_):
            pass

        def answer(self, status, length, *headers):
            self.send_response(status)
            for name, value in (("content-length", length), *headers):
                self.send_header(name, str(value))
            self.end_headers()

        def do_HEAD(self):
            self.do_GET()

        def do_GET(self):
            time.sleep(3_600 if silent.value else LATENCY)
            path, _, query = self.path.partition("?")
            if "list-type=2" in query:
                prefix = urllib.parse.parse_qs(query).get("prefix", [""])[0]
                names = sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, all in os.walk(folder) for name in all)
                lines = "".join(
                    f"<Contents><Key>{name}</Key><LastModified>2026-10-21T07:28:00.000Z</LastModified><ETag>\"{name}\"</ETag>"
                    f"<Size>{os.path.getsize(os.path.join(folder, name))}</Size></Contents>"
                    for name in names
                    if name.startswith(prefix)
                )
                body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{lines}</ListBucketResult>".encode()
                self.answer(200, len(body))
                self.wfile.write(body)
                return
            name = urllib.parse.unquote(path).removeprefix("/bucket/")
            with open(os.path.join(folder, name), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range", ""))
                start, end = (int(asked[1]), min(int(asked[2]) + 1, size)) if asked else (0, size)
                more = [("etag", f'"{name}"'), ("last-modified", "Wed, 21 Oct 2026 07:28:00 GMT")]
                if asked:
                    more.append(("content-range", f"bytes {start}-{end - 1}/{size}"))
                self.answer(206 if asked else 200, end - start, *more)
                self.wfile.flush()
                while self.command == "GET" and start < end:
                    start += os.sendfile(self.connection.fileno(), file.fileno(), start, end - start)

    http.server.ThreadingHTTPServer.daemon_threads = True
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port.value = server.server_address[1]
    server.serve_forever()


class Remote(Bench):
    def __init__(self, given):
        super().__init__(given.program, given.folder)
        self.there = os.path.join(given.folder, "there")
        self.env["NO_PROXY"] = "127.0.0.1"

    def clear(self):
        shutil.rmtree(self.cache, ignore_errors=True)

    def elsewhere(self, silent):
        """Starts the small S3: its process, and a configuration that names it."""
        port = multiprocessing.Value("i", 0)
        server = multiprocessing.Process(target=serve, args=(self.data, port, silent), daemon=True)
        server.start()
        while not port.value:
            time.sleep(0.05)
        return server, self.config(port.value)

    def config(self, port):
        os.makedirs(self.there, exist_ok=True)
        with open(os.path.join(self.there, "dataset.toml"), "w") as file:
            file.write("[tables.tokens]\npath = 's3://bucket/tokens.csv'\n[tables.candles]\npath = 's3://bucket/candles/*.parquet'\n")
        config = os.path.join(self.folder, "config.toml")
        with open(config, "w") as file:
            file.write(
                f"[remote]\nenabled = true\n[sources.bench]\nkind = 's3'\nbuckets = ['bucket']\nendpoint = 'http://127.0.0.1:{port}'\n"
                "region = 'us-east-1'\nanonymous = true\n"
            )
        return config


def latencies(server, paths, seconds):
    """Milliseconds of each answer to the paths in turn, over one connection."""
    taken, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        for path in paths:
            status, _, wall = server.ask(path)
            assert status == 200, status
            taken.append(wall * 1e3)
    return sorted(taken)


def by_turns(bench, silent):
    """A dataset without a table that waits for a silent source, then one with it; what to call it."""
    mixed = os.path.join(bench.folder, "mixed")
    os.makedirs(mixed, exist_ok=True)
    shutil.copy(os.path.join(bench.data, "tokens.csv"), mixed)
    for waits in (False, True):
        with open(os.path.join(mixed, "dataset.toml"), "w") as file:
            file.write("[tables.candles]\npath = 's3://bucket/candles/*.parquet'\n" if waits else "")
        silent.value = waits
        yield mixed, "while a source is silent" if waits else "without files elsewhere"
    silent.value = False


def stalled(bench, table, silent, config):
    """Questions to what stands, while a table waits for a source that says nothing; beside the same without such a table."""
    for mixed, what in by_turns(bench, silent):
        with bench.serve(mixed, "--config", config) as server:
            time.sleep(1)
            taken = latencies(server, [f"/{address(token)}/dexes" for token in range(20)], 5)
        p99 = taken[len(taken) * 99 // 100]
        table.row(f"GET dexes of a token {what}: median {statistics.median(taken):.2f}, p99 {p99:.2f}, longest {taken[-1]:.1f} ms, {len(taken)} requests")


def frames(bench, table, silent, config):
    """How long a key press takes to be drawn, while a table waits for a source that says nothing; beside the same without such a table."""
    for mixed, what in by_turns(bench, silent):
        bench.clear()
        with bench.terminal(mixed, "--config", config, "--no-api") as terminal:
            # The early dataset stands; its other views have all they need.
            terminal.rest_for(3)
            terminal.keys("8")
            terminal.rest_for(2)
            taken = terminal.drawn("jk12345678", 300)
        late = sum(time > 16 for time in taken)
        table.row(f"key → first bytes drawn, {what}: median {statistics.median(taken):.1f}, p99 {taken[296]:.1f}, longest {taken[-1]:.1f} ms, {late} of 300 over 16")


def starts(bench, table, config):
    """A start on files here, without any source in the configuration and with one that the dataset does not name; by turns."""
    alone = os.path.join(bench.folder, "alone")
    os.makedirs(alone, exist_ok=True)
    shutil.copy(os.path.join(bench.data, "tokens.csv"), alone)
    empty = os.path.join(bench.folder, "empty.toml")
    open(empty, "w").close()
    taken = {empty: [], config: []}
    for nth in range(60):
        for file in (empty, config) if nth % 2 else (config, empty):
            used, wall, _, _ = bench.run("check", alone, "--config", file)
            taken[file].append((wall * 1e3, used * 1e3))
    median = lambda file, which: statistics.median(row[which] for row in taken[file])
    for file, what in ((empty, "without a source"), (config, "with a source that nothing asks")):
        table.row(f"start, {what} (`check` of one file, 60 runs): median {median(file, 0):.1f} ms, {median(file, 1):.1f} ms of CPU")


def main():
    given = options(__doc__, folder="/tmp/remote-tokendeck", rows=45_000_000, keep=False).parse_args()
    bench = Remote(given)
    if not os.path.isdir(os.path.join(bench.data, "candles")):
        write(bench.data, given.rows)
    size = sum(os.path.getsize(os.path.join(bench.data, "candles", name)) for name in os.listdir(os.path.join(bench.data, "candles")))
    silent = multiprocessing.Value("b", 0)
    server, config = bench.elsewhere(silent)
    table = Table(f"{size / 1e9:.2f} GB, {given.rows:,} candles in {FILES} objects, {LATENCY * 1e3:.0f} ms before each answer", "remote")
    walls = {}
    for name, data in (("here", bench.data), ("elsewhere", bench.there)):
        bench.clear()
        used, wall, mib, said = bench.run("check", data, "--config", config)
        walls[name] = wall
        assert "0 errors" in said, said[-500:]
        most = {} if name == "here" else {"mib_max": 200, "wall_max": walls["here"] / 0.8}
        table.row(f"first import, files {name} (`check`)", used, wall, mib, **most)
    used, wall, mib, said = bench.run("check", bench.there, "--config", config)
    table.row("files elsewhere: `check` after it", used, wall, mib)
    server.terminate()
    server.join()
    used, wall, mib, said = bench.run("check", bench.there, "--config", config)
    table.row("files elsewhere: the same, nobody answers", used, wall, mib)
    server, config = bench.elsewhere(silent)
    stalled(bench, table, silent, config)
    frames(bench, table, silent, config)
    starts(bench, table, config)
    server.terminate()
    table.done(given.figures)
    if not given.keep:
        shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
