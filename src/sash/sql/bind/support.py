"""What the binder does not take, said with its place.

sqlglot reads far more SQL than is built here. A part of a node that the binder does not name as known is refused, so
nothing is ever ignored silently.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from sash.errors import SqlError
from sash.sql.syntax.text_positions import fault

_PARTS = {
    "distinct": "DISTINCT",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "qualify": "QUALIFY",
    "laterals": "LATERAL VIEW",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
    "db": "a name with a schema before it",
    "locks": "FOR UPDATE",
    "joins": "a join in parentheses",
    "all": "GROUP BY ALL",
    "cube": "CUBE",
    "rollup": "ROLLUP",
    "grouping_sets": "GROUPING SETS",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "except_": "* EXCEPT",
    "replace": "* REPLACE",
    "symmetric": "BETWEEN SYMMETRIC",
    "recursive": "WITH RECURSIVE",
}
_NODES: dict[type[exp.Expr], str] = {
    exp.Distinct: "DISTINCT in an aggregate",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS",
    exp.Select: "a subquery in an expression",
    exp.Bracket: "an array or map",
    exp.Tuple: "a tuple",
    exp.Lateral: "LATERAL",
    exp.AtTimeZone: "AT TIME ZONE",
    exp.Values: "VALUES",
    exp.Cube: "CUBE",
    exp.Rollup: "ROLLUP",
    exp.GroupingSets: "GROUPING SETS",
    exp.Any: "ANY",
    exp.All: "ALL",
    exp.Placeholder: "a parameter",
    exp.Parameter: "a parameter",
    exp.Lambda: "a lambda",
    exp.Unnest: "UNNEST",
    exp.HexString: "a hexadecimal literal",
    exp.National: "a text with N before it",
}


def not_yet(node: exp.Expr, what: str | None = None) -> SqlError:
    """The fault of a node that is known to SQL, but not to us."""
    return fault(node, f"{what or _NODES.get(type(node), node.key.upper())} is not supported yet")


def only(node: exp.Expr, known: Iterable[str]) -> None:
    """Refuse a node that has other parts than the known ones."""
    for part, value in node.args.items():
        if value and part not in known:
            first = value[0] if isinstance(value, list) else value
            where = first if isinstance(first, exp.Expr) else node
            raise not_yet(where, _PARTS.get(part, part.strip("_").replace("_", " ").upper()))
