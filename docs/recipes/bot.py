#!/usr/bin/env python3
"""A bot that receives alerts: tokendeck posts each trigger here, and the bot checks the token before it prints a line.

    TOKENDECK_API_KEY=$(tokendeck key) python3 bot.py 8799

Needs only Python 3. Replace `say` with your chat, mail or trading system."""
import json, os, sys, urllib.error, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

API = os.environ.get("TOKENDECK_API", "http://127.0.0.1:8787")
KEY = os.environ["TOKENDECK_API_KEY"]


def ask(path):
    with urllib.request.urlopen(urllib.request.Request(API + path, headers={"x-api-key": KEY}), timeout=30) as answer:
        return json.load(answer)


def say(line):
    print(line, flush=True)


class Bot(BaseHTTPRequestHandler):
    def do_POST(self):
        fired = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(204)
        self.end_headers()
        token = fired["token_address"]
        try:
            security = ask(f"/{token}/security/inference")
            looked = f"score {security['securityScore']}, {security['recommendation'].split(':')[0]}"
        except urllib.error.HTTPError as refused:
            looked = json.load(refused)["detail"]
        say(f"{fired['symbol']} meets {fired['condition']}: {looked}")

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Bot).serve_forever()
