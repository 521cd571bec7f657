"""SELECT APPROXIMATE: figures of one column, from the ranges that an index has counted.

    SELECT APPROXIMATE MEDIAN(v), PERCENTILE(v, 0.99) AS p99 FROM s [RANGE 5 MINUTES]
    SELECT APPROXIMATE COUNT(*) AS n FROM s [RANGE 5 MINUTES] WHERE v > 3 AND v <= 7
    SELECT APPROXIMATE HISTOGRAM(v) FROM view                             the ranges themselves, a row for each
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from sash.errors import SqlError
from sash.numerals import exact
from sash.sql.syntax.statements import ParsedQuery
from sash.sql.syntax.text_positions import fault, within

HINT = "figures are: MEDIAN(v), PERCENTILE(v, 0.9), COUNT(*), COUNT(v), and HISTOGRAM(v) alone"


@dataclass(frozen=True)
class Figure:
    """A column of the answer: a percentile, or, without a rank, how many rows there are; of all, or of those with a value."""

    name: str
    rank: float | None
    counts_all: bool = False


@dataclass(frozen=True, eq=False)
class Approximation:
    """Figures of a column; none: its histogram. `rows` is the query for the rows that they are about, with that column first, or,
    where none is named, with all."""

    figures: tuple[Figure, ...]
    column: str | None
    rows: ParsedQuery


def read_approximation(query: ParsedQuery) -> Approximation:
    with within(query.source.text):
        tree = query.tree
        said = [part for part, value in tree.args.items() if value and part not in ("expressions", "from_", "where")]
        if not isinstance(tree, exp.Select) or said or query.emit is not None:
            more = said[0].strip("_").upper() if said else "more than one SELECT"
            raise fault(tree, f"SELECT APPROXIMATE has FROM and WHERE, and no {more}", "leave APPROXIMATE out")
        return _read(tree, query)


def _read(tree: exp.Select, query: ParsedQuery) -> Approximation:
    columns: dict[str, exp.Column] = {}
    figures: list[Figure] = []
    has_histogram = False
    for item in tree.expressions:
        call = item.this if isinstance(item, exp.Alias) else item
        name, column = _call(call)
        if column is not None:
            columns[column.name.lower()] = column
        if name == "HISTOGRAM":
            has_histogram = True
        else:
            figures.append(_figure(item.alias or name.lower(), name, call))
    if len(columns) > 1:
        raise fault(tree, f"these figures are of several columns: {', '.join(columns)}", "ask for each column by itself")
    if has_histogram and len(tree.expressions) > 1:
        raise fault(tree, "HISTOGRAM gives a row for every range, and stands alone", HINT)
    names = [figure.name for figure in figures]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise fault(tree, f'two columns would have the name "{repeated[0]}"', "name them: MEDIAN(v) AS middle")
    rows = tree.copy()
    rows.set("expressions", [column.copy() for column in columns.values()] or [exp.Star()])
    return Approximation(tuple(figures), next(iter(columns), None), replace(query, tree=rows, is_approximate=False))


def _call(call: exp.Expr) -> tuple[str, exp.Column | None]:
    """The name of a figure, and the column that it is of."""
    name = call.name.upper() if isinstance(call, exp.Anonymous) else ""
    wanted = {"MEDIAN": 1, "COUNT": 1, "HISTOGRAM": 1, "PERCENTILE": 2}.get(name)
    if wanted is None or len(call.expressions) != wanted:
        raise _unknown(call)
    first = call.expressions[0]
    if name == "COUNT" and isinstance(first, exp.Star):
        return name, None
    if not isinstance(first, exp.Column):
        raise _unknown(call)
    return name, first


def _figure(name: str, function: str, call: exp.Expr) -> Figure:
    if function == "COUNT":
        return Figure(name, None, isinstance(call.expressions[0], exp.Star))
    if function == "MEDIAN":
        return Figure(name, 0.5)
    written = call.expressions[1]
    rank = exact(written.name) if isinstance(written, exp.Literal) and not written.is_string else None
    if rank is None or not 0 <= rank <= 1:
        raise fault(written, "a percentile is a number from 0 to 1", "write PERCENTILE(v, 0.9)")
    return Figure(name, float(rank))


def _unknown(call: exp.Expr) -> SqlError:
    return fault(call, "this is not a figure that ranges tell", HINT)
