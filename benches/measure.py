"""What the scripts beside it share: their arguments, the program in a folder of its own, its server, a process's CPU time and memory, and a
terminal for it to run in, whose screen can be waited for.

Python 3.9 on Linux, standard library alone. CPU is user and system time of the process, with nanoseconds; memory is the peak of RssAnon,
looked at every 5 ms.
"""

import argparse, fcntl, http.client, os, pty, re, select, shutil, signal, struct, subprocess, tempfile, termios, threading, time, unicodedata

COLUMNS, LINES = 140, 42
PATIENCE = 300
KEY = "a-key-that-is-long-enough-for-a-bench"


class Missed(Exception):
    """What was waited for never came."""


def options(doc, **defaults):
    """A parser for the program, options with these defaults, and the file of the figures. An option that is False is a switch."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    for name, default in defaults.items():
        kind = {"action": "store_true"} if default is False else {"type": type(default), "default": default}
        parser.add_argument(f"--{name}", **kind)
    parser.add_argument("--figures", help="a Markdown file whose table of this script is replaced")
    return parser


def address(token):
    return f"0x{token * 7919 + 1:040x}"


def write_tokens(folder, count, price=""):
    """The table of so many tokens."""
    with open(os.path.join(folder, "tokens.csv"), "w") as file:
        file.write("token_address,symbol,name,chain,price\n")
        file.writelines(f"{address(token)},T{token},Token {token},eth,{price}\n" for token in range(count))


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


class Bench:
    """The program, and a folder for all it keeps: the one named, or a new one."""

    def __init__(self, program, folder=None):
        self.program, self.folder = program, folder or tempfile.mkdtemp(prefix="tokendeck-bench-")
        self.data, self.cache = os.path.join(self.folder, "data"), os.path.join(self.folder, "cache")
        self.env = {**os.environ, "TOKENDECK_API_KEY": KEY}
        for name in ("CACHE", "STATE", "CONFIG", "DATA"):
            self.env[f"XDG_{name}_HOME"] = os.path.join(self.folder, name.lower())

    def run(self, *arguments):
        return run([self.program, *arguments], self.env)

    def serve(self, data, *more):
        return Server([self.program, "serve", "--listen", "127.0.0.1:0", "--data", data, *more], self.env)

    def terminal(self, data, *more):
        return Terminal([self.program, "--data", data, *more], self.env)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


class Server:
    """A `serve` with the key, and a connection to it."""

    def __init__(self, command, env):
        self.started = time.monotonic()
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.watch = Watch(self.process.pid)
        said = self.process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", said)
        if not found:
            self.process.kill()
            raise Missed(f"the server told no address: {said}")
        self.port = int(found[1])
        self.client = self.connect(600)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def connect(self, timeout):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def cpu(self):
        return cpu(self.process.pid)

    def ask(self, path, body=None, client=None):
        """The answer's status and body, and wall seconds; with a body it is a POST of JSON."""
        client, asked = client or self.client, time.monotonic()
        if body:
            client.request("POST", path, body, {"x-api-key": KEY, "content-type": "application/json"})
        else:
            client.request("GET", path, headers={"x-api-key": KEY})
        answer = client.getresponse()
        said = answer.read()
        return answer.status, said, time.monotonic() - asked

    def ready(self, path="/tokens?limit=1", pause=0.01):
        """Asks until the data are there: the body."""
        while (answer := self.ask(path))[0] != 200:
            time.sleep(pause)
        return answer[1]


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


def fork(command, env):
    """Starts a command in a pseudo-terminal of 140×42: its process, and the terminal's other end."""
    pid, end = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        os.execvpe(command[0], command, {**env, "TERM": "xterm-256color"})
    return pid, end


class Unseen(threading.Thread):
    """A program in such a terminal at which nobody looks: what it draws is taken and counted."""

    def __init__(self, command, env):
        super().__init__(daemon=True)
        self.pid, self.end = fork(command, env)
        self.bytes, self.recent = 0, b""
        self.start()

    def run(self):
        try:
            while drawn := os.read(self.end, 1 << 16):
                self.bytes += len(drawn)
                self.recent = (self.recent + drawn)[-2_000:]
        except OSError:
            pass

    def keys(self, keys):
        os.write(self.end, keys)

    def close(self):
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


class Terminal:
    """A program in such a terminal, whose screen is kept."""

    def __init__(self, command, env):
        self.started = time.monotonic()
        self.pid, self.end = fork(command, {**env, "COLORTERM": "truecolor"})
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
