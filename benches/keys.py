"""The memory of the dashboard under random keys: starts it in a pty on a dataset, presses keys, and says every 2,000 of them what it
holds. The same seed presses the same keys.

    keys.py PROGRAM DATASET [KEYS [SEED]]

Resident memory counts what is mapped of the program and of the cached tables too; `anonymous` is what the program holds of its own.
"""

import fcntl
import os
import pty
import random
import select
import struct
import sys
import tempfile
import termios
import threading
import time

ARROWS = [b"\x1b[A", b"\x1b[B", b"\x1b[C", b"\x1b[D", b"\x1b[5~", b"\x1b[6~"]
# Without the keys that leave the program, load anew or write files.
LETTERS = [bytes([letter]) for letter in b"1234567890hjklgGsSwmMdantTvVpuifbx+-[]LxNKfFDCJ/ "]
KEYS = ARROWS + [b"\r", b"\x1b", b"\t"] + LETTERS
PAUSE = 0.004


def drained(terminal, stop):
    while not stop.is_set():
        ready, _, _ = select.select([terminal], [], [], 0.2)
        try:
            if ready and not os.read(terminal, 65536):
                return
        except OSError:
            return


def held(child):
    """(resident, most resident, anonymous) in MB."""
    with open(f"/proc/{child}/status") as status:
        sizes = dict(line.split(":", 1) for line in status)
    return [int(sizes[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM", "RssAnon")]


def main():
    program, dataset = map(os.path.abspath, sys.argv[1:3])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 20_000
    dice = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        folders = {f"XDG_{name}_HOME": os.path.join(home, name.lower()) for name in ("STATE", "CACHE", "CONFIG")}
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(home)
            arguments = [program, "--data", dataset, "--no-api"]
            os.execve(program, arguments, dict(os.environ, TERM="xterm-256color", **folders))
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 42, 140, 0, 0))
        stop = threading.Event()
        threading.Thread(target=drained, args=(terminal, stop), daemon=True).start()
        # Until the large tables are in the cache: nothing more is read.
        before, still = None, 0
        while still < 10:
            time.sleep(0.5)
            with open(f"/proc/{child}/io") as io:
                now = io.read()
            still = still + 1 if now == before else 0
            before = now
        print("loaded: resident %.0f MB, most %.0f, anonymous %.0f" % tuple(held(child)), flush=True)
        for pressed in range(1, count + 1):
            os.write(terminal, dice.choice(KEYS))
            time.sleep(PAUSE)
            if pressed % 2_000 == 0:
                print("%6d keys: resident %.0f MB, most %.0f, anonymous %.0f" % (pressed, *held(child)), flush=True)
        stop.set()
        os.kill(child, 15)


main()
