"""What the patterns benchmark plays: the queries of seeds 000 and 003, and rows for them.

Every stream has one row in a unit of time, so a window of n units holds n rows of each. All columns are numbers: a source or a
protocol is its place in a dictionary.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sash.deltas import Int64s
from sash.errors import SashError
from sash.generate import traffic

UNIT = 1000  # microseconds from row to row
LINKS = 3
STREAMS = "\n".join(
    f"CREATE STREAM link{number} (ts TIMESTAMP, protocol BIGINT, src BIGINT, dst BIGINT) TIMESTAMP BY ts;"
    for number in range(1, LINKS + 1)
) + "\nCREATE TABLE favorites (dst BIGINT) WITH (format = 'csv', path = 'favorites.csv');\n"
TS, PROTOCOL, SRC, DST, WIDTH = 0, 1, 2, 3, 5  # lanes; the last one is the mask


@dataclass(frozen=True)
class Query:
    """SQL with windows and protocols to fill in. FEW and MANY are protocols whose joins have few and many results."""

    name: str
    sql: str
    streams: tuple[str, ...]
    what: str

    @property
    def links(self) -> int:
        return sum(stream.startswith("link") for stream in self.streams)

    @property
    def has_negation(self) -> bool:
        return " MINUS " in self.sql

    def statements(self, window: int, few: int, many: int) -> str:
        sql = self.sql.replace("[]", f"[RANGE {window * UNIT} MICROSECONDS]").replace("FEW", str(few)).replace("MANY", str(many))
        return f"{STREAMS}CREATE MATERIALIZED VIEW answer AS {sql};"


JOIN = (
    "SELECT a.src, a.dst, b.dst AS other FROM link1 [] a JOIN link2 [] b ON a.src = b.src "
    "WHERE a.protocol = {0} AND b.protocol = {0}"
)
NEGATION = "SELECT a.src, a.dst FROM link1 [] a MINUS link2 [] b ON a.src = b.src"
QUERIES = (
    Query("Query 1, few results", JOIN.format("FEW"), ("link1", "link2"), "join of two links, a selective protocol"),
    Query("Query 1, many results", JOIN.format("MANY"), ("link1", "link2"), "the same, a popular protocol"),
    Query("Query 2, sources", "SELECT DISTINCT src FROM link1 []", ("link1",), "distinct sources of a link"),
    Query("Query 2, pairs", "SELECT DISTINCT src, dst FROM link1 []", ("link1",), "distinct pairs of source and destination"),
    Query("Query 3", NEGATION, ("link1", "link2"), "negation of two links on the source"),
    Query(
        "Query 4", "SELECT x.src FROM (SELECT DISTINCT src FROM link1 []) x JOIN (SELECT DISTINCT src FROM link2 []) y "
        "ON x.src = y.src", ("link1", "link2"), "join of the distinct sources of two links",
    ),
    Query(
        "Query 5, negation down", f"SELECT n.src, n.dst, c.dst AS other FROM ({NEGATION}) n JOIN link3 [] c ON n.src = c.src "
        "WHERE c.protocol = FEW", ("link1", "link2", "link3"), "Query 3, joined with a third link",
    ),
    Query(
        "Query 5, negation up", "SELECT j.src, j.dst, j.other FROM (SELECT a.src, a.dst, c.dst AS other FROM link1 [] a "
        "JOIN link3 [] c ON a.src = c.src WHERE c.protocol = FEW) j MINUS link2 [] b ON j.src = b.src",
        ("link1", "link2", "link3"), "the join first, then the negation",
    ),
    Query("Q1 of seed 000", "SELECT COUNT(*) AS n FROM link1 [] s JOIN favorites f ON s.dst = f.dst", ("link1", "favorites"),
          "how many rows of a stream are in a table"),
    Query("Q2 of seed 000", "SELECT MAX(b.dst) AS highest FROM link1 [] a JOIN link2 [] b ON a.src = b.src "
          "WHERE a.protocol = FEW AND b.protocol = FEW", ("link1", "link2"), "greatest value of a join"),
)  # fmt: skip


@dataclass(frozen=True)
class Input:
    """Rows of the links, their lanes as the engine wants them, and the two protocols."""

    name: str
    links: tuple[Int64s, ...]
    table: Int64s  # the rows of favorites
    few: int
    many: int
    round: int  # rows of a link until it begins anew

    def rows(self, stream: str) -> Int64s:
        return self.table if stream == "favorites" else self.links[int(stream[4:]) - 1]


def generated(rows: int, seed: int = 1) -> Input:
    """Traffic as `sash generate` makes it."""
    made = traffic(LINKS * rows, seed, links=LINKS)["traffic"]
    columns = [_codes(made.column(name)) for name in ("protocol", "src", "dst")]
    return _input("generated traffic", rows, rows, columns, few="telnet", many="ftp", names=made.column("protocol"), count=LINKS)


def read_log(path: Path) -> pa.Table:
    """A log of connections: service, orig_h and resp_h stand for protocol, source and destination."""
    table = pa.csv.read_csv(path)
    missing = {"service", "orig_h", "resp_h"} - set(table.column_names)
    if missing:
        raise SashError(f"{path} has no column {', '.join(sorted(missing))}", "give a connection log with these columns")
    return table


def recorded(table: pa.Table, name: str, links: int, rows: int) -> Input:
    """A log, dealt out to so many links; each is played again and again until it has so many rows."""
    services = pc.fill_null(table.column("service").cast(pa.string()), "-")
    columns = [_codes(services), _codes(table.column("orig_h")), _codes(table.column("resp_h"))]
    by_size = pc.value_counts(services.combine_chunks()).to_pylist()
    names = [entry["values"] for entry in sorted(by_size, key=lambda entry: -entry["counts"])]
    own = table.num_rows // links
    return _input(name, rows, own, columns, few=names[min(2, len(names) - 1)], many=names[0], names=services, count=links)


def _codes(column: pa.ChunkedArray) -> Int64s:
    encoded = column.combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices.fill_null(0).cast(pa.int64()))


def _input(
    name: str, rows: int, own: int, columns: list[Int64s], few: str, many: str, names: pa.ChunkedArray, count: int
) -> Input:
    """The rows of the columns go to the links in turns."""
    links = []
    for link in range(count):
        lanes = np.zeros((rows, WIDTH), np.int64)
        lanes[:, TS] = np.arange(rows) * UNIT + link
        for lane, column in zip((PROTOCOL, SRC, DST), columns, strict=True):
            lanes[:, lane] = np.resize(column[link::count][:own], rows)
        links.append(lanes)
    codes = columns[0]
    which = {word: int(codes[pc.index(names, word).as_py()]) for word in (few, many)}
    return Input(name, tuple(links), favorites(links[0], 0.1), which[few], which[many], own)


def favorites(link: Int64s, share: float) -> Int64s:
    """Rows of a table that about this share of a link joins with: the rarest destinations first."""
    values, counts = np.unique(link[:, DST], return_counts=True)
    order = np.argsort(counts, kind="stable")
    chosen = values[order][np.cumsum(counts[order]) <= share * len(link)]
    lanes = np.zeros((len(chosen), 2), np.int64)
    lanes[:, 0] = chosen
    return lanes
