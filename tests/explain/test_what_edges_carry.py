"""How rows leave an edge, in the words of EXPLAIN, is how they do: what every operator gives is looked at while it runs."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from sash.database.embedded import EmbeddedDatabase
from sash.deltas import Delta
from sash.operators.spec import Messages, PortSpec, Spec
from sash.plan.patterns import Pattern
from sash.plan.tree_text import tree_lines
from sash.planner.explain import explain_view
from sash.planner.placement import Expiry
from sash.runtime import readers
from sash.runtime.node import Node
from sash.schema import FOREVER, INT, Field, Schema
from shapes import SHAPES, STREAMS, make_rows

ROWS = make_rows(23, 60)
WORDS = ("never", "by expiry, in order", "by expiry", "by negative rows")

Carried = dict[Spec, list[Delta]]


@pytest.fixture
def carried(monkeypatch: pytest.MonkeyPatch) -> Carried:
    """What was given on every edge, by the operator that gave it; what comes in from outside, by its port."""
    found: Carried = defaultdict(list)
    gave, observe = Node.gave, Node.observe

    def watched_tap(node: Node, delta: Delta) -> None:
        found[node.spec].append(delta.copy())
        gave(node, delta)

    def watched_step(node: Node, inputs: list[Delta], delta: Delta) -> None:
        if len(delta):
            found[node.spec].append(delta.copy())
        for spec, taken in zip(node.spec.inputs, inputs, strict=True):
            if not spec.inputs and len(taken):
                found[spec].append(taken.copy())
        observe(node, inputs, delta)

    monkeypatch.setattr(readers, "families_of", lambda source: [])  # what lies between operators that run together nobody sees
    monkeypatch.setattr(Node, "gave", watched_tap)
    monkeypatch.setattr(Node, "observe", watched_step)
    return found


def explained(db: EmbeddedDatabase, expiry: Expiry) -> dict[Spec, str]:
    """The edges of all views, each with what EXPLAIN says of it."""
    said: dict[Spec, str] = {}
    for view in db.planned(1).views:
        choice = db.queries.chosen(db.materialized()[view.name].plan, 1, expiry, db.statistics)
        head, *lines = explain_view(choice, expiry, shards=1).splitlines()
        start, stop = head.index("rows leave"), head.index("mode")
        words = [line[start:stop].strip() for line in lines]
        specs = [spec for _, spec in tree_lines(view.spec, lambda one: one.made_of, lambda one: one.title)]
        said |= zip(specs, words, strict=True)
    return said


def is_as_said(word: str, spec: Spec, deltas: list[Delta]) -> bool:
    ts, expiry, weight = (np.concatenate([getattr(delta, name) for delta in deltas]) for name in ("ts", "expiry", "weight"))
    if spec.messages is Messages.NONE and not weight.all():
        return False
    leaving = expiry[(expiry < FOREVER) & (weight > 0)]
    match word:
        case "never":
            return bool((weight > 0).all() and (expiry == FOREVER).all())
        case "by expiry, in order":
            is_whole = len(leaving) == (weight > 0).sum() or not spec.all_leave
            return bool(is_whole and (weight >= 0).all() and (np.diff(leaving) >= 0).all())
        case "by expiry":
            return bool((weight >= 0).all() and (expiry[weight > 0] > ts[weight > 0]).all())
        case "by negative rows":
            return bool((expiry == FOREVER).all())
    raise AssertionError(f"EXPLAIN says {word!r}")


@pytest.mark.parametrize("expiry", Expiry, ids=lambda one: one.value)
def test_edges_carry_what_explain_says(expiry: Expiry, carried: Carried) -> None:
    db = EmbeddedDatabase(expiry=expiry.value)
    db.execute(STREAMS)
    for shape in SHAPES if expiry is Expiry.AUTO else SHAPES[::4]:
        db.execute(shape.sql)
    for name in ("sellers", "bids", "asks", "quiet"):
        for start in range(0, len(ROWS[name]), 20):
            db.push(name, ROWS[name][start : start + 20])
    db.end()
    said = explained(db, expiry)
    met = {spec: word for spec, word in said.items() if carried.get(spec)}
    assert {spec.title: word for spec, word in met.items() if not is_as_said(word, spec, carried[spec])} == {}
    assert len(met) > 100
    assert set(met.values()) == set(WORDS) - ({"by expiry"} if expiry is Expiry.NEGATIVE else set())
    assert any((delta.weight < 0).any() for spec, word in met.items() if word == WORDS[-1] for delta in carried[spec])


EDGE = PortSpec(1, Schema((Field("x", INT),)), Pattern.MONOTONIC, (), "s")
STAYS, LEAVES_AT_5, LEAVES_AT_3, TAKEN_BACK, TELLS_THE_TIME = (FOREVER, 1), (5, 1), (3, 1), (FOREVER, -1), (5, 0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([STAYS], WORDS),
        ([STAYS, TAKEN_BACK], ("by negative rows",)),
        ([LEAVES_AT_3, LEAVES_AT_5], ("by expiry, in order", "by expiry")),
        ([LEAVES_AT_5, STAYS, LEAVES_AT_3], ("by expiry",)),
        ([LEAVES_AT_5, TAKEN_BACK], ()),
        ([STAYS, TELLS_THE_TIME], ()),
    ],
)  # fmt: skip
def test_the_watcher_sees_what_an_edge_is_not(changes: list[tuple[int, int]], words: tuple[str, ...]) -> None:
    expiry, weight = np.array(changes, np.int64).T
    delta = Delta(np.zeros((len(changes), 2), np.int64), np.ones(len(changes), np.int64), expiry, weight)
    assert tuple(word for word in WORDS if is_as_said(word, EDGE, [delta])) == words
