"""The memory of the dashboard under random keys: starts it in a pty on a dataset, presses keys, and says every 2,000 of them what it
holds. The same seed presses the same keys.

    keys.py PROGRAM DATASET [KEYS [SEED]]

Resident memory counts what is mapped of the program and of the cached tables too; `anonymous` is what the program holds of its own.
"""

import os, random, sys, time

from measure import Bench, Unseen

ARROWS = [b"\x1b[A", b"\x1b[B", b"\x1b[C", b"\x1b[D", b"\x1b[5~", b"\x1b[6~"]
# Without the keys that leave the program, load anew or write files.
LETTERS = [bytes([letter]) for letter in b"1234567890hjklgGsSwmMdantTvVpuifbx+-[]LxNKfFDCJ/ "]
KEYS = ARROWS + [b"\r", b"\x1b", b"\t"] + LETTERS
PAUSE = 0.004


def held(child):
    """(resident, most resident, anonymous) in MB."""
    with open(f"/proc/{child}/status") as status:
        sizes = dict(line.split(":", 1) for line in status)
    return [int(sizes[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM", "RssAnon")]


def main():
    program, dataset = map(os.path.abspath, sys.argv[1:3])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 20_000
    dice = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    with Bench(program) as bench:
        os.chdir(bench.folder)
        terminal = Unseen([program, "--data", dataset, "--no-api"], bench.env)
        child = terminal.pid
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
            terminal.keys(dice.choice(KEYS))
            time.sleep(PAUSE)
            if pressed % 2_000 == 0:
                print("%6d keys: resident %.0f MB, most %.0f, anonymous %.0f" % (pressed, *held(child)), flush=True)
        terminal.close()


if __name__ == "__main__":
    main()
