#!/usr/bin/env python3
"""Makes tests/charts/windows.csv, the candles of the windows that are marked there, from their sources: they are others' files and not part of
the project. Usage: windows.py FOLDER, which holds a clone of each repository of tests/charts/sources.csv as OWNER+NAME, with its history.
Daily candles and those of four hours are joined from hourly ones where the file has these; only whole ones count."""

import csv
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

WINDOWS = Path(__file__).parents[3] / "tests/charts"
HOURS = {"1h": 1, "4h": 4, "1d": 24}
LENGTH = 150


def rows(folder, source):
    clone = Path(folder) / source["repository"].replace("/", "+")
    text = subprocess.check_output(["git", "-C", clone, "show", f"{source['commit']}:{source['path']}"], text=True)
    table = csv.reader(text.splitlines())
    next(table)
    return {datetime.fromisoformat(row[0]): [float(cell) for cell in row[1:6]] for row in table}


def joined(candles, hours):
    parts = {}
    for time in sorted(candles):
        parts.setdefault(time.replace(hour=time.hour - time.hour % hours), []).append(candles[time])
    whole = {time: part for time, part in parts.items() if len(part) == hours}
    return {
        time: [part[0][0], max(c[1] for c in part), min(c[2] for c in part), part[-1][3], sum(c[4] for c in part)]
        for time, part in whole.items()
    }


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(WINDOWS / "sources.csv") as sources, open(WINDOWS / "windows.csv", "w") as out:
        out.write("window,timeframe,group,i,open,high,low,close,volume\n")
        for source in csv.DictReader(sources):
            candles, hours = rows(sys.argv[1], source), HOURS[source["timeframe"]]
            steps = sorted(candles)
            if hours > 1 and steps[1] - steps[0] == timedelta(hours=1):
                candles = joined(candles, hours)
            first = datetime.fromisoformat(source["first"])
            times = [time for time in sorted(candles) if time >= first][:LENGTH]
            if len(times) < LENGTH or times[0] != first:
                sys.exit(f"`{source['window']}`: expected {LENGTH} candles from {first} in `{source['path']}`")
            for i, time in enumerate(times):
                cells = [source["window"], source["timeframe"], source["group"], str(i), *map(repr, candles[time])]
                out.write(",".join(cells) + "\n")


main()
