#!/usr/bin/env python3
"""What the program costs from its start to the first data: CPU seconds, wall seconds and RssAnon at that moment, medians of several runs.

    benches/start.py target/release/tokendeck [FOLDER ...] [--runs 9]

The demo data of the repository come first, then each FOLDER; large tables are brought into a cache of their own beforehand.

    check      the whole of `tokendeck check`
    terminal   the dashboard in a terminal of 140 x 42, until the symbol of the largest token is drawn
    serve      until GET /tokens answers 200; polled, so wall time counts up to 1 ms too much

CPU time is that of all threads of the process, in the kernel too. Wall time on a shared machine says little. Linux, Python 3.9.
"""

import argparse
import fcntl
import json
import os
import pty
import shutil
import signal
import statistics
import struct
import subprocess
import tempfile
import termios
import time
import urllib.request

ROW = "{:<28} {:<10} {:>8} {:>8} {:>10}"
PATIENCE = 60.0
# What a terminal answers when it is asked for its colours, and for what it is.
ANSWERS = {b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\", b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\", b"\x1b[c": b"\x1b[?62;c"}


def cpu(pid):
    """CPU seconds of a process: its clock, as clock_getcpuclockid(3) would name it."""
    return time.clock_gettime(~pid << 3 | 2)


def anonymous(pid):
    with open(f"/proc/{pid}/status") as lines:
        return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon")), 0.0)


def figures(pid, start):
    return cpu(pid), time.monotonic() - start, anonymous(pid)


def check(program, folder, env, _):
    start = time.monotonic()
    process = subprocess.Popen([program, "check", folder], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, process.returncode, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start, 0.0


def terminal(program, folder, env, symbol):
    start = time.monotonic()
    pid, master = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 42, 140, 0, 0))
        os.execve(program, [program, "--data", folder], {**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"})
    shown, answered = b"", 0
    while symbol.encode() not in shown:
        if time.monotonic() - start > PATIENCE:
            raise SystemExit(f"`{symbol}` was not drawn within {PATIENCE:.0f} s")
        shown += os.read(master, 65536)
        for question, answer in ANSWERS.items():
            if shown.find(question, answered) >= 0:
                os.write(master, answer)
        answered = max(0, len(shown) - 8)
    measured = figures(pid, start)
    os.kill(pid, signal.SIGTERM)
    drain(master)
    os.waitpid(pid, 0)
    return measured


def drain(master):
    try:
        while os.read(master, 65536):
            pass
    except OSError:
        pass
    os.close(master)


def serve(program, folder, env, _):
    key = subprocess.run([program, "key"], env=env, capture_output=True, text=True).stdout.strip()
    start = time.monotonic()
    command = [program, "serve", "--data", folder, "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    request = urllib.request.Request(process.stdout.readline().split()[-1] + "/tokens?limit=1", headers={"x-api-key": key})
    while True:
        try:
            urllib.request.urlopen(request).read()
            break
        except OSError:
            time.sleep(0.001)
    measured = figures(process.pid, start)
    process.terminate()
    process.wait()
    return measured


def largest(program, folder, env):
    """The symbol of the largest token; brings large tables into the cache on the way."""
    answer = subprocess.run([program, "get", "/tokens?limit=1", "--data", folder], env=env, capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)["tokens"][0]["symbol"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("folders", nargs="*", metavar="FOLDER")
    arguments.add_argument("--runs", type=int, default=9)
    given = arguments.parse_args()
    program = os.path.abspath(given.program)
    demo = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "datasets")
    home = tempfile.mkdtemp(prefix="start-tokendeck-")
    env = {**os.environ, **{f"XDG_{name}_HOME": os.path.join(home, name.lower()) for name in ("CACHE", "STATE", "CONFIG", "DATA")}}
    folders = [os.path.abspath(folder) for folder in [demo, *given.folders]]
    os.chdir(home)
    print(ROW.format("", "", "CPU s", "wall s", "RssAnon"))
    try:
        for folder in folders:
            symbol = largest(program, folder, env)
            for measure in (check, terminal, serve):
                runs = [measure(program, folder, env, symbol) for _ in range(given.runs)]
                used, wall, memory = (statistics.median(column) for column in zip(*runs))
                shown = f"{memory:.0f} MiB" if memory else ""
                print(ROW.format(os.path.basename(folder), measure.__name__, f"{used:.3f}", f"{wall:.3f}", shown), flush=True)
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
