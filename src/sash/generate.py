"""Made-up data for trying, testing and measuring: the same seed gives the same rows.

    traffic    connections on the links of a network: bursts, a few busy sources, many quiet ones
    pairs      two streams a and b to be joined on k, a thousand rows a second each
    auctions   persons, auctions and bids of an auction house, for queries over several streams

`generate` writes one file per stream, and in `streams.sql` the statements that declare them, to start a job with.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from sash.errors import SashError, choices
from sash.file_names import writing
from sash.schema import BIGINT, DOUBLE, INT, SECOND, STRING, TIMESTAMP, Schema, schema

Int64s = npt.NDArray[np.int64]
Streams = dict[str, pa.Table]

START = 1_704_067_200 * SECOND  # 2024-01-01
FORMATS = ("csv", "parquet")

TRAFFIC = schema(
    ("ts", TIMESTAMP), ("link", INT), ("protocol", STRING), ("src", STRING), ("dst", STRING), ("duration", DOUBLE),
    ("bytes", BIGINT),
)  # fmt: skip
PAIR = schema(("ts", TIMESTAMP), ("k", BIGINT), ("v", BIGINT))
PERSONS = schema(("ts", TIMESTAMP), ("id", BIGINT), ("name", STRING), ("city", STRING))
AUCTIONS = schema(
    ("ts", TIMESTAMP), ("id", BIGINT), ("item", STRING), ("seller", BIGINT), ("category", INT), ("reserve", BIGINT),
    ("expires", TIMESTAMP),
)  # fmt: skip
BIDS = schema(("ts", TIMESTAMP), ("auction", BIGINT), ("bidder", BIGINT), ("price", BIGINT), ("channel", STRING))
SCHEMAS = {
    "traffic": TRAFFIC, "a": PAIR, "b": PAIR, "persons": PERSONS, "auctions": AUCTIONS, "bids": BIDS,
}  # fmt: skip

# What one may ask about traffic.
TRAFFIC_VIEWS = """
-- Who opens the most connections, over the last ten seconds.
CREATE MATERIALIZED VIEW talkers AS
  SELECT src, COUNT(*) AS connections, SUM(bytes) AS bytes
  FROM traffic [RANGE 10 SECONDS] GROUP BY src HAVING COUNT(*) > 20;

-- What runs over each link, over the last minute.
CREATE MATERIALIZED VIEW links AS
  SELECT link, protocol, COUNT(*) AS connections, AVG(duration) AS seconds
  FROM traffic [RANGE 1 MINUTE] GROUP BY link, protocol;

-- Who used telnet and, within five seconds, ftp to the same host: a join of two windows.
CREATE MATERIALIZED VIEW suspects AS
  SELECT a.src, a.dst, COUNT(*) AS times
  FROM traffic [RANGE 5 SECONDS] a JOIN traffic [RANGE 5 SECONDS] b ON a.src = b.src AND a.dst = b.dst
  WHERE a.protocol = 'telnet' AND b.protocol = 'ftp'
  GROUP BY a.src, a.dst;
"""

PROTOCOLS = {"http": 0.62, "dns": 0.2, "smtp": 0.09, "ssh": 0.04, "ftp": 0.04, "telnet": 0.01}


def traffic(rows: int, seed: int = 0, *, links: int = 4, hosts: int = 10_000) -> Streams:
    """Connections, in bursts of some 5,000 a second between lulls of some 200."""
    random = np.random.default_rng(seed)
    names = pa.array([f"10.{host >> 16}.{host >> 8 & 255}.{host & 255}" for host in range(hosts)])
    duration = np.round(random.exponential(2.0, rows) ** 1.5, 6)
    columns = (
        START + _bursts(random, rows),
        random.integers(0, links, rows),
        pa.array(list(PROTOCOLS)).take(pa.array(random.choice(len(PROTOCOLS), rows, p=list(PROTOCOLS.values())))),
        names.take(pa.array(_zipf(random, rows, hosts, 1.1))),
        names.take(pa.array(_zipf(random, rows, hosts, 0.6))),
        duration,
        (random.lognormal(6.0, 1.5, rows) * (1.0 + duration)).astype(np.int64),
    )
    return {"traffic": _table(TRAFFIC, columns)}


def pairs(rows: int, seed: int = 0, *, keys: int = 1_000, skew: float = 0.0) -> Streams:
    """Two streams of `rows` rows each; skew 0 draws all keys alike, 1 as Zipf's law has it."""
    return {name: _table(PAIR, _pair([seed, side], rows, keys, skew)) for side, name in enumerate(("a", "b"))}


def _pair(seed: list[int], rows: int, keys: int, skew: float) -> tuple[Int64s, Int64s, Int64s]:
    random = np.random.default_rng(seed)
    instants = START + np.cumsum(random.exponential(SECOND / 1_000, rows)).astype(np.int64)
    return instants, _zipf(random, rows, keys, skew), random.integers(0, 1_000_000, rows)


def auctions(rows: int, seed: int = 0) -> Streams:
    """Of every fifty events one is a person, three are auctions, the rest bids; bids prefer young auctions."""
    random = np.random.default_rng(seed)
    event = np.arange(rows)
    instants = START + np.cumsum(random.exponential(SECOND / 1_000, rows)).astype(np.int64)
    turn, place = np.divmod(event, 50)
    person, auction, bid = place == 0, (place > 0) & (place < 4), place >= 4
    return {
        "persons": _table(PERSONS, _persons(random, instants[person])),
        "auctions": _table(AUCTIONS, _auctions(random, instants[auction], turn[auction])),
        "bids": _table(BIDS, _bids(random, instants[bid], turn[bid])),
    }


def _persons(random: np.random.Generator, ts: Int64s) -> tuple[object, ...]:
    first, last = pa.array(["ann", "bob", "eve", "ida", "max", "zoe"]), pa.array(["adler", "berg", "costa", "diaz"])
    cities = pa.array(["bern", "lima", "oslo", "riga", "rome"])
    one, two = _some(random, first, len(ts)), _some(random, last, len(ts))
    return ts, np.arange(len(ts)), pa.compute.binary_join_element_wise(one, two, " "), _some(random, cities, len(ts))


def _auctions(random: np.random.Generator, ts: Int64s, turn: Int64s) -> tuple[object, ...]:
    items = pa.array(["clock", "globe", "kite", "lamp", "sash", "vase"])
    lifetime = (random.exponential(20.0, len(ts)) * SECOND).astype(np.int64) + SECOND
    reserve = random.lognormal(7.0, 1.0, len(ts)).astype(np.int64)
    seller = random.integers(0, turn + 1)
    category = random.integers(10, 15, len(ts))
    return ts, np.arange(len(ts)), _some(random, items, len(ts)), seller, category, reserve, ts + lifetime


def _bids(random: np.random.Generator, ts: Int64s, turn: Int64s) -> tuple[object, ...]:
    channels = pa.array(["app", "phone", "room", "web"])
    newest = turn * 3 + 2  # bids come after the three auctions of their turn
    auction = np.maximum(newest - random.geometric(0.05, len(ts)) + 1, 0)
    price = random.lognormal(7.0, 1.0, len(ts)).astype(np.int64) + 1
    return ts, auction, random.integers(0, turn + 1), price, _some(random, channels, len(ts))


def _bursts(random: np.random.Generator, rows: int) -> Int64s:
    """Arrivals of a process that switches between a busy and a quiet state, in microseconds from its start."""
    rates, lengths = np.array([5_000.0, 200.0]), np.array([4_000.0, 100.0])
    runs = 2 * (rows // 2_000 + 1)
    state = np.resize([0, 1], runs)
    while (length := random.geometric(1.0 / lengths[state])).sum() < rows:
        runs, state = 2 * runs, np.resize([0, 1], 2 * runs)
    gaps = random.exponential(1.0, rows) / np.repeat(rates[state], length)[:rows]
    return np.cumsum(gaps * SECOND).astype(np.int64)


def _zipf(random: np.random.Generator, rows: int, keys: int, skew: float) -> Int64s:
    """Keys 0 to keys - 1, the k-th with a share of 1 / (k + 1) ** skew."""
    shares = np.cumsum(1.0 / np.arange(1, keys + 1) ** skew)
    return np.searchsorted(shares / shares[-1], random.random(rows), side="right").astype(np.int64)


def _some(random: np.random.Generator, words: pa.Array, rows: int) -> pa.Array:
    return words.take(pa.array(random.integers(0, len(words), rows)))


def _table(columns: Schema, values: tuple[object, ...]) -> pa.Table:
    arrays = [pa.array(value).cast(type_.arrow) for value, type_ in zip(values, columns.types, strict=True)]
    return pa.table(arrays, schema=columns.arrow)


GENERATORS: dict[str, Callable[[int, int], Streams]] = {"traffic": traffic, "pairs": pairs, "auctions": auctions}


def generate(name: str, rows: int, seed: int, out: Path, format: str = "csv") -> list[Path]:
    """Write the streams of a generator into a folder; gives the files written, the statements last."""
    if name not in GENERATORS:
        raise SashError(f'unknown generator "{name}"', f"generators are: {choices(GENERATORS)}")
    if format not in FORMATS:
        raise SashError(f'unknown format "{format}"', f"formats are: {choices(FORMATS)}")
    if rows < 0 or seed < 0:
        raise SashError(f"cannot write {rows} rows with seed {seed}", "both are 0 or more")
    streams = GENERATORS[name](rows, seed)
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        files = [_write(table, out / f"{stream}.{format}") for stream, table in streams.items()]
        statements = out / "streams.sql"
        statements.write_text("\n".join(declare(stream, format) for stream in streams), encoding="utf-8")
    return [*files, statements]


def _write(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    else:
        pa.csv.write_csv(table, path, pa.csv.WriteOptions(quoting_style="none"))
    return path


def declare(stream: str, format: str) -> str:
    """The statement that declares a generated stream."""
    header = ", header = 'true'" if format == "csv" else ""
    return (
        f"CREATE STREAM {stream} ({SCHEMAS[stream]})\n"
        f"  TIMESTAMP BY ts WITH (format = '{format}', path = '{stream}.{format}'{header});\n"
    )
