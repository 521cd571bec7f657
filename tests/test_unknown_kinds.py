"""What nobody has heard of is an error, and not taken for something else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash.database.following import FOLLOWERS
from sash.deltas import Layout
from sash.operators.filter.conditions import parted, table
from sash.plan.streams import FOLLOWED, StreamSpec
from sash.runtime.access import Wanted
from sash.runtime.live import LiveView
from sash.scalar.nodes import Call, Column, Literal
from sash.schema import BIGINT, BOOLEAN, schema
from sash.sql.syntax.parse import parse_statements
from sash.sql.syntax.statements import Show
from sash.stores.arena import Arena
from sash.stores.interner import Interner

K = schema(("k", BIGINT))


@dataclass(frozen=True)
class Wish:
    """A statement, or an access, that somebody forgot to say something of."""

    kind: str = "WISHES"


def test_a_statement() -> None:
    with sash.connect() as db, pytest.raises(AssertionError, match="Wish"):
        db._carry_out(Wish())  # type: ignore[arg-type]


def test_what_is_shown() -> None:
    (show,) = parse_statements("SHOW TABLES")
    assert isinstance(show, Show)
    with sash.connect() as db, pytest.raises(KeyError, match="WISHES"):
        db._carry_out(replace(show, kind="WISHES"))


def test_every_format_of_tables_that_follow_has_its_follower() -> None:
    """A format that is in one list alone would be read as a table of a database."""
    assert FOLLOWERS.keys() == set(FOLLOWED)
    assert all(StreamSpec("t", K, is_table=True, options=(("format", form),)).is_followed for form in FOLLOWERS)


def test_how_rows_are_found() -> None:
    view = LiveView(K)
    view.add(pa.table({"k": [7], "_weight": [1]}))
    unknown: Any = Wish()
    assert len(view.select(Wanted(Layout(K), []))[0]) == 1
    with pytest.raises(AssertionError, match="Wish"):
        view.select(Wanted(Layout(K), [], unknown))


def test_how_lanes_are_tested() -> None:
    condition = Call("nearly_equal", (Column(0, BIGINT, "k"), Literal(3, BIGINT)), BOOLEAN)
    assert parted(condition) == ([], condition)
    with pytest.raises(KeyError, match="nearly_equal"):
        table([condition], Layout(K), Interner(Arena.anonymous()))
