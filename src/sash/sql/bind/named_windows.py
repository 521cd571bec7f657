"""WINDOW w AS (...): windows with names, written out where they are used."""

from __future__ import annotations

from sqlglot import exp

from sash.errors import choices
from sash.sql.bind.aggregate_functions import is_aggregate
from sash.sql.syntax.dialect import DefaultWindow
from sash.sql.syntax.text_positions import fault

_PARTS = {"partition_by": "PARTITION BY", "order": "ORDER BY", "spec": "a frame"}


def write_out_windows(query: exp.Select) -> None:
    """Replace names of windows by what they mean, in place."""
    clauses = [clause for clause in query.args.get("windows") or () if not isinstance(clause, DefaultWindow)]
    if not clauses:
        _check_names(query, {})
        return
    known: dict[str, exp.Window] = {}
    for clause in clauses:
        if clause.args.get("alias"):
            _fill(clause, known)
        known[clause.this.name.lower()] = clause
    _check_names(query, known)
    query.set("windows", [clause for clause in query.args["windows"] if isinstance(clause, DefaultWindow)] or None)


def spread_windows(query: exp.Select) -> None:
    """An aggregate that is an expression of others has been put in its place: OVER belongs to those, in place."""
    for window in list(query.find_all(exp.Window)):
        whole = window.this
        if window.find_ancestor(exp.Select) is query and isinstance(whole, exp.Cast | exp.Paren):
            for call in [node for node in whole.find_all(exp.Anonymous) if is_aggregate(node.name.lower())]:
                call.replace(_around(window, call))
            window.replace(whole)


def _around(window: exp.Window, call: exp.Expr) -> exp.Window:
    around = window.copy()
    around.set("this", call.copy())
    return around


def _check_names(query: exp.Select, known: dict[str, exp.Window]) -> None:
    for part in ("expressions", "qualify", "order"):
        nodes = query.args.get(part) or []
        for node in nodes if isinstance(nodes, list) else [nodes]:
            for window in list(node.find_all(exp.Window)):
                if window.args.get("alias") and window.find_ancestor(exp.Select) is query:
                    _fill(window, known)


def _fill(window: exp.Window, known: dict[str, exp.Window]) -> None:
    name = window.args["alias"]
    named = known.get(name.name.lower())
    if named is None:
        found = f"windows are: {choices(known)}" if known else "name it with WINDOW w AS (...) after the query"
        raise fault(name, f'unknown window "{name.name}"', found)
    for part, what in _PARTS.items():
        value = named.args.get(part)
        if not value:
            continue
        if window.args.get(part):
            raise fault(name, f'the window "{name.name}" has {what} already')
        window.set(part, [each.copy() for each in value] if isinstance(value, list) else value.copy())
    window.set("alias", None)
