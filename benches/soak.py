#!/usr/bin/env python3
"""Reloads under load: the dashboard in a terminal with the API beside it, clients that ask all the time, and files that change every second.

    benches/soak.py [--minutes 20] [--clients 32] [--program target/release/tokendeck]

Each second the demo data get a new mark, in two tables at once, by turning a link to another folder; every 60th second the new files are broken
and the mark before must stand. An answer is wrong if its two marks differ, if it goes back in time on one connection, if one entity tag
comes with two bodies, or if a broken generation shows. Memory is RssAnon; it is flat if the last fifth is not above the first by a tenth.
Needs python3 alone. Ends with 1 if anything was wrong.
"""

import argparse, csv, http.client, json, os, shutil, socket, sys, tempfile, threading, time

from measure import KEY, Unseen, anon, cpu

TOKEN = None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--program", default="target/release/tokendeck")
    parser.add_argument("--data", default="datasets", help="the dataset to begin with")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds a client waits between two questions")
    return parser.parse_args()


class Files:
    """The dataset's folder: a link to one of two, of which the other is made ready."""

    def __init__(self, place, source):
        self.place, self.source, self.link, self.mark = place, source, os.path.join(place, "data"), 0
        self.turn(1)

    def turn(self, mark, broken=False):
        folder = os.path.join(self.place, f"generation-{mark}{'-broken' if broken else ''}")
        os.makedirs(folder)
        for name in os.listdir(self.source):
            if name not in ("tokens.csv", "kols.csv"):
                os.link(os.path.join(self.place, "fixed", name), os.path.join(folder, name))
        for name, column in (("tokens.csv", "price"), ("kols.csv", "followers")):
            with open(os.path.join(self.source, name), newline="") as old, open(os.path.join(folder, name), "w", newline="") as new:
                reader = csv.DictReader(old)
                names = list(reader.fieldnames) + ([] if column in reader.fieldnames else [column])
                writer = csv.DictWriter(new, names)
                writer.writeheader()
                for row in reader:
                    writer.writerow({**row, column: mark})
        if broken:
            # One broken file in turn: cut off in the middle, or none at all.
            with open(os.path.join(folder, "tokens.csv" if mark % 2 else "kols.csv"), "w") as file:
                file.write("half of a hea")
        step = os.path.join(self.place, "step")
        os.symlink(folder, step)
        os.rename(step, self.link)
        if not broken:
            self.mark = mark
        old = os.path.join(self.place, f"generation-{mark - 30}")
        shutil.rmtree(old, ignore_errors=True)
        shutil.rmtree(old + "-broken", ignore_errors=True)


class Client(threading.Thread):
    tags, guard = {}, threading.Lock()

    def __init__(self, port, files, number, pause):
        super().__init__(daemon=True)
        self.port, self.files, self.number, self.pause = port, files, number, pause
        self.answers, self.unchanged, self.wrong, self.marks, self.going = 0, 0, [], set(), True

    def run(self):
        paths = [f"/tokens/{TOKEN}", "/tokens?limit=50"]
        connection, last, tags = None, 0, {}
        while self.going:
            path = paths[self.number % 2]
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                headers = {"x-api-key": KEY}
                if self.answers % 4 == 3 and path in tags:
                    headers["If-None-Match"] = tags[path]
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
                body, tag = answer.read(), answer.getheader("ETag")
            except (OSError, http.client.HTTPException) as error:
                self.wrong.append(f"{path}: {error!r}")
                connection = None
                time.sleep(0.2)
                continue
            self.answers += 1
            if answer.status == 304:
                self.unchanged += 1
            elif answer.status != 200:
                self.wrong.append(f"{path}: {answer.status} {body[:200]}")
            else:
                tags[path] = tag
                last = self.judge(path, tag, body, last)
            time.sleep(self.pause)

    def judge(self, path, tag, body, last):
        with self.guard:
            if len(self.tags) > 100_000:
                self.tags.clear()
            known = self.tags.setdefault((path, tag), hash(body))
        if known != hash(body):
            self.wrong.append(f"{path}: one tag, two bodies")
        answer = json.loads(body)
        items = answer["tokens"] if "tokens" in answer else [answer]
        marks = {item["price"] for item in items} | {kol["followers"] for item in items for kol in item.get("kols", item.get("top_kols", []))}
        if len(marks) != 1:
            self.wrong.append(f"{path}: marks of several generations in one answer: {sorted(marks)[:5]}")
        mark = int(max(marks))
        if mark < last:
            self.wrong.append(f"{path}: {mark} after {last}")
        self.marks.add(mark)
        return max(mark, last)


def main():
    global TOKEN
    asked = arguments()
    place = tempfile.mkdtemp(prefix="tokendeck-soak-")
    source = os.path.abspath(asked.data)
    shutil.copytree(source, os.path.join(place, "fixed"))
    with open(os.path.join(source, "kols.csv"), newline="") as kols:
        TOKEN = next(csv.DictReader(kols))["token_address"]
    files = Files(place, source)
    env = {**os.environ, "HOME": place, "TOKENDECK_API_KEY": KEY}
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TOKENDECK_CONFIG"):
        env.pop(name, None)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = os.path.join(place, "config.toml")
    with open(config, "w") as file:
        file.write(f'[datasets]\ndir = "data"\n[api]\nlisten = "127.0.0.1:{port}"\n')
    terminal = Unseen([os.path.abspath(asked.program), "--config", config], env)
    wrong, begun, clients, memory = [], time.monotonic(), [], []
    try:
        while True:
            try:
                http.client.HTTPConnection("127.0.0.1", port, timeout=5).request("GET", "/healthz")
                break
            except OSError:
                if time.monotonic() - begun > 30:
                    sys.exit("the API never listened:\n" + terminal.recent.decode(errors="replace"))
                time.sleep(0.1)
        time.sleep(2)
        clients = [Client(port, files, i, asked.pause) for i in range(asked.clients)]
        for client in clients:
            client.start()
        begun, second, broken = time.monotonic(), 0, 0
        while time.monotonic() - begun < asked.minutes * 60:
            second += 1
            if second % 60 == 0:
                broken += 1
                files.turn(second + 1, broken=True)
            else:
                files.turn(second + 1)
            memory.append(anon(terminal.pid))
            if second % 2 == 0:
                terminal.keys(b"%d" % (second // 2 % 10))
            time.sleep(max(0, begun + second - time.monotonic()))
        time.sleep(4)
        taken = cpu(terminal.pid)
        for client in clients:
            client.going = False
        for client in clients:
            client.join(40)
        marks = set().union(*(client.marks for client in clients))
        bad = {60 * i + 1 for i in range(1, broken + 1)}
        if marks & bad:
            wrong.append(f"broken generations were shown: {sorted(marks & bad)}")
        newest = max(marks)
        if newest != files.mark:
            wrong.append(f"the newest mark {files.mark} never came; {newest} stands")
        for client in clients:
            wrong += client.wrong
        # At rest nothing is drawn and nothing is done.
        time.sleep(12)
        drawn, used = terminal.bytes, cpu(terminal.pid)
        time.sleep(10)
        drawn, used = terminal.bytes - drawn, cpu(terminal.pid) - used
        if drawn or used > 0.05:
            wrong.append(f"at rest {drawn} bytes were drawn and {used:.2f} CPU s used in 10 s")
        fifth = max(1, len(memory) // 5)
        first, last = (sorted(part)[len(part) // 2] for part in (memory[fifth : 2 * fifth] or memory, memory[-fifth:]))
        if last > first * 1.1 + 4096:
            wrong.append(f"memory grew from {first} to {last} KiB")
        answers = sum(client.answers for client in clients)
        print(f"{asked.minutes} minutes, {second} changes, {broken} of them broken, {len(marks)} generations seen")
        print(f"{answers} answers ({sum(client.unchanged for client in clients)} of them 304) to {asked.clients} clients, {len(wrong)} wrong")
        print(f"RssAnon {first / 1024:.1f} MiB in the second fifth, {last / 1024:.1f} in the last, {max(memory) / 1024:.1f} at most")
        print(f"CPU {taken:.1f} s, {terminal.bytes / 1e6:.1f} MB drawn; in 10 s at rest {used:.2f} s and {drawn} bytes")
    finally:
        for client in clients:
            client.going = False
        terminal.close()
        shutil.rmtree(place, ignore_errors=True)
    for line in wrong[:20]:
        print("wrong:", line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
