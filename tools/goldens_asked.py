"""The data that tools/goldens makes, and the list of what it asks. How answers are compared is in tools/goldens."""

import csv
import itertools
import json
import random
import re
import shutil
import sys
import time
from pathlib import Path
from urllib.parse import quote, urlencode

ROOT = Path(__file__).resolve().parent.parent
NOBODY = "0x00000000000000000000000000000000000000ff"

# Arguments with which the tool of tests/questions/plain.tsv answers the question. {good}, {bad} and the others are tokens of `samples`.
T, C = "token_address", "contractAddress"
ASKED = {
    "Is it safe to buy PEPE?": {C: "{bad}"},
    "Can the owner of this token print more of it?": {C: "{good}", "explain": True},
    "Is this coin a honeypot?": {C: "{bad}", "explain": True},
    "Which of these five tokens is the riskiest to own?": {"addresses": "{good},{bad},{busy},{held},{bare}"},
    "Tell me about Uniswap's token.": {T: "UNI"},
    "What does UNI cost right now?": {"addresses": "{good}"},
    "What is LINK's market cap?": {T: "LINK"},
    "Which tokens on Base have a market cap above 10 million dollars?": {"where": "chain:base cap>10m"},
    "Show me the ten biggest losers of the last day.": {"sort": "price_change_24h", "limit": 10},
    "What is the contract address of the token called Maker?": {"query": "Maker"},
    "Which tokens are oversold, with an RSI below 30?": {"where": "rsi_14<30", "fields": "rsi_14"},
    "Where can I trade UNI?": {C: "{good}"},
    "What fee tiers does uniswap-v3 have for UNI?": {C: "{good}", "dexId": "{dex}"},
    "How much is locked in each decentralised exchange?": {"sort": "-tvl", "limit": 3},
    "How much would I lose to slippage if I sold 50,000 dollars of UNI?": {T: "{good}", "amount": 50000},
    "Which pool of UNI has the most liquidity?": {T: "{good}", "sort": "-liquidity", "limit": 1},
    "Who are the largest holders of UNI?": {T: "{held}"},
    "What share of the supply does the biggest wallet own?": {T: "{held}", "flows": True, "limit": 1},
    "How did UNI's number of holders change over the last month?": {T: "{good}"},
    "Which tokens are gaining holders the fastest?": {"window": "30"},
    "Which tokens does the wallet 0x3dc6…5987 own?": {"address": "{holder}"},
    "What are people posting about UNI?": {T: "{good}"},
    "Find posts that mention an airdrop, about any token.": {"query": "airdrop"},
    "Is UNI in an uptrend?": {C: "{good}"},
    "Where are support and resistance for UNI?": {C: "{good}", "period": 200, "explain": True},
    "Does the chart of UNI show a head and shoulders?": {C: "{good}"},
    "Going by its chart patterns, should I buy or sell UNI?": {C: "{good}", "explain": "true"},
    "What is the RSI of UNI today?": {C: "{good}", "names": "rsi_14", "limit": 1},
    "Show me the MACD of WETH.": {C: "{busy}", "names": "macd_12_26_9"},
    "How often have double bottoms turned out right in the past?": {C: "{good}"},
    "How often did tokens that you called AVOID lose their value later?": {},
    "Which influencers were right in the past: did tokens rise after their posts?": {},
    "What did UNI close at on 3 March?": {T: "{good}", "from": "2026-03-03", "to": "2026-03-03"},
    "Give me the daily closing prices of UNI, LINK and AAVE so that I can compute something with them.": {"addresses": "{good},{bad},{busy}"},
    "Did UNI do better than LINK this year?": {"addresses": "{good},{busy}", "period": "365d"},
    "Do UNI and WETH move together?": {"addresses": "{good},{busy}"},
    "What can I earn on my 5,000 USDC at low risk?": {"tokens": {"{good}": "5000000000000000000000"}, "settings": {"riskLevel": "low"}},
    "How old is the data you are using?": {},
    "How many tokens are there on each chain?": {"table": "tokens", "column": "chain"},
    "What were the ten largest transfers of UNI?": {"table": "transfers", "where": "token_address:{busy}", "sort": "-value", "limit": 10},
    "Which of my alerts have fired?": {},
    "What happened after UNI fell by more than 10 % in a day, those times it did?": {T: "{good}", "condition": "24h<-10"},
}
CONDITIONS = ("24h<-2", "price>0 score<60", "rsi_14<30", "pattern:double", "holders_growth>1 or not cap>1m")
FILTERS = {
    "number": ("{c}>{v}", "{c}<={v}", "{c}={v}", "{c}!={v}", "not {c}>{v}", "{c}>{v} {c}<{w}", "{c} in ({v}, {w})", "{c}<{v} or not {c}<{w}", "{c}>1e30"),
    "text": ("{c}:{part}", "{c}={v}", "{c}!={v}", "not {c}:{part}", "{c} in ({v}, {w})", "{c}>={v}"),
    "address": ("{c}={v}", "{c}!={v}", "{c}:dead", "{c} in ({v}, {w})", "not {c}={v}", "{c}:{part}"),
    "time": ("{c}>={v}", "{c}<{day}", "{c}={day}", "{c}<={month}", "not {c}>{month}", "{c}!={day}", "{c}>{year}"),
    "boolean": ("{c}=yes", "{c}!=yes", "not {c}=no"),
    "list": ("{c}:{v}", "{c}={v}", "{c}!={v}", "{c} in ({v}, {w})", "not {c}:{v}"),
}
KINDS = {"float": "number", "integer": "number", "uint256": "number", "text": "text", "address": "address", "hex": "address", "time": "time",
         "date": "time", "boolean": "boolean", "chain": "list", "chains": "list", "addresses": "list"}


# The data.

def made(old, folder, tokens, candles, transfers):
    """A made market with all tables, and faults in small files beside the demo's."""
    wanted = f"{tokens} {candles} {transfers} 1\n"
    stamp = folder / "made"
    if stamp.exists() and stamp.read_text() == wanted:
        return folder / "data"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    data = folder / "data"
    print(f"making {data}", flush=True)
    code, _, err = old.run("demo", data, "--tokens", tokens, "--candles", candles, "--transfers", transfers)
    if code:
        sys.exit(f"the demo could not be made: {err.decode(errors='replace')[-500:]}")
    faults(data)
    stamp.write_text(wanted)
    return data


def faults(data):
    """Rows that a storage may treat differently: repeats, gaps, missing intervals, signed zeros, amounts beyond 2^53, cells that are refused."""
    chance = random.Random(61)
    with open(data / "tokens.csv", newline="") as file:
        tokens = list(csv.DictReader(file))
    names = [*tokens[0], "rank_here", "note"]
    some = chance.sample([row["token_address"] for row in tokens], 24)
    for place, row in enumerate(tokens):
        row.update(rank_here="" if place % 7 == 3 else place * 37 % 101, note=chance.choice(["", "Watch", "watch", "éclair", "straße"]))
    bare = [f"0x{place + 0xBA5E:040x}" for place in range(6)]
    extra = [dict(zip(names, [address, f"BARE{place}", f"Bare {place}", "eth"])) for place, address in enumerate(bare)]
    # A repeat with another price, a row without a name, an address that is none.
    extra += [{**tokens[0], "price": "1"}, {**extra[0], "token_address": f"0x{0xBAD:040x}", "name": ""}, {**extra[0], "token_address": "0x12"}]
    table(data / "tokens.csv", names, ([row.get(name, "") for name in names] for row in tokens + extra))
    cells = lambda values: chance.choice(values)
    day = 1_780_272_000

    def candles():
        for token in some[:16]:
            steps = cells(["", "", "1d", "1h", "1w"])
            for step in range(60):
                price = chance.uniform(0.1, 90)
                seconds = {"1h": 3600, "1w": 604_800}.get(steps, 86_400)
                row = [token, day + step * seconds, price, price * 1.1, price * 0.9, price * 1.01, cells(["", "-0.0", "0", "1e300", "12.5"]), steps, ""]
                if chance.random() < 0.05:
                    row[2 + step % 4] = cells(["", "NaN", "-1", "x"])
                yield row
                if chance.random() < 0.1:
                    yield [*row[:6], 77, *row[7:]]

    def transfers():
        for place in range(3_000):
            block = 20_000_000 + place // 3
            two = [f"0x{chance.randrange(40) + 0xAA:040x}" for _ in range(2)]
            amount = cells([1, 2**53 + 1, 2**53, 2**255 - place, "", "0"])
            row = [cells(some), cells(["", day + place * 60]), block, f"0x{place // 2:064x}", *two, amount, cells(["", place % 5]), cells(["", 1, 0])]
            yield row
            if place % 50 == 0:
                yield row

    def holders():
        for place in range(2_000):
            holder = f"0x{chance.randrange(600) + 0xAA:040x}"
            yield [cells(some), holder.upper().replace("X", "x") if place % 9 == 0 else holder, cells(["0", "1.5", "", "123456789012345678", "1e-18", "-3"])]

    def counts():
        for token in some[:12]:
            for step in range(40):
                yield [token, time.strftime("%Y-%m-%d", time.gmtime(day + step * 86_400)), cells([step + 5, "", 2**53 + 1, 3.5]), cells(["", "1000.25"])]

    table(data / "candles_more.csv", ["token_address", "timestamp", "open", "high", "low", "close", "volume", "interval", "source"], candles())
    names = ["token_address", "timestamp", "block_number", "transaction_hash", "from_address", "to_address", "value", "log_index", "status"]
    table(data / "transfers_more.csv", names, transfers())
    table(data / "holders_more.csv", ["token_address", "holder_address", "balance"], holders())
    table(data / "holder_counts_more.csv", ["token_address", "date", "holders", "whale_balance"], counts())
    table(data / "blocks.csv", ["block_number", "timestamp"], ([20_000_000 + place, day + place * 12] for place in range(1_000)))
    table(data / "disputes.csv", ["token_address", "code", "why"], ([token, "OWNER_MINT", "known"] for token in some[:3]))
    with open(data / "posts_more.ndjson", "w") as file:
        for place in range(400):
            row = {
                "post_id": f"more-{place // 2}",
                "token_address": cells(some),
                "title": cells(["Zebra", "zebra", "Éclair airdrop", "straße", "", None]),
                "link": cells(["https://forum.example/a", "https://Chat.example/b", None]),
                "published_at": day + place * 977,
                "author": cells(["a", None]),
                "engagement": cells([5, None]),
            }
            file.write(json.dumps({name: value for name, value in row.items() if value is not None}, ensure_ascii=False) + "\n")
    with open(data / "dataset.toml", "a") as file:
        for name in ("candles", "transfers", "holders", "holder_counts", "posts"):
            found = next(path.name for path in data.iterdir() if path.stem == name)
            file.write(f'[tables.{name}]\npath = ["{found}", "{name}_more.{"ndjson" if name == "posts" else "csv"}"]\n')


def table(path, names, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


def recorded(folder, shared):
    """The dataset of the tests, with the place of its files."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = (ROOT / "tests/real/dataset.toml").read_text()
    (folder / "dataset.toml").write_text(manifest.replace("../../../shared/", f"{shared.resolve()}/"))
    return folder


# What is asked.

def samples(old):
    """Tokens of different kinds, and other identifiers for paths, as OLD knows them."""
    listed = [row["token_address"] for row in old.json("/tokens?limit=250&only=token_address").get("tokens", [])]
    scores = {}
    for first in range(0, min(len(listed), 80), 40):
        for row in old.json("/security?addresses=" + ",".join(listed[first:first + 40])).get("tokens", []):
            score = row.get("securityScore", row.get("security", {}).get("securityScore"))
            if score is not None:
                scores[row.get("token_address") or row.get("contractAddress")] = score
    groups = lambda name: old.json(f"/tables/{name}?by=token_address&limit=2").get("rows", [])
    most = lambda name: next((row["token_address"] for row in groups(name) if row.get("token_address")), None)
    bare = next((token for token in reversed(listed) if old.ask("GET", f"/tokens/{token}/candles")[0] == 404), NOBODY)
    first = lambda name, column: next((row[column] for row in old.json(f"/tables/{name}?limit=20").get("rows", []) if row.get(column)), None)
    ranked = sorted(scores, key=scores.get) or listed
    return {"good": ranked[-1], "bad": ranked[0], "busy": most("transfers") or listed[0], "held": most("holders") or listed[0], "bare": bare, "nobody": NOBODY,
            "holder": first("holders", "holder_address") or NOBODY, "dex": first("dexes", "dex_id") or "none"}


def filled(value, named):
    if isinstance(value, dict):
        return {filled(name, named): filled(member, named) for name, member in value.items()}
    return re.sub(r"\{(\w+)\}", lambda found: named.get(found[1], found[0]), value) if isinstance(value, str) else value


def values(parameter, named, dates):
    """Values of a query parameter: each of an enumeration, the bounds of a number, and one beyond."""
    name, schema = parameter["name"], parameter.get("schema", {})
    known = {
        "from": dates,
        "to": dates,
        "as_of": dates[:1] + ["2019-01-01", "yesterday"],
        "generation": ["1", "9"],
        "names": ["sma_20,ema_50,rsi_14,macd_12_26_9,bollinger_20_2,vwap_20,obv,atr_14"],
        "addresses": [f"{named['good']},{named['bad']},{named['nobody']}", "UNI,0x12"],
        "base": [named["good"]],
        "query": ["usd", "UNI", "a", "0x1", "zebra", "éclair"],
        "chain": ["eth", "base", "56", "none"],
        "amount": ["1", "50000"],
        "strict": ["true&nonsense=1"],
    }
    if name in known:
        return known[name]
    if "enum" in schema:
        return [str(value) for value in schema["enum"]] + ["none"]
    if schema.get("type") == "boolean":
        return ["true", "maybe"]
    if schema.get("type") == "integer":
        least, most = schema.get("minimum", 0), schema.get("maximum", 1000)
        return [str(value) for value in (least, 7, min(most, 5000), most + 1, least - 1)]
    return []


def columns_of(parameter):
    """The columns that a list's parameter names in its pattern."""
    found = re.search(r"\(([A-Za-z0-9_|]+)\)", parameter.get("schema", {}).get("pattern", ""))
    return found[1].split("|") if found else []


def with_query(path, **query):
    return path + ("&" if "?" in path else "?") + urlencode(query, quote_via=quote)


def conditions(column, kind, cells):
    """Conditions on a column with values that it has."""
    cells = [cell for cell in (item for cell in cells for item in (cell if isinstance(cell, list) else [cell])) if cell is not None]
    cells = list(dict.fromkeys(str(cell).lower() if isinstance(cell, bool) else str(cell) for cell in cells)) or ["1"]
    one, other = cells[len(cells) // 3], cells[-1]
    quoted = lambda text: text if re.fullmatch(r"[\w.:+-]{1,66}", text) else '"' + text.replace('"', "")[:60] + '"'
    part = re.sub(r"\W", " ", one).split() or ["a"]
    known = {"c": column, "v": quoted(one), "w": quoted(other), "part": max(part, key=len)[:12].lower(), "day": one[:10], "month": one[:7], "year": one[:4]}
    return [shape.format(**known) for shape in FILTERS[kind]]


def of_tables(old, tables):
    """Every column of every table: sorted, filtered, counted, described, grouped; whole tables in each format."""
    chance = random.Random(61)
    for name, described in tables.items():
        path, kinds = f"/tables/{name}", {column["name"]: KINDS.get(column["type"], "text") for column in described["columns"]}
        rows = old.json(f"{path}?limit=300").get("rows", [])
        rows += old.json(f"{path}?limit=100&sort=-{list(kinds)[-1]}").get("rows", [])
        numbers = [column for column, kind in kinds.items() if kind == "number"]
        yield path, 3
        yield with_query(path, limit=10000), 1
        for form in ("csv", "ndjson", "arrow", "parquet"):
            yield with_query(path, format=form), 0
            yield with_query(path, format=form, limit=50, columns=",".join(list(kinds)[::2])), 1
        all_conditions = {}
        for column, kind in kinds.items():
            all_conditions[column] = conditions(column, kind, [row.get(column) for row in rows])
            for sort in (column, f"-{column}"):
                yield with_query(path, sort=sort, limit=4), 2
            for where in all_conditions[column]:
                yield with_query(path, where=where, limit=2), 0
            where = all_conditions[column][0]
            yield with_query(path, where=where, sort=f"-{column},{list(kinds)[0]}", limit=3), 2
            yield with_query(path, where=where, format="csv", columns=column, limit=500), 0
            yield with_query(f"{path}/counts", column=column, limit=20), 0
            yield with_query(f"{path}/counts", column=column, where=where), 0
            yield with_query(f"{path}/describe", column=column), 0
            yield with_query(f"{path}/describe", column=column, where=all_conditions[column][-1]), 0
            figures = ",".join(["count"] + [f"{figure}:{number}" for figure, number in zip(("sum", "mean", "min", "max"), numbers * 4)])
            yield with_query(path, by=column, agg=figures, limit=25), 0
            yield with_query(path, by=column, where=where, sort=column, limit=5, format="csv"), 0
        for _ in range(12):
            one, other, third = (chance.choice(all_conditions[column]) for column in chance.choices(list(kinds), k=3))
            shape = chance.choice(["{} {}", "{} or {}", "({} or {}) {}", "not ({} {})", "{} (not ({} or {}))"])
            where = shape.format(one, other, third)
            yield with_query(path, where=where, limit=3, sort=",".join(chance.sample(["-" + column for column in kinds], min(2, len(kinds))))), 1
        yield with_query(path, where=all_conditions[list(kinds)[0]][0], format="ndjson"), 0
        yield with_query(path, sort=f"-{list(kinds)[-1]}", format="csv"), 0
        for wrong in ("where=nothing%3E1", "where=a", "sort=nothing", "columns=nothing", "limit=0", "limit=10001", "cursor=1.2-3", "by=nothing",
                      "agg=sum:nothing&by=" + list(kinds)[0]):
            yield f"{path}?{wrong}", 0


def of_endpoints(old, document, named, dates):
    """Every endpoint that is read, with values for each parameter, for tokens of every kind."""
    shared = document["components"]["parameters"]
    for route, verbs in document["paths"].items():
        endpoint = verbs.get("get")
        if not endpoint or route.startswith(("/events", "/tables/", "/deep-analysis/jobs/")):
            continue
        parameters = [shared[found["$ref"].rsplit("/", 1)[1]] if "$ref" in found else found for found in endpoint.get("parameters", [])]
        places, queries = ([found for found in parameters if found["in"] == where] for where in ("path", "query"))
        needed = {found["name"]: values(found, named, dates)[0] for found in queries if found.get("required")}
        token = next((found["name"] for found in places if found["name"] in (T, C)), None)
        kinds = ["good", "bad", "busy", "held", "bare", "nobody"] if token else [""]
        for kind in kinds:
            path = route.replace("{%s}" % token, named.get(kind, ""))
            path = path.replace("{dexId}", named["dex"]).replace("{dex_id}", named["dex"]).replace("{address}", named["holder"])
            files = next((found["schema"].get("enum", []) for found in places if found["name"] == "file"), [""])
            for file in files:
                plain = path.replace("{file}", file)
                base = with_query(plain, **needed) if needed else plain
                yield base, 2
                if kind in ("held", "bare", "nobody"):
                    yield with_query(base, explain="true"), 0
                    continue
                for found in queries:
                    for value in values(found, named, dates):
                        if found["name"] not in ("where", "sort", "only", "fields"):
                            given = {**needed, found["name"]: value}
                            yield plain + "?" + "&".join(f"{name}={quote(text, safe=',&=')}" for name, text in given.items()), 1 if found["name"] == "limit" else 0
                by_name = {found["name"]: found for found in queries}
                if "sort" in by_name and "where" in by_name and kind in ("", "good"):
                    yield from of_list(old, base, by_name)


def of_list(old, base, parameters):
    """Every column of a list: sorted and filtered by a value of its first rows; each field alone."""
    fields = [name for name in columns_of(parameters["fields"])] if "fields" in parameters else []
    sorts = columns_of(parameters["sort"])
    answer = old.json(with_query(base, fields=",".join(fields)) if fields else base)
    rows = next((member for member in answer.values() if isinstance(member, list) and member and isinstance(member[0], dict)), [])
    for column in sorts:
        for sort in (column, f"-{column}"):
            yield with_query(base, sort=sort, limit=5), 1
        cells = [cell.get("name") if isinstance(cell, dict) else cell for cell in (row.get(column) for row in rows)]
        cells = ["100d", "1y"] if column == "age" else cells
        found = 1 if column == "age" else next((cell for cell in cells if cell is not None), "2026-08-01" if column.endswith(("_as_of", "_at")) else "1")
        types = ((bool, "boolean"), ((int, float), "number"), (list, "list"))
        dated = "time" if re.match(r"\d{4}-\d\d-\d\d", str(found)) else "text"
        kind = next((kind for type, kind in types if isinstance(found, type)), dated)
        for where in conditions(column, kind, cells):
            yield with_query(base, where=where, limit=3), 0
        yield with_query(base, where=conditions(column, kind, cells)[0], sort=f"-{column}", limit=2, format="csv"), 0
    for only in columns_of(parameters["only"]):
        yield with_query(base, only=only, limit=3), 0
    for field in fields:
        yield with_query(base, fields=field, limit=5), 0
    for first, second in itertools.islice(zip(sorts, sorts[3:]), 8):
        yield with_query(base, sort=f"-{first},{second}", limit=5), 1


def of_tests(named, by_name):
    """The cases and examples that the tests hold, with tokens of this dataset too."""
    text = (ROOT / "tests/it/parity.rs").read_text()
    cases = re.findall(r'"(/[^"\s]*)"', text[text.index("const CASES"):text.index("};", text.index("const CASES"))])
    examples = (ROOT / "tests/it/api/examples.rs").read_text()
    queries = examples[examples.index("const QUERIES"):examples.index("];", examples.index("const QUERIES"))]
    queries = re.findall(r'\(\s*"(\w+)",\s*"([^"]*)",?\s*\)', queries)
    cases += [f"{by_name[name]}?{query}" for name, query in queries if name in by_name]
    for page in sorted((ROOT / "docs").glob("*.md")):
        cases += [found.replace(" ", "%20") for found in re.findall(r"tokendeck get '(/[^'\n]*)'", page.read_text())]
    if len(cases) < 80 or len(queries) < 5:
        sys.exit(f"{len(cases)} cases of tests/it/parity.rs and {len(queries)} of tests/it/api/examples.rs were found: they moved, or look different now")
    demo = {"weth": "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2", "uni": "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984", "nobody": NOBODY}
    here = {"weth": named["busy"], "uni": named["good"], "nobody": NOBODY}
    for case in cases:
        if "/jobs/" not in case:
            for places in (demo, here):
                yield filled(case, {**places, "UNI": "0x" + places["uni"][2:].upper()}), 1


def bodies(named):
    """What is asked with a body."""
    good, bad = named["good"], named["bad"]
    wallets = {good: "1000000000000000000"}, {good: "5000000000000000000", bad: "7", "UNI": "100"}, {NOBODY: "1"}
    wishes = {}, {"riskLevel": "low"}, {"riskLevel": "high", "chains": ["eth", "base"], "minApy": 2}, {"riskLevel": "none"}
    for tokens, settings in itertools.product(wallets, wishes):
        yield "/yield/optimize?explain=true", json.dumps({"tokens": tokens, "settings": settings})
    for condition, token in itertools.product(CONDITIONS + ("nothing>1",), (good, bad, None)):
        yield "/alerts/rehearse?days=90", json.dumps({"token_address": token, "condition": condition})
    for text in ("{", "[]", '{"tokens": {"0x12": "1"}}'):
        yield "/yield/optimize", text
    asked = [line.split("\t")[:2] for line in (ROOT / "tests/questions/plain.tsv").read_text().splitlines() if line]
    for question, _ in asked:
        if question not in ASKED:
            sys.exit(f"tests/questions/plain.tsv asks `{question}`, for which `ASKED` has no arguments")
    message = lambda method, **parameters: json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters})
    yield "/mcp", message("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "goldens", "version": "1"})
    yield "/mcp", message("tools/list")
    for question, tool in asked:
        yield "/mcp", message("tools/call", name=tool, arguments=filled(ASKED[question], named))


def requests(old):
    """All that is read, once each, as (target, next pages to follow), and the samples."""
    tables = {found["name"]: found for found in old.json("/tables").get("tables", [])}
    named, document = samples(old), old.json("/openapi.json")
    last = old.json(f"/tokens/{named['good']}/candles?limit=60").get("candles") or [{}]
    dates = [str(last[len(last) // 2].get("timestamp", "2026-06-01"))[:10], "2026-08-01", "2026-08-14T00:00:00Z", "none"]
    by_name = {verbs["get"]["operationId"]: path.replace("{table}", "tokens") for path, verbs in document["paths"].items() if "get" in verbs}
    seen = {}
    for target, follow in itertools.chain(of_endpoints(old, document, named, dates), of_tests(named, by_name), of_tables(old, tables)):
        seen[target] = max(follow, seen.get(target, 0))
    for name in tables:
        seen[f"/tables/{name}?limit=5&as_of={dates[0]}"] = 0
    # Parameters of all endpoints, also of those that have none.
    for target in ("/tokens", "/posts", "/dexes"):
        seen[f"{target}?generation=1&limit=3"] = seen[f"{target}?as_of={dates[0]}&limit=3"] = 0
    return list(seen.items()), named
