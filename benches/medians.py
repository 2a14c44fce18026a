#!/usr/bin/env python3
"""The medians that criterion kept, as Markdown: `cargo bench --bench speed -- large` and after it

    benches/medians.py [large yield security patterns] [--target target] [--figures benches/figures.md]
"""

import argparse, glob, json, os

from figures import keep

UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))


def told(nanoseconds):
    size, unit = next(unit for unit in UNITS if nanoseconds >= unit[0] or unit[0] == 1)
    return f"{nanoseconds / size:.3g} {unit}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("groups", nargs="*", default=["large", "yield", "security", "patterns"])
    arguments.add_argument("--target", default="target")
    arguments.add_argument("--figures", help="a Markdown file whose table of medians is replaced")
    given = arguments.parse_args()
    lines = ["| `cargo bench --bench speed` | median, wall | of its measurements: the middle two thirds |", "|---|---:|---:|"]
    for estimates in sorted(glob.glob(os.path.join(given.target, "criterion", "**", "new", "estimates.json"), recursive=True)):
        with open(estimates) as file, open(os.path.join(os.path.dirname(estimates), "benchmark.json")) as named:
            estimate, name = json.load(file), json.load(named)["title"]
        if not any(name.startswith(group) for group in given.groups):
            continue
        middle, spread = estimate["median"]["point_estimate"], estimate["median_abs_dev"]["point_estimate"]
        lines.append(f"| {name} | {told(middle)} | ± {told(spread)} |")
    print("\n".join(lines))
    if given.figures:
        keep(given.figures, "medians", "\n".join(lines))


if __name__ == "__main__":
    main()
