"""Sash beside what people would use instead, over the same rows, one after the other, in one run.

Systems differ in what they can say: OVER never takes a row back, a window with a hop of a second shows 60 buckets instead of
every instant, DuckDB computes everything again. The table says what each one did; only Sash gives the changes of every instant.
A run must be long beside the start of a query, and yet come to an end: systems that need minutes get the first rows only.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks import dataflows
from benchmarks.bars import draw_bars
from benchmarks.report import Options, Report, span
from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError, choices
from sash.generate import declare, pairs
from sash.spark.host import SparkHost
from sash.spark.session import local_session

FILES = 4  # of every stream, in the order of time
LONGEST = 900  # seconds that a peer may take
WORKLOADS = {
    "aggregate": "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 60 SECONDS] GROUP BY k",
    "join": "SELECT a.k, a.v, b.v AS w FROM a [RANGE 60 SECONDS] JOIN b [RANGE 60 SECONDS] ON a.k = b.k",
    "distinct": "SELECT DISTINCT k FROM a [RANGE 60 SECONDS]",
    "except": "SELECT k FROM a [RANGE 60 SECONDS] EXCEPT ALL SELECT k FROM b [RANGE 60 SECONDS]",
}
KEYS = {"aggregate": 10_000, "join": 100_000, "distinct": 100_000, "except": 100_000}
STREAMS = {"aggregate": 1, "join": 2, "distinct": 1, "except": 2}  # that are read


@dataclass(frozen=True)
class Peer:
    """A script of `peers/`, and what its environment needs; nothing where this one will do."""

    name: str
    script: str
    packages: tuple[str, ...] = ()
    variant: str | None = None
    is_fast: bool = False  # enough for all rows

    @property
    def group(self) -> str:
        return self.name.split()[0]


PEERS = (
    Peer("spark rocksdb", "spark_streaming.py", variant="rocksdb"),
    Peer("spark memory", "spark_streaming.py", variant="memory"),
    Peer("duckdb", "duckdb_slides.py", ("duckdb", "pyarrow"), is_fast=True),
    Peer("flink", "flink_sql.py", ("apache-flink",), is_fast=True),
    Peer("pathway", "pathway_tables.py", ("pathway",)),
    Peer("bytewax", "bytewax_flow.py", ("bytewax", "pyarrow"), variant="1000"),
)
NAMES = tuple(dict.fromkeys(peer.group for peer in PEERS))


def run(options: Options) -> Iterator[Report]:
    unknown = [name for name in options.peers if name not in (*NAMES, *dataflows.NAMES)]
    if unknown:
        raise SashError(f'unknown peer "{unknown[0]}"', f"peers are: {choices((*NAMES, *dataflows.NAMES))}")
    in_rust = [name for name in options.peers if name in dataflows.NAMES]
    if in_rust:
        yield from dataflows.run(in_rust, options)
    if len(in_rust) < max(1, len(options.peers)):
        yield beside_others(options)


def beside_others(options: Options) -> Report:
    rows, repeat = options.rows or (100_000 if options.quick else 1_000_000), options.repeat or (1 if options.quick else 3)
    few = min(rows, 20_000 if options.quick else 150_000)
    peers = [peer for peer in PEERS if peer.group in (options.peers or ("spark",))]
    with tempfile.TemporaryDirectory(prefix="sash-peers-") as name:
        found = []
        for keys in sorted(set(KEYS.values())):
            options.say(f"rows with {keys:,} keys")
            for count in (rows, few):
                write_input(_folder(name, keys, count), count, keys)
        options.say("start of Spark")
        run_sash(_folder(name, KEYS["join"], few), "join")  # its workers start with the first query
        for workload, keys in KEYS.items():
            all_, first = (_folder(name, keys, count) for count in (rows, few))
            runs: dict[str, list[float] | str] = {}
            for _ in range(repeat):
                options.say(f"{workload}: sash")
                _add(runs, "sash", {"seconds": run_sash(all_, workload)}, STREAMS[workload], rows)
                for peer in peers:
                    options.say(f"{workload}: {peer.name}")
                    if not isinstance(runs.get(peer.name), str):
                        folder, count = (all_, rows) if peer.is_fast else (first, few)
                        _add(runs, peer.name, run_peer(peer, workload, folder, options), STREAMS[workload], count)
            found.append((workload, runs))
    return _report(found, rows, few, repeat)


def _folder(place: str, keys: int, rows: int) -> Path:
    return Path(place) / f"{keys} keys, {rows} rows"


def write_input(folder: Path, rows: int, keys: int) -> None:
    """Two streams in all the forms that are wanted: Parquet in some files, CSV with and without a header, and with numbers."""
    for name, table in pairs(rows, 1, keys=keys).items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(FILES):
            part = table.slice(number * rows // FILES, (number + 1) * rows // FILES - number * rows // FILES)
            path = folder / name / f"{number}.parquet"
            pa.parquet.write_table(part, path)
            os.utime(path, (number + 1, number + 1))
        pa.csv.write_csv(table, folder / f"{name}.csv", pa.csv.WriteOptions(include_header=False, quoting_style="none"))
        numbers = table.set_column(0, "ts", table["ts"].cast(pa.int64()))
        pa.csv.write_csv(numbers, folder / f"{name}.numbers.csv", pa.csv.WriteOptions(quoting_style="none"))


def run_sash(folder: Path, workload: str) -> float:
    """Seconds on Spark, which runs already, from the start of the query to its end."""
    db = EmbeddedDatabase(base=folder)
    streams = "".join(declare(name, "parquet").replace(f"'{name}.parquet'", f"'{name}'") for name in "ab")
    db.execute(streams + f"CREATE MATERIALIZED VIEW answer AS {WORKLOADS[workload]};")
    spark = local_session()
    with tempfile.TemporaryDirectory(prefix="sash-out-") as out:
        host = SparkHost(spark, db.planned(2), folder, output=Path(out))
        started = time.monotonic()
        host.run_to_end()
        seconds = time.monotonic() - started
        host.close()
    return seconds


def run_peer(peer: Peer, workload: str, folder: Path, options: Options) -> dict[str, object]:
    try:
        python = environment(peer, options)
    except subprocess.CalledProcessError as error:
        return {"cannot": f"could not be installed: {_last_line(error.stderr)}"}
    script = Path(__file__).parent / "peers" / peer.script
    words = [str(python), str(script), workload, str(folder), *([peer.variant] if peer.variant else [])]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=True)
    except subprocess.TimeoutExpired:
        return {"cannot": f"took more than {LONGEST} seconds"}
    except subprocess.CalledProcessError as error:
        return {"cannot": f"failed: {_last_line(error.stderr)}"}
    told: dict[str, object] = json.loads(done.stdout.strip().splitlines()[-1])
    return told


def environment(peer: Peer, options: Options) -> Path:
    """The Python of a peer's own environment, made where it is not there yet."""
    if not peer.packages:
        return Path(sys.executable)
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sash" / "peers" / peer.group
    python, mark = home / "bin" / "python", home / "installed"
    if not mark.exists():
        options.say(f"installing {peer.group}")
        for words in ([sys.executable, "-m", "venv", home], [python, "-m", "pip", "install", "-q", *peer.packages]):
            subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
        mark.write_text("\n".join(peer.packages))
    return python


def _add(runs: dict[str, list[float] | str], name: str, told: dict[str, object], streams: int, count: int) -> None:
    """Rows a second; a peer may say that it took the first ones only."""
    if "cannot" in told:
        runs[name] = str(told["cannot"])
        return
    known = runs.setdefault(name, [])
    assert isinstance(known, list)
    known.append(streams * int(str(told.get("rows", count))) / float(str(told["seconds"])))


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1][:200]


def _report(found: list[tuple[str, dict[str, list[float] | str]]], rows: int, few: int, repeat: int) -> Report:
    lines: list[list[str]] = []
    numbers: list[dict[str, object]] = []
    for workload, runs in found:
        own = runs["sash"]
        assert isinstance(own, list)
        for name, rates in runs.items():
            numbers.append({"workload": workload, "system": name, "rows a second": rates})
            if isinstance(rates, str):
                lines.append([f"{workload}, {KEYS[workload]:,} keys: {name}", "-", rates])
                continue
            times = f"{statistics.median(own) / statistics.median(rates):.1f}"
            lines.append([f"{workload}, {KEYS[workload]:,} keys: {name}", times, span(rates)])
    title = f"Beside others, {rows:,} rows a stream, windows of 60 s, {repeat} runs each, in turns"
    notes = [
        "Each in a process of its own; Sash on Spark. Time is that of the query, without the start of the system.",
        f"Spark and Pathway had the first {few:,} rows of a stream, Bytewax the first 1,000: their runs take minutes as it is.",
    ]
    columns = ("workload: system", "Sash is faster by", "rows/s")
    return Report(title, columns, lines, numbers, notes, draw=lambda path: draw(found, path))


def draw(found: list[tuple[str, dict[str, list[float] | str]]], path: Path) -> None:
    """Who cannot do a workload has no bar there."""
    systems: dict[str, list[list[float]]] = {}
    for _, runs in found:
        for name, rates in runs.items():
            systems.setdefault(name, []).append([] if isinstance(rates, str) else rates)
    draw_bars([workload for workload, _ in found], systems, "rows a second", path, is_log=True)
