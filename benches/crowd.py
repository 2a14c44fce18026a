#!/usr/bin/env python3
"""How others fare while a crowd sits on the server: 1,100 idle connections, and 1,500 that send their request a byte a second.

    benches/crowd.py target/release/tokendeck [--seconds 8] [--figures benches/figures.md]

One connection asks for a token again and again; beside it, new clients connect and ask once, one after another. Those of the crowd that are
closed connect again. The crowd is a process of its own. Needs Python 3.9 alone, and room for 4,000 open files.
"""

import argparse, asyncio, http.client, multiprocessing, os, resource, shutil, subprocess, tempfile, threading, time

from figures import Table
from measure import Watch, cpu

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"a" * 4_000


async def idle(port):
    """Asks once, and stays."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    while await reader.read(4_096):
        pass


async def slow(port):
    """A request that never ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    ended = asyncio.ensure_future(reader.read(1))
    for byte in HEAD:
        writer.write(bytes([byte]))
        if (await asyncio.wait({ended}, timeout=1))[0]:
            break
    writer.close()


def crowd(port, size, one):
    async def stay():
        while True:
            try:
                await one(port)
            except OSError:
                pass
            await asyncio.sleep(0.1)

    async def all():
        await asyncio.gather(*(stay() for _ in range(size)))

    asyncio.run(all())


class Server:
    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="tokendeck-crowd-")
        env = {**os.environ, **{f"XDG_{name}_HOME": os.path.join(self.folder, name.lower()) for name in ("CACHE", "STATE", "CONFIG", "DATA")}}
        data = os.path.join(self.folder, "data")
        subprocess.run([program, "demo", data], env=env, check=True, capture_output=True)
        command = [program, "serve", "--data", data, "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[-1].split()[0].strip("/"))
        self.key = subprocess.run([program, "key"], env=env, capture_output=True, text=True).stdout.strip()

    def ask(self, client, path):
        begun = time.monotonic()
        client.request("GET", path, headers={"x-api-key": self.key})
        answer = client.getresponse()
        answer.read()
        return answer.status, (time.monotonic() - begun) * 1e3

    def client(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def end(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)


def new_ones(server, path, end, taken):
    """Clients that connect, ask and go: milliseconds from connecting to the answer; none where there was none."""
    while time.monotonic() < end:
        begun, client = time.monotonic(), server.client()
        try:
            status, _ = server.ask(client, path)
        except OSError:
            status = 0
        taken.append((time.monotonic() - begun) * 1e3 if status == 200 else None)
        client.close()
        time.sleep(0.05)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--seconds", type=float, default=8)
    arguments.add_argument("--figures", help="a Markdown file whose table of crowds is replaced")
    given = arguments.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    table = Table("a token beside a crowd, ms (wanted: p99 ≤ 10, new ones ≤ 1,000)", "crowd")
    for what, size, one in (("nobody else", 0, None), ("1,100 idle connections", 1_100, idle), ("1,500 connections, a byte a second each", 1_500, slow)):
        server = Server(os.path.abspath(given.program))
        path = "/tokens/0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"
        client = server.client()
        while server.ask(client, path)[0] != 200:
            time.sleep(0.01)
        watch, used = Watch(server.process.pid), cpu(server.process.pid)
        others = multiprocessing.Process(target=crowd, args=(server.port, size, one), daemon=True)
        if size:
            others.start()
        # While the crowd gathers nothing is measured.
        for length, news, olds in ((3, [], []), (given.seconds, [], [])):
            end = time.monotonic() + length
            beside = threading.Thread(target=new_ones, args=(server, path, end, news))
            beside.start()
            while time.monotonic() < end:
                status, took = server.ask(client, path)
                assert status == 200, status
                olds.append(took)
                time.sleep(0.002)
            beside.join()
        if size:
            others.kill()
        olds.sort()
        lost, news = news.count(None), sorted(one for one in news if one is not None)
        at = lambda list, share: f"{list[min(len(list) - 1, int(len(list) * share))]:.2f}" if list else "–"
        table.row(
            f"{what}: one that asks again and again, p50 {at(olds, .5)}, p99 {at(olds, .99)}, longest {at(olds, 1)}; "
            f"{len(news)} new ones, p50 {at(news, .5)}, longest {at(news, 1)}, not answered {lost}",
            cpu(server.process.pid) - used, given.seconds, watch.lap(),
        )
        server.end()
    table.done(given.figures)


if __name__ == "__main__":
    main()
