"""Workers that cannot run Sash are found out at once, and what else is wrong outside is said in one sentence."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from without_spark import PlayedHost

import sash
from sash.database import on_spark as spark_database
from sash.errors import SashError
from sash.spark import workers
from sash.spark.frame_streams import declaration

GOOD = {"sash": "1.2", "python": "/usr/bin/python3", "version": sys.version_info[:2], "host": "far"}
HIDE = """import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "sash":
            raise ModuleNotFoundError("No module named 'sash'")
sys.meta_path.insert(0, Hide())
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, None),
        ({"sash": None}, r"Python of Spark's workers \(/usr/bin/python3 on far\) has no Sash; let spark.pyspark.python"),
        ({"sash": "1.1"}, "has Sash 1.1, and the driver 1.2"),
        ({"sash": ""}, "has Sash without a version, and the driver 1.2"),
        ({"version": [2, 7]}, r"is 2.7, and the driver's 3\."),
    ],
)
def test_what_workers_tell_is_judged(monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], message: str | None) -> None:
    monkeypatch.setattr(workers, "_own_version", lambda: "1.2")
    if message is None:
        workers._judge(GOOD | change)
    else:
        with pytest.raises(SashError, match=message):
            workers._judge(GOOD | change)


def test_a_worker_without_sash(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The Python that runs in the workers finds no module of that name."""
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(workers, "_asked", set())
    with monkeypatch.context() as other:
        other.setattr(spark.sparkContext, "pythonExec", str(python))
        db = sash.connect(spark, checkpoint=tmp_path / "point")
        db.execute("CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts WITH (format = 'csv', path = 's.csv')")
        db.execute("CREATE MATERIALIZED VIEW v AS SELECT COUNT(*) AS n FROM s")
        with pytest.raises(SashError, match="PYSPARK_PYTHON") as told:
            db.start()
    assert "No module named" in str(told.value) or "has no Sash" in str(told.value)
    assert "Traceback" not in str(told.value) and "\n" not in str(told.value)
    assert not (tmp_path / "point").exists()
    workers.check_workers(spark)
    assert workers._asked == {spark.sparkContext.applicationId}


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("s3://nowhere/point", "s3://nowhere/point cannot be used: .*Could not connect to server.*; see that it is there"),
        ("nothing://nowhere/point", "nothing://nowhere cannot be reached: .*nothing.*; see its name"),
        ("/dev/null/point", "/dev/null/point cannot be used: .*/dev/null"),
    ],
)
def test_a_checkpoint_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str, message: str) -> None:
    """The bucket is looked for on this machine, where nobody listens."""
    settings = {"ENDPOINT_URL": "http://127.0.0.1:9", "EC2_METADATA_DISABLED": "true", "ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "y"}
    for name, value in settings.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    (tmp_path / "s.csv").write_text("ts\n1\n")
    monkeypatch.setattr(spark_database, "SparkHost", PlayedHost)
    db = spark_database.SparkDatabase(None, checkpoint=place, base=tmp_path, shards=1)  # type: ignore[arg-type]
    db.execute("CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts WITH (format = 'csv', path = 's.csv')")
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT COUNT(*) AS n FROM s")
    with pytest.raises(SashError, match=message):
        db.start()


def frame(**more: str) -> Any:
    def field(name: str, type_: str) -> Any:
        return SimpleNamespace(name=name, dataType=SimpleNamespace(simpleString=lambda: type_))

    columns = {"ts": "timestamp_ntz", **more}
    return SimpleNamespace(schema=SimpleNamespace(fields=[field(name, type_) for name, type_ in columns.items()]))


@pytest.mark.parametrize("text", ["nonsense", "5", "5 PARSECS", "1 MONTH", "5 SECONDS; DROP VIEW v", "5 SECONDS IDLE AFTER 1 SECOND", " ", "'", "-1 SECONDS"])
@pytest.mark.parametrize("which", ["delay", "idle_after"])
def test_a_delay_that_is_no_length_of_time(which: str, text: str) -> None:
    """The error showed a CREATE STREAM that the user had never written."""
    lengths = {"delay": None, "idle_after": None} | {which: text}
    with pytest.raises(SashError) as told:
        declaration("s", frame(), "ts", **lengths)
    assert str(told.value).startswith(f'{which}="{text}" of stream "s" is no length of time')
    assert "CREATE" not in str(told.value) and ";" in str(told.value)


def test_lengths_of_time_are_taken() -> None:
    sql = declaration("s", frame(), "ts", "1.5 SECONDS", "INTERVAL '2' MINUTES")
    assert sql.endswith("DELAY 1500000 MICROSECONDS IDLE AFTER 120000000 MICROSECONDS")


def test_narrow_columns_of_a_frame_are_widened() -> None:
    """SQL refuses FLOAT and its like, but the values of such a column are exact in the wider type."""
    sql = declaration("s", frame(a="float", b="smallint", c="tinyint", d="array<float>", e="decimal(5,2)"), "ts", None, None)
    assert "`a` DOUBLE, `b` INT, `c` INT, `d` ARRAY<DOUBLE>, `e` DECIMAL(5, 2))" in sql
    with pytest.raises(SashError, match=r'column "a" of the DataFrame of stream "s" has the type struct<x:float>'):
        declaration("s", frame(a="struct<x:float>"), "ts", None, None)
