"""ASOF joins for the oracle: of right rows that are as near only the first is there, so that the answer is one only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from sash.sql.bind.conditions import conjuncts

Names = Callable[[exp.Query], Sequence[str]]  # of the columns of a query's answer


def keep_first_of_equals(join: exp.Join, names: Names) -> None:
    """Put a subquery in the place of the right side, in place; ties in it are broken later, by the whole row."""
    known = {name.lower() for name in names(exp.select("*").from_(join.this.copy()))}
    right = join.this.alias_or_name
    compared = list(_compared(join, right, known))
    number = exp.Window(this=exp.Anonymous(this="ROW_NUMBER", expressions=[]), partition_by=compared)
    rows = exp.select("*").from_(join.this.copy())
    rows.set("qualify", exp.Qualify(this=exp.EQ(this=number, expression=exp.Literal.number(1))))
    alias = exp.TableAlias(this=exp.to_identifier(right)) if right else None
    join.set("this", exp.Subquery(this=rows, alias=alias))


def _compared(join: exp.Join, right: str, known: set[str]) -> Iterator[exp.Expr]:
    """What the conditions compare on the right side."""
    yield from (exp.column(name.name) for name in join.args.get("using") or ())
    for condition in conjuncts(join.args["on"]) if join.args.get("on") else ():
        inner = condition.unnest()
        for side in (inner.this, inner.expression):
            if all(_is_of(column, right, known) for column in side.find_all(exp.Column)):
                yield side.copy()


def _is_of(column: exp.Column, right: str, known: set[str]) -> bool:
    return bool(column.table.lower() == right.lower() if column.table else column.name.lower() in known)
