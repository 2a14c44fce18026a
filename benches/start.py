#!/usr/bin/env python3
"""What the program costs from its start to the first data: CPU seconds, wall seconds and RssAnon at that moment, medians of several runs.

    benches/start.py target/release/tokendeck [FOLDER ...] [--runs 9]

The demo data of the repository come first, then each FOLDER; large tables are brought into a cache of their own beforehand.

    check      the whole of `tokendeck check`
    terminal   the dashboard in a terminal of 140 x 42, until the symbol of the largest token is drawn
    serve      until GET /tokens answers 200; polled, so wall time counts up to 1 ms too much

CPU time is that of all threads of the process, in the kernel too. Wall time on a shared machine says little. Linux, Python 3.9.
"""

import json, os, statistics, subprocess, time

from measure import Bench, anon, options

ROW = "{:<28} {:<10} {:>8} {:>8} {:>10}"


def check(bench, folder, _):
    start = time.monotonic()
    process = subprocess.Popen([bench.program, "check", folder], env=bench.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, process.returncode, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start, 0.0


def terminal(bench, folder, symbol):
    with bench.terminal(folder) as terminal:
        when, used = terminal.see(symbol, 60)
        return used, when - terminal.started, anon(terminal.pid) / 1024


def serve(bench, folder, _):
    with bench.serve(folder) as server:
        server.ready(pause=0.001)
        return server.cpu(), time.monotonic() - server.started, anon(server.process.pid) / 1024


def largest(bench, folder):
    """The symbol of the largest token; brings large tables into the cache on the way."""
    answer = subprocess.run([bench.program, "get", "/tokens?limit=1", "--data", folder], env=bench.env, capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)["tokens"][0]["symbol"]


def main():
    arguments = options(__doc__, runs=9)
    arguments.add_argument("folders", nargs="*", metavar="FOLDER")
    given = arguments.parse_args()
    demo = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "datasets")
    folders = [os.path.abspath(folder) for folder in [demo, *given.folders]]
    print(ROW.format("", "", "CPU s", "wall s", "RssAnon"))
    with Bench(given.program) as bench:
        os.chdir(bench.folder)
        for folder in folders:
            symbol = largest(bench, folder)
            for measure in (check, terminal, serve):
                runs = [measure(bench, folder, symbol) for _ in range(given.runs)]
                used, wall, memory = (statistics.median(column) for column in zip(*runs))
                shown = f"{memory:.0f} MiB" if memory else ""
                print(ROW.format(os.path.basename(folder), measure.__name__, f"{used:.3f}", f"{wall:.3f}", shown), flush=True)


if __name__ == "__main__":
    main()
