#!/usr/bin/env python3
"""How the program behaves on candle tables of many rows, beside a plain polars script in the same run.

    benches/scale.py target/release/tokendeck [--rows 20000000] [--tokens 200] [--folder /tmp/scale]

Prints CPU seconds, wall seconds and peak RssAnon of each step: the first import, a start after it, questions to a running server,
and what polars needs to sort the same file. Wall time on a shared machine says little. Needs Python 3.9; polars is optional.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.request

ROW = "{:<44} {:>8} {:>8} {:>10}"
POLARS = """
import polars as pl, sys
scan = pl.scan_parquet(sys.argv[1]) if sys.argv[1].endswith("parquet") else pl.scan_csv(sys.argv[1])
scan.sort("token_address", "interval", "timestamp", maintain_order=True).sink_ipc(sys.argv[2], compression="uncompressed")
"""


def status(pid, key):
    try:
        with open(f"/proc/{pid}/status") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith(key)), 0)
    except OSError:
        return 0


def cpu(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Watch:
    """Follows a process: peak RssAnon in MiB."""

    def __init__(self, process):
        self.peak, self.process = 0, process
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while self.process.poll() is None:
            self.peak = max(self.peak, status(self.process.pid, "RssAnon"))
            time.sleep(0.005)

    def mib(self):
        return f"{self.peak / 1024:.0f} MiB"


def run(what, command, env):
    start, before = time.time(), os.times()
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    watch = Watch(process)
    process.wait()
    watch.thread.join()
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    print(ROW.format(what, f"{used:.2f}", f"{time.time() - start:.2f}", watch.mib()), flush=True)


def serve(what, program, data, env):
    start = time.time()
    process = subprocess.Popen([program, "serve", "--data", data, "--listen", "127.0.0.1:0"], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    watch = Watch(process)
    base = process.stdout.readline().split()[-1]
    key = subprocess.run([program, "key"], env=env, capture_output=True, text=True).stdout.strip()

    def get(target):
        request = urllib.request.Request(base + target, headers={"x-api-key": key})
        with urllib.request.urlopen(request) as reply:
            return reply.read()

    while True:
        try:
            page = json.loads(get("/tokens?limit=250"))
            break
        except OSError:
            time.sleep(0.002)
    print(ROW.format(f"{what}: start to first 200", f"{cpu(process.pid):.2f}", f"{time.time() - start:.3f}", watch.mib()), flush=True)
    times = []
    for token in page["tokens"]:
        asked = time.time()
        get(f"/tokens/{token['token_address']}/candles?timeframe=1h&limit=500")
        times.append(time.time() - asked)
    times.sort()
    print(ROW.format(f"{what}: 500 candles of a token, p99 wall ms", "", f"{times[len(times) * 99 // 100] * 1000:.1f}", watch.mib()))
    before = cpu(process.pid)
    time.sleep(2)
    print(ROW.format(f"{what}: idle for 2 s", f"{cpu(process.pid) - before:.2f}", "2", watch.mib()), flush=True)
    process.terminate()
    process.wait()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--rows", type=int, default=20_000_000)
    arguments.add_argument("--tokens", type=int, default=200)
    arguments.add_argument("--folder", default="/tmp/scale-tokendeck")
    arguments.add_argument("--keep", action="store_true", help="leave the data for the next run")
    given = arguments.parse_args()
    program = os.path.abspath(given.program)
    os.makedirs(given.folder, exist_ok=True)
    env = {**os.environ, **{f"XDG_{name}_HOME": os.path.join(given.folder, name.lower()) for name in ("CACHE", "STATE", "CONFIG", "DATA")}}
    os.chdir(given.folder)
    print(ROW.format("", "CPU s", "wall s", "RssAnon"))
    for form in ("parquet", "csv"):
        data = os.path.join(given.folder, f"{form}-{given.rows}-{given.tokens}")
        if not os.path.exists(data):
            made = [program, "demo", data, "--tokens", str(given.tokens), "--candles", str(given.rows), "--format", form]
            subprocess.run(made, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(os.path.join(given.folder, "cache"), ignore_errors=True)
        run(f"{form}: first import", [program, "check", data], env)
        run(f"{form}: check after it", [program, "check", data], env)
        serve(form, program, data, env)
        script = [sys.executable, "-c", POLARS, os.path.join(data, f"candles.{form}"), os.path.join(given.folder, "sorted.arrow")]
        if subprocess.run([sys.executable, "-c", "import polars"], capture_output=True).returncode == 0:
            run(f"{form}: polars sort and sink", script, env)
    if not given.keep:
        shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
