"""Messages that a program pushes to the host in this process, and what CREATE says of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import sash
from sash.errors import SashError
from sash.sources.avro import schema

SCHEMA = {"type": "record", "name": "row", "fields": [
    {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}}, {"name": "k", "type": "string"},
]}  # fmt: skip


def test_a_file_that_changes_later_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.avsc").write_text(json.dumps(SCHEMA))
    with sash.connect(base=tmp_path) as db:
        db.execute("CREATE STREAM s (ts TIMESTAMP, k STRING) TIMESTAMP BY ts WITH (encoding = 'avro', schema_file = 'a.avsc');"
                   "CREATE MATERIALIZED VIEW n AS SELECT k FROM s")  # fmt: skip
        (tmp_path / "a.avsc").unlink()
        db.push("s", [b"\xd0\x0f\x06ann"])
        assert db.view("n").to_pylist() == [{"k": "ann"}]
        assert json.loads(db.catalog.streams["s"].option("schema") or "") == SCHEMA


def test_pushed_messages_and_what_is_none(tmp_path: Path) -> None:
    with sash.connect(base=tmp_path) as db:
        db.execute("CREATE STREAM s (k BIGINT, at BIGINT METADATA FROM 'offset') WITH (encoding = 'json');"
                   "CREATE MATERIALIZED VIEW n AS SELECT k, at FROM s")  # fmt: skip
        db.push("s", {"value": [b'{"k": 1}', None, "{}"][:2], "offset": [10, 11]})
        db.push("s", pa.table({"offset": [12], "value": ['{"k": 2}']}))
        db.push("s", [{"k": 3, "at": 13}])
        db.push("s", [])
        assert [tuple(row.values()) for row in db.view("n").to_pylist()] == [(1, 10), (2, 12), (3, 13)]
        assert [(letter["row"], letter["reason"]) for letter in db.dead("s").to_pylist()] == [(2, "the message has no value")]
        for rows, error in (
            ([b"{}"], 'is told beside its messages, and these are pushed without it; push columns: {"value": \\[…\\], "offset": \\[…\\]}'),
            ({"value": [b"{}"], "x": [1]}, 'have no "offset" beside them; there are: value, x'),
            ({"value": [b"{}"], "offset": [1], "x": [1]}, '"x" beside its messages tells nothing of "s"; needed are: value, offset'),
            ({"value": [1], "offset": [1]}, "messages are bytes or text, and those pushed to \"s\" are int64"),
            ({"value": [b"{}"], "offset": [1, 2]}, "columns of different lengths"), ({"value": [b"", 1], "offset": [1, 2]}, "no values of one column"),
        ):  # fmt: skip
            with pytest.raises(SashError, match=error):
                db.push("s", rows)


@pytest.mark.parametrize("encoding", ["avro", "protobuf"])
def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    monkeypatch.setitem(sys.modules, "google.protobuf.message", None)
    schema.parsed.cache_clear()
    said = "message = 'x', descriptors = ''" if encoding == "protobuf" else "registry = 'http://x'"
    with sash.connect() as db, pytest.raises(SashError, match=rf'the encoding {encoding} needs .*pip install "sash\[{encoding}\]"'):
        db.execute(f"CREATE STREAM s (k STRING) WITH (encoding = '{encoding}', {said})")
