"""Plans written as data and read again are the same plans, to the last bit; data that is no plan is one clear error."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from queries import Job as RandomJob
from queries import jobs

import sash
from lengths import share
from sash.errors import SashError
from sash.operators.spec import Spec
from sash.planner.choose import Choice, choose
from sash.planner.job import Job, plan_job
from sash.planner.placement import Expiry
from sash.planner.read_plan import from_data, json_object
from sash.planner.write_plan import to_data
from sash.scalar.nodes import Literal
from sash.schema import BIGINT, DOUBLE, FOREVER, Type, array
from sash.testing.blocks import blocks

FILES = sorted((Path(__file__).parent.parent / "slt").rglob("*.slt"))
PLANS = tuple[Job, Mapping[str, Choice]]
STREAMS = "".join(f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT, v DOUBLE) TIMESTAMP BY ts;" for name in "ab")


def read_again(value: object, hint: Any) -> Any:
    return from_data(json_object(json.dumps(to_data(value, hint)).encode(), "the file x"), hint, "the file x", None)


def plans(db: sash.Database, shards: int, expiry: Expiry) -> tuple[Job, dict[str, Choice]]:
    chosen = {view.name: choose(view.plan, shards, expiry) for view in db.materialized().values()}
    return plan_job(db.catalog.streams, chosen, shards, expiry), chosen


def check_round_trip(db: sash.Database, shards: int, expiry: Expiry) -> None:
    written = plans(db, shards, expiry)
    job, chosen = read_again(written, PLANS)
    assert (job, chosen) == written
    assert repr(job) == repr(written[0])  # which a checkpoint is known by
    assert [view.spec.fingerprint for view in job.views] == [view.spec.fingerprint for view in written[0].views]
    assert all(hash(one) == hash(other) for one, other in zip(job.views, written[0].views, strict=True))
    assert len(to_data((job, chosen), PLANS)["nodes"]) == len(to_data(written, PLANS)["nodes"])


@cache
def carried_out(path: Path) -> sash.Database:
    """All that a file declares and creates, without rows."""
    db = sash.connect()
    for block in blocks(path.read_text(encoding="utf-8")):
        name = f"CREATE MATERIALIZED VIEW {block.words[0]} AS " if block.kind == "view" else ""
        if block.kind in ("view", "statement") and block.expected is None:
            db.execute(name + block.sql)
    return db


def files(expiry: Expiry) -> Sequence[Path]:
    """Every second one, or all, in the usual way, some in the others, whose specs are few."""
    return share(FILES, 0, 2) if expiry is Expiry.AUTO else share(FILES[::4], 0, 2)


def expressible(expiry: Expiry) -> Iterator[tuple[Path, sash.Database]]:
    for path in files(expiry):
        db = carried_out(path)
        try:
            plans(db, 3, expiry)
        except SashError:
            continue  # some joins with tables cannot be run in every way
        yield path, db


@pytest.mark.parametrize("expiry", [Expiry.AUTO, Expiry.NEGATIVE, Expiry.PIGGYBACK, Expiry.INPUT_TRIGGERED])
def test_every_query_of_the_logic_tests(expiry: Expiry) -> None:
    count = 0
    for _, db in expressible(expiry):
        check_round_trip(db, 3, expiry)
        count += 1
    assert count > 0.9 * len(files(expiry))


@settings(max_examples=20)
@given(jobs(most=1))
def test_random_queries(job: RandomJob) -> None:
    db = sash.connect()
    db.execute(job.sql)
    check_round_trip(db, 3, Expiry.AUTO)


VALUES = [
    None, True, 0, 2**53 + 1, -(2**63), 2**70, FOREVER, 0.0, -0.0, float("inf"), float("-inf"), 5e-324, 0.1, "", "\0ü\U0001f600", b"\xff\0",
    Decimal("1.20"), Decimal("-0E-10"), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), date(2024, 2, 29),
    timedelta(days=-1, microseconds=1), (), (1, (None, "x")),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_stay_what_they_are(value: object) -> None:
    again = read_again(Literal(value, DOUBLE), Literal).value
    assert (type(again), repr(again)) == (type(value), repr(value))


def test_not_a_number_keeps_its_bits() -> None:
    bits = bytes.fromhex("fff8000000abcdef")
    others = Literal(float("nan"), DOUBLE), Literal((float("nan"),), DOUBLE)  # alive, so that equal ones would become these
    nested = Literal((struct.unpack(">d", bits)[0],), DOUBLE).value
    assert isinstance(nested, tuple) and struct.pack(">d", nested[0]) == bits != struct.pack(">d", others[0].value)
    again = read_again(Literal(struct.unpack(">d", bits)[0], DOUBLE), Literal).value
    assert struct.pack(">d", again) == bits


def test_equal_values_that_print_differently_stay_apart() -> None:
    pair = (Literal(0.0, DOUBLE), Literal(-0.0, DOUBLE), Literal(Decimal("1.0"), DOUBLE), Literal(Decimal("1.00"), DOUBLE))
    assert repr(read_again(pair, tuple[Literal, ...])) == repr(pair)


def test_shared_parts_are_written_once_and_shared_again() -> None:
    """Every view reads the one before twice: written as a tree, the last would have a million leaves."""
    db = sash.connect()
    db.execute(f"{STREAMS} CREATE MATERIALIZED VIEW v0 AS SELECT k, COUNT(*) AS n FROM a [RANGE 9 SECONDS] GROUP BY k")
    for number in range(5):
        half = f"SELECT k, n FROM v{number}"
        db.execute(f"CREATE MATERIALIZED VIEW v{number + 1} AS {half} UNION ALL {half} UNION ALL {half} UNION ALL {half}")
    job = db.planned(1)
    data = to_data(job, Job)
    assert len(data["nodes"]) < 200 and len(json.dumps(data)) < 30_000
    again = from_data(data, Job, "x", None)
    assert again == job
    parts = {id(part): part for part in _with_parts(again.view("v5").spec)}
    assert len(parts) == len(set(parts.values())) < 50


def _with_parts(spec: Spec) -> Iterator[Spec]:
    """A spec and all that it is made of, every object once."""
    seen, left = set[int](), [spec]
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen.add(id(one))
            left += one.inputs
            yield one


def test_deep_plans_need_no_deep_stack() -> None:
    deep = BIGINT
    for _ in range(3000):
        deep = array(deep)
    data = to_data(deep, Type)
    assert len(data["nodes"]) == 3001
    found = from_data(json.loads(json.dumps(data)), Type, "x", None)
    for _ in range(3000):
        found, deep = found.element, deep.element
    assert found == deep


@pytest.fixture(scope="module")
def text() -> str:
    db = sash.connect()
    sql = "SELECT a.k, SUM(b.v + 0.5) AS s FROM a [RANGE 9 SECONDS] JOIN b [ROWS 5] ON a.k = b.k GROUP BY a.k"
    db.execute(f"{STREAMS} CREATE MATERIALIZED VIEW v AS {sql}")
    return json.dumps(to_data(plans(db, 2, Expiry.AUTO), PLANS))


def read_text(text: bytes) -> Any:
    return from_data(json_object(text, "the file x"), PLANS, "the file x", None)


def test_damaged_text_is_one_clear_error(text: str) -> None:
    """Bytes change, go missing or are doubled: what can be read at all is a plan, and everything else says which file it is."""
    chance, refused = random.Random(7), 0
    for _ in range(3000):
        data = bytearray(text.encode())
        for _ in range(chance.choice([1, 1, 2, 8])):
            place = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[place] ^= 1 << chance.randrange(8)
                case 1:
                    del data[place : place + chance.choice([1, 5, 500])]
                case 2:
                    data[place:place] = data[chance.randrange(len(data)) :][: chance.choice([1, 9, 90])]
                case 3:
                    data[place : place + 1] = chance.choice([b"1e400", b"null", b"[]", b"{}", b'"', b"-1", b"99999999999999999999", b"NaN"])
            data = data or bytearray(b"0")
        try:
            job, _ = read_text(bytes(data))
            assert isinstance(job, Job)
        except SashError as error:
            refused += 1
            assert str(error).startswith("the file x")
    assert refused > 1000


def damaged(value: Any, chance: random.Random) -> Any:
    """One part of the data is something else."""
    strange = [None, True, -1, 2**80, 1.5, "", "Job", [], {}, {"node": 0}, {"node": -1}, {"enum": ["Kind", "INT"]}, {"set": [[]]}, {"map": [[{}, 1]]},
               {"float": "zz"}, {"decimal": {}}, {"timedelta": [1e300]}, {"path": 3}, {"os": "system"}]  # fmt: skip
    if chance.random() < 0.1 or not isinstance(value, dict | list) or not value:
        return chance.choice(strange)
    key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
    if chance.random() < 0.1:
        return {name: part for name, part in value.items() if name != key} if isinstance(value, dict) else value[:key] + value[key + 1 :]
    if isinstance(value, dict) and chance.random() < 0.1:
        return {**value, "more": 1}
    made = dict(value) if isinstance(value, dict) else list(value)
    made[key] = damaged(value[key], chance)
    return made


def test_damaged_data_is_one_clear_error(text: str) -> None:
    chance, refused = random.Random(8), 0
    for _ in range(3000):
        try:
            job, _ = from_data(damaged(json.loads(text), chance), PLANS, "the file x", None)
            assert isinstance(job, Job)
        except SashError as error:
            refused += 1
            assert str(error).startswith("the file x")
    assert refused > 2000


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data | {"version": 2}, "plans have version 2"),
        (lambda data: data | {"nodes": [["Popen", {"args": "true"}], *data["nodes"]]}, "plans have no 'Popen'"),
        (lambda data: data | {"nodes": [["sash.schema.Type", {}], *data["nodes"]]}, "plans have no 'sash.schema.Type'"),
        (lambda data: data | {"root": [{"node": 0}, {"map": []}]}, "it is of something else"),
        (lambda data: data | {"root": {"node": 10**6}}, "no node 1000000 before it"),
        (lambda data: data | {"extra": 1}, "it is no plan"),
    ],
)
def test_reasons_are_told(text: str, change: Any, reason: str) -> None:
    with pytest.raises(SashError, match=reason):
        from_data(change(json.loads(text)), PLANS, "the file x", None)


@pytest.mark.parametrize("value", [True, 1.0, "1", None, (1,)])
def test_a_field_is_of_its_type(value: Any) -> None:
    """A bool is no number of shards, though Python would take it for one."""
    db = sash.connect()
    db.execute(f"{STREAMS} CREATE MATERIALIZED VIEW v AS SELECT k FROM a [RANGE 9 SECONDS]")
    data = to_data(db.planned(2), Job)
    ((_, fields),) = [node for node in data["nodes"] if node[0] == "Job"]
    fields["shards"] = {"float": "3ff0000000000000"} if isinstance(value, float) else list(value) if isinstance(value, tuple) else value
    with pytest.raises(SashError, match="shards of Job is of another type"):
        from_data(data, Job, "the file x", None)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda part: st.lists(part) | st.dictionaries(st.text(), part)))
def test_any_json_is_a_plan_or_an_error(data: object) -> None:
    with pytest.raises(SashError):
        from_data(data, PLANS, "the file x", None)
