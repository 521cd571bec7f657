"""`import sash`, and the options of a connection."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sash
from sash.database.embedded import EmbeddedDatabase
from sash.database.on_spark import SparkDatabase
from sash.database.options import EmbeddedOptions, Options, SparkOptions, names
from sash.errors import SashError


def test_the_package_shows_the_names_that_people_need() -> None:
    assert dir(sash) == sorted(sash.__all__)
    for name in sash.__all__:
        assert getattr(sash, name) is not None
    assert issubclass(sash.EmbeddedDatabase, sash.Database) and issubclass(sash.Answer, sash.Rows)
    assert sash.testing.FakeClock is not None
    with pytest.raises(AttributeError, match='module "sash" has no "Engine"; it has: Answer, '):
        _ = sash.Engine


def test_an_import_is_quick() -> None:
    """What takes long is imported when it is first used."""
    code = "import sys, sash; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'sash'" in loaded
    for slow in ("pyarrow", "numpy", "numba", "pyspark", "pandas", "sqlglot", "duckdb"):
        assert f"'{slow}'" not in loaded, slow


@pytest.mark.parametrize(("host", "kind"), [(EmbeddedDatabase, EmbeddedOptions), (SparkDatabase, SparkOptions)])
def test_options_are_what_the_hosts_take_and_the_documentation_lists(host: type[sash.Database], kind: type[Any]) -> None:
    parameters = [name for name in inspect.signature(host).parameters if name != "spark"]
    assert sorted(parameters) == names(kind)
    documentation = inspect.getdoc(sash.connect) or ""
    assert all(f"\n- {name}: " in documentation for name in parameters)
    assert set(Options.__annotations__) <= set(parameters)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"chekpoint": "x"}, 'unknown option "chekpoint"; options are: backfill, base, batch_rows, clock, expiry, flush, history, '),
        ({"histori": "all"}, r'unknown option "histori"; did you mean history\? options are: '),
        ({"checkpoint": "x"}, r'"checkpoint" is an option on Spark; give a session too: connect\(spark, checkpoint=…\)'),
        ({"expiry": "never"}, 'unknown expiry "never"; choices are: auto, direct, negative, '),
        ({"schedule": "never"}, "schedule"),
        ({"history": "much"}, '"much" does not say how much history'),
        ({"batch_rows": 0}, "batch_rows=0 makes no sense; give a whole number"),
        ({"until": "tomorrow"}, '"tomorrow" is not a timestamp'),
        ({"spark": "local"}, "'local' is not a SparkSession"),
    ],
)
def test_options_that_are_none_are_told_with_the_way_out(options: dict[str, Any], told: str) -> None:
    with pytest.raises(SashError, match=told):
        sash.connect(**options)


def session() -> None:
    """Nobody asks for it."""


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"clock": lambda: 0}, r'"clock" is an option of an engine in this process; leave the session away: connect\(clock=…\)'),
        ({"shard": 2}, r'unknown option "shard"; did you mean shards\?'),
        ({"shards": 0}, "shards=0 makes no sense"),
    ],
)
def test_options_on_spark_too(options: dict[str, Any], told: str) -> None:
    with pytest.raises(SashError, match=told):
        sash.connect(session, **options)  # type: ignore[call-overload]


def test_a_database_on_spark_is_typed_and_begins_nothing(tmp_path: Path) -> None:
    db = sash.connect(session, base=str(tmp_path))  # type: ignore[arg-type]
    assert isinstance(db, sash.SparkDatabase) and db.base == tmp_path
    assert repr(db) == "<SparkDatabase on Spark: 0 rows seen>"
    with pytest.raises(SashError, match="there is no materialized view to run"):
        db.run()
    db.close()


def test_a_failure_in_a_with_statement_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing a database that had failed was an error of its own, which hid the first one."""

    def use() -> None:
        with sash.connect() as db:
            db.execute("CREATE STREAM s (ts TIMESTAMP, n BIGINT) TIMESTAMP BY ts; CREATE MATERIALIZED VIEW v AS SELECT * FROM s")
            monkeypatch.setattr(db._running()._shard._ports, "forget", lambda *_, **__: 1 / 0)
            db.push("s", [(1, 1)])

    with pytest.raises(ZeroDivisionError):
        use()
