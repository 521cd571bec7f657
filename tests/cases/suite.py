"""Cases of other systems: where they are, how their tables and texts are read, and when an answer is theirs.

The cases stand beside the project in `../shared/cases`, in files of JSON lines; without them the tests are skipped. Nothing of
them is kept here but the ids of those that do not pass, in `known.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import pytest
import sqlglot
from sqlglot.dialects.spark import Spark
from sqlglot.optimizer.annotate_types import annotate_types

import sash
from cases.known import KNOWN
from sash.database.embedded import EmbeddedDatabase
from sash.errors import SashError
from sash.testing.comparing import same_rows

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "cases"
ANSWER = "answer_of_the_case"

Case = dict[str, Any]
Row = tuple[Any, ...]

# Types that mean the same by another name, or the next wider one that there is. A number without bounds gets the widest one.
TYPES = {
    "double precision": "DOUBLE",
    "timestamptz": "TIMESTAMP",  # the texts have no zone
    "smallint": "INT",
    "tinyint": "INT",
    "real": "DOUBLE",
    "float": "DOUBLE",
    "decimal": "DECIMAL(38, 10)",
    "numeric": "DECIMAL(38, 10)",
}


class Words(Spark):
    """Spark SQL as it is today: with the ordered-set aggregates of the standard."""

    class Generator(Spark.Generator):
        TRANSFORMS: ClassVar = {
            kind: how for kind, how in Spark.Generator.TRANSFORMS.items() if kind is not sqlglot.exp.WithinGroup
        }


def load(file: str) -> list[Case]:
    path = FOLDER / file
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def parameters(file: str) -> list[Any]:
    """One test for every case; a known failure must fail, and not by a crash."""
    if not (FOLDER / file).exists():
        return [pytest.param({}, id=file, marks=pytest.mark.skip(f"no {file} beside the project"))]
    return [pytest.param(case, id=case["id"], marks=_marks(case["id"])) for case in load(file)]


def _marks(name: str) -> list[pytest.MarkDecorator]:
    if name not in KNOWN:
        return []
    return [pytest.mark.xfail(reason=KNOWN[name], strict=True, raises=(SashError, AssertionError))]


def declare(db: EmbeddedDatabase, kind: str, table: Mapping[str, Any], time: str = "") -> None:
    """CREATE STREAM or TABLE; computed columns are a view over it, which then has the name."""
    columns = ", ".join(f"`{name}` {type_name(type_)}" for name, type_ in table["columns"])
    computed = table.get("computed") or []
    name = source_name(table)
    db.execute(f"CREATE {kind} {name} ({columns}) {time}")
    if computed:
        more = ", ".join(f"{expression} AS {column}" for column, expression in computed)
        db.execute(f"CREATE VIEW {table['table']} AS SELECT *, {more} FROM {name}")


def source_name(table: Mapping[str, Any]) -> str:
    """The name that rows are pushed to."""
    return f"{table['table']}_as_given" if table.get("computed") else str(table["table"])


def type_name(written: str) -> str:
    lower = re.sub(r"timestamp\(\d\)", "timestamp", written.lower())
    return TYPES.get(lower, lower)


def create_views(db: EmbeddedDatabase, case: Case, query: str) -> None:
    """The views of a case, and its query as the one to compare. Columns go by place, since two may have one name."""
    for view in case.get("views") or []:
        db.execute(f"CREATE VIEW {view['name']} AS {spark_text(view['sql'], case['dialect'])}")
    names = ", ".join(f"c{place}" for place in range(width(case)))
    db.execute(f"CREATE MATERIALIZED VIEW {ANSWER} ({names}) AS {query}")


def width(case: Case) -> int:
    """How many columns the answer has."""
    if "columns" in case or "sink_columns" in case:
        return len(case.get("columns") or case["sink_columns"])
    steps = case.get("steps") or case["expected"]
    return len(next(step[key][0] for step in steps for key in ("expected_view", "state") if step.get(key)))


def spark_text(query: str, dialect: str) -> str:
    """A query in Spark's words. Only PostgreSQL's need translation."""
    if "postgres" not in dialect:
        return query
    tree = annotate_types(sqlglot.parse_one(query, read="postgres"))
    for number in tree.find_all(sqlglot.exp.DataType):
        if number.this is sqlglot.exp.DataType.Type.DECIMAL and not number.expressions:
            number.replace(sqlglot.exp.DataType.build(TYPES["decimal"], dialect="spark"))
    return tree.sql(dialect=Words)


def rows_of(db: EmbeddedDatabase, view: str = ANSWER) -> list[Row]:
    table = db.view(view).to_arrow()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def push(db: EmbeddedDatabase, name: str, rows: Sequence[Sequence[Any]]) -> None:
    """Push rows, none of which may be a dead letter."""
    if rows:
        db.push(name, [tuple(row) for row in rows])
        assert not db.dead(name).num_rows, db.dead(name).to_pylist()


def plain(row: Iterable[object]) -> Row:
    """A row with values as JSON has them; numbers are equal whatever their type."""
    return tuple(_plain(value) for value in row)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return _padded(value)
    return float(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value


def _padded(text: str) -> str:
    """Timestamps print their fraction with six digits or with none."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:\+00(?::00)?)?", text)
    if found is None:
        return text
    fraction = (found[2] or "").ljust(6, "0")
    return found[1] if int(fraction) == 0 else f"{found[1]}.{fraction}"


def check(expected: Iterable[Sequence[object]], actual: Iterable[Sequence[object]], where: str = "") -> None:
    wanted, found = [plain(row) for row in expected], [plain(row) for row in actual]
    assert same_rows(wanted, found), f"{where}\nexpected {wanted}\n   found {found}"


def connect() -> EmbeddedDatabase:
    return sash.connect()
