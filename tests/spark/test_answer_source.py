"""What a temporary view reads is the final answer after the last batch, however much of the history is kept, and while files merge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema
from without_spark import connected

from sash.database.on_spark import SparkDatabase
from sash.errors import SashError
from sash.spark.answer_source import CHANGELOG, COLUMNS, AnswerReader, options_of

SQL = """
    CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts DELAY 2 SECONDS WITH (format = 'csv', path = 's');
    CREATE MATERIALIZED VIEW v AS SELECT k, COUNT(*) AS c, MAX(ts) AS last, ARRAY_AGG(n) AS ns FROM s [RANGE 20 SECONDS] GROUP BY k;
    CREATE MATERIALIZED VIEW every AS SELECT k, n FROM s [RANGE 9 SECONDS];
"""


def reader(db: SparkDatabase, name: str, *, is_plain: bool) -> AnswerReader:
    host = db._running()
    schema = host.job.view(name).schema
    options = options_of(host.ledger.changelog(f"{name}.changes.parquet"), schema)
    return AnswerReader(options[CHANGELOG], options[COLUMNS], from_arrow_schema(schema.arrow, prefer_timestamp_ntz=is_plain))


def read(reader: AnswerReader) -> list[dict[str, Any]]:
    (partition,) = reader.partitions()
    return [row for batch in reader.read(partition) for row in batch.to_pylist()]


@pytest.mark.parametrize("history", ["all", "none", "5 SECONDS"])
def test_it_reads_what_is_final(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, history: str) -> None:
    (tmp_path / "s").mkdir()
    with connected(monkeypatch, tmp_path, SQL, history=history) as db:
        db.start()
        readers = {name: reader(db, name, is_plain=True) for name in ("v", "every")}
        assert read(readers["v"]) == read(readers["every"]) == []
        sizes = []
        for number in range(25):
            rows = [(2 * number + place % 2, "abc"[(number + place) % 3], "" if place == 3 else place // 2) for place in range(4)]
            lines = (f"1970-01-01 00:00:{second:02},{key},{n}\n" for second, key, n in rows)
            (tmp_path / f"s/{number:02}.csv").write_text("".join(lines))
            db.drain()
            for name, one in readers.items():
                final = db.final(name).to_arrow()
                assert pa.Table.from_pylist(read(one), schema=final.schema).sort_by([("k", "ascending")]) == final.sort_by([("k", "ascending")])
            sizes.append(len(read(readers["every"])))
        assert max(sizes) > 10 and len(set(sizes)) > 2
        instants = next(reader(db, "v", is_plain=False).read(reader(db, "v", is_plain=False).partitions()[0]))
        assert instants.schema.field("last").type == pa.timestamp("us", "UTC")
        assert [row["last"].replace(tzinfo=None) for row in instants.to_pylist()] == [row["last"] for row in db.final("v")]


def test_a_checkpoint_that_is_gone_is_told_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    with connected(monkeypatch, tmp_path, SQL) as db:
        one = reader(db, "v", is_plain=True)
    for path in (tmp_path / "point/manifest").iterdir():
        if path.is_file():
            path.unlink()
    with pytest.raises(SashError, match=r"the manifest of the outputs, .*, is gone"):
        read(one)
