"""The choice of expiry asks specs what they can do, never what they are: an operator that it has never met is planned too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import sash
from sash.operators.cost import Cost
from sash.operators.expiry.spec import AnnounceSpec, ExpireSpec, InputExpireSpec, MessageExpireSpec
from sash.operators.group_by.spec import GroupBySpec, OrderedGroupBySpec, SlidingGroupBySpec
from sash.operators.join.spec import JoinSpec, LeavingJoinSpec, MessageJoinSpec
from sash.operators.lookback import NO_LOOKBACK
from sash.operators.project.spec import ProjectSpec
from sash.operators.sets.spec import MinusSpec, UnionAllSpec
from sash.operators.spec import PortSpec, Spec, UnarySpec
from sash.operators.time.spec import time_port
from sash.operators.windows.spec import TimeWindowSpec
from sash.plan.aggregates import AggregateCall, Function
from sash.plan.patterns import Pattern
from sash.planner.expiry import suit_the_pattern, tell_the_time, wait_for_input
from sash.planner.placement import _STRATEGIES, Expiry
from sash.scalar.nodes import Column, Literal
from sash.schema import FOREVER, INT, SECOND, Field, Schema

PORT = PortSpec(1, Schema((Field("x", INT), Field("y", INT))), Pattern.MONOTONIC, (), "s")
WINDOW, SHORTER = TimeWindowSpec(PORT, 9 * SECOND), TimeWindowSpec(PORT, 2 * SECOND)
LEAST, COUNT = AggregateCall(Function.MIN, 1, INT), AggregateCall(Function.COUNT, None, None)
TIME = time_port(1, ())


@dataclass(frozen=True)
class UnknownSpec(UnarySpec):
    """Rows that carry their expiry and leave in order, of an operator that nobody has heard of; some of them may stay."""

    all_leave: bool = True

    pattern = Pattern.WEAKEST
    lifetime = None
    keeps = ""
    lookback = NO_LOOKBACK
    needs_exact_departures = False

    def estimate(self, *inputs: object) -> None:
        raise NotImplementedError

    def cost(self, inputs: object, output: object) -> Cost:
        raise NotImplementedError

    def build(self, context: object) -> None:
        raise NotImplementedError


def grouped(rows: Spec, call: AggregateCall = LEAST, keys: tuple[int, ...] = (0,)) -> GroupBySpec:
    return GroupBySpec(ExpireSpec(rows), keys, (call,), (*("x" for _ in keys), "m"))


def test_every_strategy_has_a_way() -> None:
    assert set(_STRATEGIES) == set(Expiry)


@pytest.mark.parametrize("all_leave", (True, False))
def test_values_are_dropped_only_where_a_later_row_leaves_later(all_leave: bool) -> None:
    rows = UnknownSpec(PORT, all_leave)
    assert suit_the_pattern(grouped(rows)) == (SlidingGroupBySpec(rows, (0,), (LEAST,), ("x", "m")) if all_leave else grouped(rows))
    without_keys = suit_the_pattern(grouped(rows, keys=()))
    assert type(without_keys) is (OrderedGroupBySpec if all_leave else GroupBySpec)


def test_rows_that_stay_between_others_are_known_through_unions_and_exchanges() -> None:
    forever = TimeWindowSpec(PORT, FOREVER)
    both = UnionAllSpec(WINDOW, forever)
    assert (UnionAllSpec(WINDOW, WINDOW).all_leave, both.all_leave, both.pattern) == (True, False, Pattern.WEAKEST)
    sent = PortSpec(2, both.schema, both.pattern, (0,), source=both, source_level=1)
    assert not sent.all_leave
    assert type(suit_the_pattern(grouped(sent))) is GroupBySpec
    assert type(suit_the_pattern(grouped(sent, COUNT))) is SlidingGroupBySpec  # what is added up does not mind


def test_pairs_are_found_again_through_columns_but_not_through_expressions() -> None:
    join = JoinSpec(WINDOW, SHORTER, (0,), (0,))
    y, x = Column(3, INT, "y"), Column(0, INT, "x")
    some = ProjectSpec(join, (y, x), ("b", "a"))
    assert suit_the_pattern(ExpireSpec(some)) == LeavingJoinSpec(WINDOW, SHORTER, (0,), (0,), (3, 0), ("b", "a"))
    once_more = ProjectSpec(some, (Column(1, INT, "a"),), ("c",))
    assert suit_the_pattern(ExpireSpec(once_more)) == LeavingJoinSpec(WINDOW, SHORTER, (0,), (0,), (0,), ("c",))
    computed = ExpireSpec(ProjectSpec(join, (y, Literal(1, INT)), ("b", "one")))
    assert suit_the_pattern(computed) is computed


def test_rows_of_an_operator_that_passes_no_messages_on_are_announced_themselves() -> None:
    unknown = UnknownSpec(WINDOW)
    assert tell_the_time(ExpireSpec(unknown), merges=True) == MessageExpireSpec(AnnounceSpec(unknown, True))
    join = JoinSpec(unknown, WINDOW, (0,), (0,))
    announced = MessageJoinSpec(AnnounceSpec(unknown, False), AnnounceSpec(WINDOW, False), (0,), (0,), False)
    assert tell_the_time(ExpireSpec(join), merges=False) == MessageExpireSpec(announced)


def test_all_that_waits_waits_for_the_same_rows() -> None:
    sides = (ExpireSpec(WINDOW), ExpireSpec(SHORTER))
    waiting = wait_for_input(UnionAllSpec(*sides), TIME)
    assert waiting.inputs == (InputExpireSpec(WINDOW, TIME, (SHORTER,)), InputExpireSpec(SHORTER, TIME, (WINDOW,)))
    minus = MinusSpec(*sides, (0,), (0,))
    assert wait_for_input(minus, TIME) is minus  # it would give something else if rows left late
    beside = UnionAllSpec(ExpireSpec(WINDOW), minus)
    assert wait_for_input(beside, TIME).inputs == (InputExpireSpec(WINDOW, TIME, (minus,)), minus)


GENERAL = {"SharedSpec", "StreamSpec", "SinkSpec"}  # no family has them for itself, or they are of no operator


def asked_types(path: Path) -> Iterator[str]:
    """The specs whose types a file asks for, but for ports: that is where rows enter, which is no operator."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            yield from (name for name in ast.unparse(node.args[1]).split(" | ") if name.endswith("Spec") and name != "PortSpec")
        elif isinstance(node, ast.Compare) and ast.unparse(node.left).startswith("type("):
            yield from (name for one in node.comparators if (name := ast.unparse(one)).endswith("Spec"))


PACKAGE = Path(next(iter(sash.__path__)))


@pytest.mark.parametrize("folder", ("planner", "runtime", "database", "spark", "serve", "cli", "shell"))
def test_who_plans_and_runs_asks_no_spec_for_its_type(folder: str) -> None:
    files = [*(PACKAGE / folder).rglob("*.py")]
    assert len(files) > 5
    found = {path.name: told for path in files if (told := {*asked_types(path)} - GENERAL)}
    assert found == {}


def of_families() -> set[str]:
    """The classes of operators, which are what is run, but for what several families are."""
    files = (path for path in (PACKAGE / "operators").glob("*/*.py") if path.name != "spec.py")
    classes = (node for path in files for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef))
    return {one.name for one in classes if any(isinstance(part, ast.FunctionDef) and part.name == "run" for part in one.body)}


@pytest.mark.parametrize("folder", ("runtime", "spark"))
def test_who_runs_asks_no_operator_for_its_type(folder: str) -> None:
    known, found = of_families(), set[str]()
    assert {"Join", "InputExpire", "Emit"} <= known
    for path in (PACKAGE / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                found |= known & {*ast.unparse(node.args[1]).split(" | ")}
    assert not found


def test_a_question_for_a_type_is_found(tmp_path: Path) -> None:
    path = tmp_path / "asking.py"
    path.write_text("isinstance(spec, FilterSpec | PortSpec); type(spec) is not JoinSpec; isinstance(spec, Spec | Plan)")
    assert set(asked_types(path)) == {"FilterSpec", "JoinSpec", "Spec"}
