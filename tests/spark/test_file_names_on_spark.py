"""Names are not paths on Spark either: outputs, lists of files and notes of later views each have a file of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from without_spark import connected

import sash
from sash.file_names import file_name
from sash.sql.syntax.text_positions import quoted

STREAM = "CREATE STREAM `../../s` (ts TIMESTAMP) TIMESTAMP BY ts WITH (format = 'csv', path = 's.csv', header = 'true')"
NAMES = ("../../x", "/tmp/absolute", "x", "x.changes", ".hidden", "_hidden", "a b\n%2F", "größe", "n" * 300, "*{a,b}?[c]")


def view(number: int, name: str) -> str:
    return f"CREATE MATERIALIZED VIEW {quoted(name)} AS SELECT COUNT(*) AS n, {number} AS which FROM `../../s`"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    deep = tmp_path / "deep/er"
    deep.mkdir(parents=True)
    (deep / "s.csv").write_text("ts\n1\n2\nnone\n")
    return deep


def test_no_name_leads_outside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = connected(monkeypatch, folder, ";".join([STREAM, *(view(n, name) for n, name in enumerate(NAMES[:5]))]))
    db.start()
    db.drain()
    for number, name in enumerate(NAMES[5:], 5):  # while it runs, so notes are written of each
        db.execute(view(number, name))
    db.drain()
    for number, name in enumerate(NAMES):
        assert [row["which"] for row in db.view(name).to_pylist()] == [number]
        assert (db.complete_since(name) is None) == (number >= 5)
    db.write_answers()
    db.close()
    wanted = {f"{file_name(name)}{end}" for name in NAMES for end in (".parquet", ".changes.parquet")} | {"~2E~2E~2F~2E~2E~2Fs.dead.parquet"}
    assert wanted <= {path.name for path in (folder / "out").iterdir()}
    assert {path.name for path in (folder / "point/files").iterdir()} == {"~2E~2E~2F~2E~2E~2Fs"}
    assert {path.name for path in folder.iterdir()} == {"s.csv", "point", "out"}
    assert {path.name for path in folder.parent.parent.rglob("*") if path.parent in (folder.parent, folder.parent.parent)} == {"deep", "er"}


def test_changes_of_any_name_can_be_read(folder: Path, spark: SparkSession) -> None:
    names = ("_hidden", "*{a,b}?[c]")
    db = sash.connect(spark, checkpoint=folder / "point", base=folder)
    db.execute(";".join([STREAM, *(view(n, name) for n, name in enumerate(names))]))
    db.run()
    for number, name in enumerate(names):
        query = db.changes(name).writeStream.format("memory").queryName(f"read{number}").trigger(availableNow=True).start()
        query.awaitTermination()
        assert {row["which"] for row in spark.table(f"read{number}").collect()} == {number}
    db.close()
