#!/usr/bin/env python3
"""Rows that a ClickHouse has: 30 M candles of 200 tokens, brought, and as they stay there.

    benches/clickhouse.py target/release/tokendeck http://127.0.0.1:8123 [--rows 30000000] [--folder /tmp/clickhouse-tokendeck] [--figures benches/figures.md]

The table is made in the engine's database `deck_bench` and stays there. CPU and memory are tokendeck's.
"""

import argparse, http.client, multiprocessing, os, shutil, socket, statistics, subprocess, threading, time, urllib.parse, urllib.request

from figures import Table
from measure import Terminal, Watch, cpu, run

TOKENS, START = 200, 1_600_000_200
KEY = "k" * 32


def address(token):
    return f"0x{token * 7919 + 1:040x}"


def tell(url, sql):
    return urllib.request.urlopen(urllib.request.Request(url, data=sql.encode())).read().decode().strip()


def make(url, rows):
    """Candles of 5 minutes, as benches/remote.py has them."""
    long = rows // TOKENS
    tell(url, "CREATE DATABASE IF NOT EXISTS deck_bench")
    name = f"deck_bench.candles_{rows}"
    if tell(url, f"EXISTS TABLE {name}") == "1":
        return name
    tell(
        url,
        f"CREATE TABLE {name} (token_address String, timestamp DateTime, open Float64, high Float64, low Float64, close Float64, volume Float64, "
        "interval LowCardinality(String)) ENGINE = MergeTree ORDER BY (token_address, interval, timestamp)",
    )
    tell(
        url,
        f"INSERT INTO {name} SELECT concat('0x', lower(leftPad(hex(intDiv(number, {long}) * 7919 + 1), 40, '0'))), "
        f"toDateTime({START} + (number % {long}) * 300), m, m + a + 0.001, m - b - 0.001, m + a - b, v * 1e6, '5m' FROM (SELECT number, "
        "1 + rand(1) / 4294967296 AS m, rand(2) / 4294967296 / 50 AS a, rand(3) / 4294967296 / 50 AS b, rand(4) / 4294967296 AS v "
        f"FROM numbers({rows}))",
    )
    return name


def serve(program, data, config, env):
    command = [program, "serve", "--listen", "127.0.0.1:0", "--data", data, "--config", config]
    process = subprocess.Popen(command, env={**env, "TOKENDECK_API_KEY": KEY}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return process, int(process.stdout.readline().decode().rsplit(":", 1)[1])


def get(connection, path, most=600):
    """The answer, once the table is there; milliseconds of that request."""
    end = time.monotonic() + most
    while True:
        begun = time.monotonic()
        connection.request("GET", path, headers={"x-api-key": KEY})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 503 or b'"loading"' not in body or time.monotonic() > end:
            assert answer.status == 200, body[:300]
            return (time.monotonic() - begun) * 1e3, body
        time.sleep(0.1)


def stays(given, data, config, env, name, table):
    """Candles of a token that stay at the engine: first, and again."""

    def engine(columns, more):
        """What the engine takes by itself, asked as plainly as can be."""
        took = []
        for token in range(8, 16):
            begun = time.monotonic()
            tell(given.url, f"SELECT {columns} FROM {name} WHERE token_address = '{address(token)}' {more}")
            took.append((time.monotonic() - begun) * 1e3)
        return statistics.median(took)

    rows = engine("*", "FORMAT Null")
    candle = "argMin(open, timestamp), max(high), min(low), argMax(close, timestamp), sum(volume), count()"
    hours = engine(f"toStartOfHour(timestamp) AS hour, {candle}", "GROUP BY hour ORDER BY hour FORMAT TabSeparated")
    process, port = serve(given.program, data, config, env)
    watch, connection = Watch(process.pid), http.client.HTTPConnection("127.0.0.1", port)
    begun = time.monotonic()
    get(connection, "/tokens?limit=1")
    path = lambda token: f"/tokens/{address(token)}/candles?timeframe=1d&limit=100"
    first = [get(connection, path(0))[0]]
    table.row("in place: from the start to the first token's candles", cpu(process.pid), time.monotonic() - begun, watch.mib())
    first = sorted(get(connection, path(token))[0] for token in range(1, 8))
    table.row(f"in place: candles of a token, first: median {statistics.median(first):.0f} ms, longest {first[-1]:.0f}; the engine {rows:.0f} to read its rows, {hours:.0f} to make hours of them")
    before, count = cpu(process.pid), 3_000
    again = sorted(get(connection, path(nth % 8))[0] for nth in range(count))
    used = (cpu(process.pid) - before) / count
    table.row(f"in place: candles of a token, again: median {statistics.median(again):.2f} ms, {used * 1e6:.0f} µs of CPU a request")
    process.kill()
    process.wait()


def tables(given, data, config, env, name, table):
    """The whole table, as it stays at the engine; beside what the engine takes for the bare question."""
    process, port = serve(given.program, data, config, env)
    watch, connection = Watch(process.pid), http.client.HTTPConnection("127.0.0.1", port)
    get(connection, "/tokens?limit=1")
    rows = f"SELECT * FROM {name} ORDER BY"
    own = "token_address, interval, timestamp"
    for what, path, bare in (
        ("the first page", "limit=100", f"{rows} {own} LIMIT 100"),
        ("the largest volumes", "limit=100&sort=-volume", f"{rows} volume DESC, {own} LIMIT 100"),
        ("closes over 1.99, counted", "limit=1&where=close%3E1.99", f"SELECT count() FROM {name} WHERE close > 1.99"),
        ("mean volume by interval", "by=interval&agg=mean:volume", f"SELECT interval, avg(volume) FROM {name} GROUP BY interval"),
        ("sum of volume by token", "by=token_address&agg=sum:volume", f"SELECT token_address, sumKahan(volume) FROM {name} GROUP BY token_address"),
        ("how often each time is there", "counts?column=timestamp", f"SELECT timestamp, count() FROM {name} GROUP BY timestamp"),
    ):
        begun = time.monotonic()
        tell(given.url, f"{bare} FORMAT Null")
        engine = time.monotonic() - begun
        path = f"/tables/candles/{path}" if path.startswith("counts") else f"/tables/candles?{path}"
        used, (taken, body) = cpu(process.pid), get(connection, path)
        pages = ""
        if b'"next":"' in body:
            cursor = urllib.parse.quote(body.split(b'"next":"')[1].split(b'"')[0].decode())
            pages = f", the next page {get(connection, f'{path}&cursor={cursor}')[0] / 1e3:.2f} s"
        table.row(f"in place, whole table: {what}: {taken / 1e3:.2f} s{pages}; the engine {engine:.2f} s for the bare question", cpu(process.pid) - used, taken / 1e3, watch.mib())
    process.kill()
    process.wait()


def relay(port, to, silent):
    """Hands on to the engine what is asked, and its answers back; silent, it takes what is asked and never answers."""

    def hand_on(source, target, asks):
        while True:
            try:
                data = source.recv(1 << 16)
                while asks and silent.value:
                    time.sleep(0.05)
                target.sendall(data)
            except OSError:
                return
            if not data:
                target.shutdown(socket.SHUT_WR)
                return

    listener = socket.create_server(("127.0.0.1", 0))
    port.value = listener.getsockname()[1]
    while True:
        client = listener.accept()[0]
        server = socket.create_connection(to)
        for source, target, asks in ((client, server, True), (server, client, False)):
            threading.Thread(target=hand_on, args=(source, target, asks), daemon=True).start()


def frames(given, data, env, table):
    """How long a key press takes to be drawn, while the engine that has the candles says nothing; beside the same while it answers."""
    engine = urllib.parse.urlsplit(given.url)
    port, silent = multiprocessing.Value("i", 0), multiprocessing.Value("b", 0)
    server = multiprocessing.Process(target=relay, args=(port, (engine.hostname, engine.port), silent), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.05)
    config = write_config(given, f"http://127.0.0.1:{port.value}")
    # The silent one first: of the other, charts are kept.
    for waits in (True, False):
        silent.value = False
        with Terminal([given.program, "--data", data, "--config", config, "--no-api"], env) as terminal:
            # It comes back to the view and the token where it was left.
            terminal.rest_for(3)
            terminal.keys("1g")
            terminal.see("Token 1", 600)
            terminal.settle()
            silent.value = waits
            taken = terminal.drawn("jj2j3j4j5j1", 330)
        what = "while the engine is silent" if waits else "while it answers"
        late = sum(time > 16 for time in taken)
        table.row(f"in place: key → first bytes drawn, {what}: median {statistics.median(taken):.1f}, p99 {taken[len(taken) * 99 // 100]:.1f}, longest {taken[-1]:.1f} ms, {late} of {len(taken)} over 16")
    server.terminate()


def market(given, env, config, table, tokens, hours):
    """The market of many tokens whose candles stay there: what comes of them, and in how many queries."""
    name = "deck_bench.market"
    tell(given.url, f"DROP TABLE IF EXISTS {name}")
    tell(
        given.url,
        f"CREATE TABLE {name} (token_address String, timestamp DateTime, open Float64, high Float64, low Float64, close Float64, volume Float64, "
        "interval LowCardinality(String)) ENGINE = MergeTree ORDER BY (token_address, interval, timestamp)",
    )
    tell(
        given.url,
        f"INSERT INTO {name} SELECT concat('0x', lower(leftPad(hex(intDiv(number, {hours}) * 7919 + 1), 40, '0'))), "
        f"toDateTime({START} + (number % {hours}) * 3600), m, m + 0.001, m - 0.001, m, rand(4) / 4294967296 * 1e6, '1h' FROM (SELECT number, "
        f"1 + rand(1) / 4294967296 AS m FROM numbers({tokens * hours}))",
    )
    data = os.path.join(given.folder, f"market-{tokens}")
    write(data, tokens, name, "in place")
    process, port = serve(given.program, data, config, env)
    watch, connection, begun = Watch(process.pid), http.client.HTTPConnection("127.0.0.1", port), time.monotonic()
    _, body = get(connection, "/tokens?limit=1")
    assert b'"price":1.' in body, body
    wall = time.monotonic() - begun
    _, metrics = get(connection, "/metrics")
    figures = dict(line.rsplit(" ", 1) for line in metrics.decode().splitlines() if line.startswith("tokendeck_remote_"))
    megabytes, queries = float(figures["tokendeck_remote_bytes_total"]) / 1e6, int(float(figures["tokendeck_remote_requests_total"]))
    table.row(f"in place: the market of {tokens:,} tokens, {tokens * hours:,} candles: {megabytes:.1f} MB came in {queries} requests", cpu(process.pid), wall, watch.mib())
    taken = [get(connection, f"/tokens?limit=100&{query}")[0] for query in ("page=7", "sort=-volume_24h", "where=price_change_7d%3E10&sort=price_change_30d")]
    table.row(f"in place: a page of them: {taken[0]:.1f} ms, sorted {taken[1]:.1f}, filtered and sorted {taken[2]:.1f}")
    if tokens <= 10_000:
        asked = [urllib.parse.quote(f"price>1.{rest} rsi_14<40") for rest in (60, 99)]
        used, (taken, body) = cpu(process.pid), get(connection, f"/tokens?limit=100&where={asked[0]}")
        again, _ = get(connection, f"/tokens?limit=100&where={asked[1]}&sort=rsi_14")
        table.row(f"in place: RSI of {tokens * 2 // 5:,} of them, {hours:,} candles each: {taken / 1e3:.1f} s, another question about them {again:.0f} ms", cpu(process.pid) - used, taken / 1e3, watch.mib())
    process.kill()
    process.wait()
    tell(given.url, f"DROP TABLE {name}")


def billion(given, env, config, table, tokens=10_000, each=100_000):
    """A billion candles that the engine makes while it is asked, so that it needs no disk: what stays here of them."""
    rows = (
        f"SELECT concat('0x', lower(leftPad(hex(intDiv(number, {each}) * 7919 + 1), 40, '0'))) AS token_address, "
        f"toDateTime({START} + (number % {each}) * 900) AS timestamp, 1 + cityHash64(number) % 1000 / 1000 AS open, open + 0.001 AS high, "
        f"open - 0.001 AS low, open AS close, toFloat64(number % 977) AS volume, '15m' AS interval FROM numbers({tokens * each})"
    )
    data = os.path.join(given.folder, "billion")
    write(data, tokens, f"query = \"{rows}\"", "in place")
    process, port = serve(given.program, data, config, env)
    watch, connection, begun = Watch(process.pid), http.client.HTTPConnection("127.0.0.1", port), time.monotonic()
    _, body = get(connection, "/tokens?limit=1", 3_600)
    assert b'"price":1.' in body or b'"price":2.' in body, body
    table.row(f"in place: the market of {tokens:,} tokens, {tokens * each:,} candles", cpu(process.pid), time.monotonic() - begun, watch.mib())
    for what, path in (
        ("a page of tokens", "/tokens?limit=100&page=7"),
        ("those of the largest volume", "/tokens?limit=100&sort=-volume_24h"),
        ("candles of a token, first", f"/tokens/{address(5)}/candles?timeframe=1d&limit=100"),
        ("candles of a token, again", f"/tokens/{address(5)}/candles?timeframe=1d&limit=100"),
    ):
        used, (taken, _) = cpu(process.pid), get(connection, path, 3_600)
        table.row(f"in place, a billion candles: {what}: {taken:.1f} ms", cpu(process.pid) - used, taken / 1e3, watch.mib(), mib_max=150)
    process.kill()
    process.wait()


def write(data, tokens, name, read):
    """A dataset of so many tokens and the engine's table, or a query."""
    os.makedirs(data)
    with open(os.path.join(data, "tokens.csv"), "w") as file:
        file.write("token_address,symbol,name,chain,price\n")
        file.writelines(f"{address(token)},T{token},Token {token},eth,{1 if tokens == TOKENS else ''}\n" for token in range(tokens))
    with open(os.path.join(data, "dataset.toml"), "w") as file:
        of = name if name.startswith("query = ") else f"table = '{name}'"
        file.write(f"[tables.candles]\nsource = 'bench'\n{of}\nread = '{read}'\n")


def write_config(given, url):
    """A configuration that names the source; its path."""
    config = os.path.join(given.folder, "config.toml")
    with open(config, "w") as file:
        file.write(f"[remote]\nenabled = true\n[sources.bench]\nkind = 'clickhouse'\nurl = '{url}'\ntimeout_seconds = 3600\nscan_rows_max = 20000000000\n")
    return config


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("url")
    parser.add_argument("--folder", default="/tmp/clickhouse-tokendeck")
    parser.add_argument("--rows", type=int, default=30_000_000)
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--billion", action="store_true", help="only a billion candles, which takes its time")
    parser.add_argument("--figures")
    given = parser.parse_args()
    given.program = os.path.abspath(given.program)
    shutil.rmtree(given.folder, ignore_errors=True)
    env = {**os.environ, **{f"XDG_{kind}_HOME": os.path.join(given.folder, kind.lower()) for kind in ("STATE", "CACHE", "CONFIG")}}
    table = Table(f"{given.rows:,} candles of a ClickHouse, {TOKENS} tokens", "clickhouse")
    if given.billion:
        os.makedirs(given.folder)
        billion(given, env, write_config(given, given.url), table)
        return table.done(given.figures)
    name = make(given.url, given.rows)
    for read in ("bring", "in place"):
        data = os.path.join(given.folder, read.replace(" ", "-"))
        write(data, TOKENS, name, read)
        config = write_config(given, given.url)
        for again in ("", ", again"):
            used, wall, mib, said = run([given.program, "check", data, "--config", config], env)
            assert "0 errors" in said, said[-500:]
            most = {"cpu_max": given.rows / 1e6, "mib_max": 150} if read == "bring" and not again else {}
            table.row(f"`check`, {'brought' if read == 'bring' else 'in place'}{again}", used, wall, mib, **most)
    stays(given, os.path.join(given.folder, "in-place"), config, env, name, table)
    tables(given, os.path.join(given.folder, "in-place"), config, env, name, table)
    market(given, env, config, table, 10_000, 1_000)
    market(given, env, config, table, given.tokens, 100)
    frames(given, os.path.join(given.folder, "in-place"), env, table)
    table.done(given.figures)
    shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
