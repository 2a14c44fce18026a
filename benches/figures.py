"""Tables of figures: printed as they are measured, kept in Markdown between marks, compared with what is wanted."""

import re

LINE = "{:<86} {:>9} {:>9} {:>9}  {}"


def number(value, digits):
    return "" if value is None else f"{value:.{digits}f}"


class Table:
    def __init__(self, title, mark):
        self.title, self.mark, self.rows, self.over = title, mark, [], []
        print("\n" + LINE.format(title, "CPU s", "wall s", "MiB", "wanted"), flush=True)

    def row(self, what, used=None, wall=None, mib=None, cpu_max=None, wall_max=None, mib_max=None):
        wanted = []
        for value, most, unit in ((used, cpu_max, "CPU s"), (wall, wall_max, "s"), (mib, mib_max, "MiB")):
            if value is None or most is None:
                continue
            wanted.append(f"≤ {most:g} {unit}")
            if value > most:
                self.over.append((value / most, f"{what}: {value:.3g} {unit}, {value / most:.1f} × the {most:g} wanted"))
                wanted[-1] += " ✗"
        cells = [what, number(used, 4 if used is not None and used < 0.1 else 2), number(wall, 4 if wall is not None and wall < 0.1 else 2), number(mib, 0), ", ".join(wanted)]
        self.rows.append(cells)
        print(LINE.format(*cells), flush=True)

    def done(self, file):
        """Says what is over what is wanted, and keeps the table in the file, if one is named."""
        for _, said in sorted(self.over, reverse=True):
            print("over:", said, flush=True)
        if file:
            keep(file, self.mark, self.markdown())

    def markdown(self):
        lines = [f"| {self.title} | CPU s | wall s | RssAnon, MiB | wanted |", "|---|---:|---:|---:|---|"]
        return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in self.rows])


def keep(file, mark, text):
    """Puts a table where the file has its marks, or at its end."""
    start, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    with open(file) as old:
        content = old.read()
    block = f"{start}\n{text}\n{end}"
    if start in content:
        content = re.sub(re.escape(start) + ".*?" + re.escape(end), lambda _: block, content, flags=re.S)
    else:
        content = content.rstrip() + f"\n\n{block}\n"
    with open(file, "w") as new:
        new.write(content)
