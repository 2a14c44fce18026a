"""What the scripts beside it measure with: a process's CPU time and memory, and a terminal for it to run in, whose screen can be waited for.

Python 3.9 on Linux, standard library alone. CPU is user and system time of the process, with nanoseconds; memory is the peak of RssAnon,
looked at every 5 ms.
"""

import fcntl, os, pty, re, select, signal, struct, subprocess, termios, threading, time, unicodedata

COLUMNS, LINES = 140, 42
PATIENCE = 300


class Missed(Exception):
    """What was waited for never came."""


def cpu(pid):
    # The kernel's name for another process's CPU clock: its complement, shifted, and the mark of the scheduler's clock.
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def anon(pid):
    try:
        with open(f"/proc/{pid}/status") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)
    except OSError:
        return 0


class Watch(threading.Thread):
    """Follows the memory of a process until it ends."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.since = pid, 0, 0
        self.start()

    def run(self):
        while True:
            now = anon(self.pid)
            if not now and not os.path.exists(f"/proc/{self.pid}/stat"):
                return
            self.peak, self.since = max(self.peak, now), max(self.since, now)
            time.sleep(0.005)

    def mib(self):
        return self.peak / 1024

    def lap(self):
        """The peak since it was asked before."""
        peak, self.since = max(self.since, anon(self.pid)), 0
        return peak / 1024


def run(command, env):
    """Runs a command to its end: CPU seconds, wall seconds, MiB, what it wrote."""
    start, before = time.monotonic(), os.times()
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    watch = Watch(process.pid)
    said = process.communicate()[0].decode(errors="replace")
    wall, after = time.monotonic() - start, os.times()
    if process.returncode:
        raise Missed(f"{' '.join(command[:3])}… ended with {process.returncode}: {said[-500:]}")
    return after.children_user + after.children_system - before.children_user - before.children_system, wall, watch.mib(), said


def forget(folder):
    """Asks the kernel to drop the pages of the folder's files that nobody has mapped, so that they are read from the disk again."""
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


TOKENS = re.compile(r"\x1b\[([?>=<]?)([0-9;:]*)([@-~])|\x1b\](.*?)(?:\x07|\x1b\\)|\x1b[PX^_].*?\x1b\\|\x1b[ -/]*[0-~]|[\x00-\x1f]|[^\x00-\x1f]+", re.S)


class Screen:
    """As much of a terminal's screen as full-screen programs use: text, the cursor's moves, erasing."""

    def __init__(self):
        self.cells = [[" "] * COLUMNS for _ in range(LINES)]
        self.x = self.y = 0

    def lines(self):
        return ["".join(line) for line in self.cells]

    def text(self):
        return "\n".join(self.lines())

    def feed(self, text):
        """Takes what was written; what the terminal has to answer."""
        answers = ""
        for token in TOKENS.finditer(text):
            mark, numbers, last, osc = token.groups()
            if last:
                answers += self.control(mark, [int(n) if n.isdigit() else 0 for n in numbers.split(";")], last)
            elif osc is not None:
                answers += "\x1b]11;rgb:1111/1313/1a1a\x1b\\" if osc == "11;?" else ""
            elif token[0][0] >= " ":
                self.put(token[0])
            elif token[0] == "\r":
                self.x = 0
            elif token[0] == "\n":
                self.y = min(self.y + 1, LINES - 1)
        return answers

    def put(self, text):
        for letter in text:
            width = 0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
            if width and self.x + width <= COLUMNS:
                self.cells[self.y][self.x] = letter
                if width == 2:
                    self.cells[self.y][self.x + 1] = ""
                self.x += width

    def control(self, mark, numbers, last):
        first = max(numbers[0], 1)
        if mark:
            return ""
        if last in "Hf":
            self.y, self.x = min(first, LINES) - 1, min(max((numbers + [1])[1], 1), COLUMNS) - 1
        elif last in "ABCD":
            x, y = {"A": (0, -first), "B": (0, first), "C": (first, 0), "D": (-first, 0)}[last]
            self.x, self.y = min(max(self.x + x, 0), COLUMNS - 1), min(max(self.y + y, 0), LINES - 1)
        elif last == "G":
            self.x = min(first, COLUMNS) - 1
        elif last == "d":
            self.y = min(first, LINES) - 1
        elif last == "J" and numbers[0] >= 2:
            self.cells = [[" "] * COLUMNS for _ in range(LINES)]
        elif last == "K":
            start, end = {0: (self.x, COLUMNS), 1: (0, self.x + 1)}.get(numbers[0], (0, COLUMNS))
            self.cells[self.y][start:end] = [" "] * (end - start)
        elif last == "n" and numbers[0] == 6:
            return f"\x1b[{self.y + 1};{self.x + 1}R"
        elif last == "c":
            return "\x1b[?62;c"
        return ""


class Terminal:
    """A program in a pseudo-terminal of 140×42."""

    def __init__(self, command, env):
        self.started = time.monotonic()
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
            os.execvpe(command[0], command, {**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"})
        self.screen, self.rest, self.bytes, self.watch = Screen(), b"", 0, Watch(self.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # What it still writes has to be read, or it waits for that.
        os.kill(self.pid, signal.SIGTERM)
        end = time.monotonic() + 10
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
            try:
                self.read(0.02)
            except Missed:
                time.sleep(0.02)
        os.close(self.end)

    def cpu(self):
        return cpu(self.pid)

    def keys(self, keys):
        os.write(self.end, keys.encode())

    def read(self, seconds):
        """Takes what is written within the time; when it came and the CPU time then, or none."""
        if not select.select([self.end], [], [], max(seconds, 0))[0]:
            return None
        came = time.monotonic(), self.cpu()
        try:
            drawn = os.read(self.end, 1 << 16)
        except OSError:
            raise Missed(f"the program ended:\n{self.screen.text()}")
        self.bytes += len(drawn)
        text = self.rest + drawn
        # A sequence or letter that is not whole yet waits for the rest.
        cut = text.rfind(b"\x1b", -40)
        if cut >= 0 and re.fullmatch(rb"\x1b(\[[?>=<]?[0-9;:]*|\][^\x07\x1b]*)?", text[cut:]):
            text, self.rest = text[:cut], text[cut:]
        else:
            self.rest = b""
        tail = next((n for n in (1, 2, 3) if len(text) >= n and text[-n] >= 0xC0 and len(text[-n:]) < (2 if text[-n] < 0xE0 else 3 if text[-n] < 0xF0 else 4)), 0)
        if tail and not self.rest:
            text, self.rest = text[:-tail], text[-tail:]
        answer = self.screen.feed(text.decode(errors="replace"))
        if answer:
            os.write(self.end, answer.encode())
        return came

    def until(self, what, test, patience=PATIENCE):
        """Waits until the screen's text is as wanted: when that was and the CPU time then."""
        came = time.monotonic(), self.cpu()
        end = time.monotonic() + patience
        while not test(self.screen.text()):
            if time.monotonic() > end:
                raise Missed(f"never saw {what}:\n{self.screen.text()}")
            came = self.read(0.5) or came
        return came

    def see(self, text, patience=PATIENCE):
        return self.until(f"`{text}`", lambda screen: text in screen, patience)

    def press(self, keys, what, test, patience=PATIENCE):
        """Presses keys and waits: CPU seconds and wall seconds."""
        used, asked = self.cpu(), time.monotonic()
        self.keys(keys)
        when, after = self.until(what, test, patience)
        return after - used, when - asked

    def drawn(self, keys, count):
        """Presses so many keys in turn: how long each takes to be drawn, in milliseconds, the shortest first."""
        taken = []
        for nth in range(count):
            self.keys(keys[nth % len(keys)])
            pressed = time.monotonic()
            came = self.read(1)
            taken.append((came[0] - pressed if came else 1) * 1e3)
            self.rest_for(0.03)
        return sorted(taken)

    def rest_for(self, seconds):
        """Takes what is drawn for a while: bytes and CPU seconds."""
        drawn, used, end = self.bytes, self.cpu(), time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(end - time.monotonic())
        return self.bytes - drawn, self.cpu() - used

    def settle(self, quiet=0.5):
        """Waits until nothing is drawn any more."""
        while self.read(quiet):
            pass
