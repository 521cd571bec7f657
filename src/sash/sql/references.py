"""What a query names in FROM, in the order of the text."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sash.deep import deeply
from sash.sql.syntax.text_positions import Place, place


@deeply
def references(query: exp.Expr) -> list[exp.Table]:
    """Every mention of a stream, table or view, but not of a query that WITH has named."""
    return sorted(_mentions(query, frozenset()), key=_start)


def _mentions(node: exp.Expr, named: frozenset[str]) -> Iterator[exp.Table]:
    clause = node.args.get("with_")
    for cte in clause.expressions if clause else ():
        yield from _mentions(cte.this, named)
        named |= {cte.alias.lower()}
    if isinstance(node, exp.Table) and node.name.lower() not in named:
        yield node
    for child in node.iter_expressions():
        if child is not clause:
            yield from _mentions(child, named)


def _start(table: exp.Table) -> int:
    return (place(table) or Place(0, 0)).start
