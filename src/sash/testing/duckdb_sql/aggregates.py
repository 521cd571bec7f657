"""Aggregates for the oracle: those that DuckDB has under other names or with other ties become calls of macros.

    FIRST(x)                          sash_min_by(x, b.ts)
    MIN_BY(x, y) FILTER (WHERE c)     sash_min_by(x, CASE WHEN c THEN y END)
    PERCENTILE(x, 0.9)                sash_percentile_cont(x, 0.9)
    ARRAY_AGG(x)                      list(x ORDER BY x NULLS FIRST)
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from sash.errors import SashError
from sash.sql.bind.aggregate_functions import is_aggregate
from sash.sql.bind.aggregate_syntax import Written, written
from sash.sql.bind.pair_statistics import STATISTICS

# What DuckDB must know for the text to run.
MACROS = (
    "CREATE MACRO sash_min_by(x, y) AS (list(x ORDER BY y, x NULLS FIRST) FILTER (WHERE y IS NOT NULL))[1]",
    "CREATE MACRO sash_max_by(x, y) AS (list(x ORDER BY y DESC, x DESC NULLS LAST) FILTER (WHERE y IS NOT NULL))[1]",
    "CREATE MACRO sash_string_agg(x, s) AS string_agg(CAST(x AS VARCHAR), s ORDER BY CAST(x AS VARCHAR))",
    "CREATE MACRO sash_string_agg_distinct(x, s) AS "
    "array_to_string(list_sort(list(DISTINCT CAST(x AS VARCHAR)) FILTER (WHERE x IS NOT NULL)), s)",
    "CREATE MACRO sash_string_agg_by(x, s, o) AS "
    "string_agg(CAST(x AS VARCHAR), s ORDER BY o NULLS FIRST, CAST(x AS VARCHAR))",
    "CREATE MACRO sash_string_agg_by_desc(x, s, o) AS "
    "string_agg(CAST(x AS VARCHAR), s ORDER BY o DESC NULLS LAST, CAST(x AS VARCHAR))",
    "CREATE MACRO sash_mode(x) AS "
    "list_min([e.key for e in map_entries(histogram(x)) if e.value = list_max(map_values(histogram(x)))])",
    "CREATE MACRO sash_mode_desc(x) AS "
    "list_max([e.key for e in map_entries(histogram(x)) if e.value = list_max(map_values(histogram(x)))])",
    "CREATE MACRO sash_percentile_disc_desc(x, f) AS "
    "list_reverse_sort(list(x) FILTER (WHERE x IS NOT NULL))[greatest(CAST(ceil(f * count(x)) AS BIGINT), 1)]",
    "CREATE MACRO sash_percentile_cont(x, f) AS quantile_cont(CAST(x AS DOUBLE), f)",
    "CREATE MACRO sash_percentile_disc(x, f) AS quantile_disc(x, f)",
    # DuckDB's own skewness is that of a sample; two values lie even, and equal ones have no shape.
    "CREATE MACRO sash_skewness(x) AS CASE WHEN min(x) = max(x) THEN NULL WHEN count(x) = 2 THEN 0.0 "
    "ELSE skewness(CAST(x AS DOUBLE)) * (count(x) - 2) / sqrt(count(x) * (count(x) - 1)) END",
    "CREATE MACRO sash_kurtosis(x) AS CASE WHEN min(x) < max(x) THEN kurtosis_pop(CAST(x AS DOUBLE)) END",
    "CREATE MACRO sash_no_nan(x) AS CASE WHEN isnan(CAST(x AS DOUBLE)) THEN NULL ELSE x END",
)
_RENAMED = {
    "any": "bool_or", "some": "bool_or", "every": "bool_and", "any_value": "min", "std": "stddev_samp",
    "stddev": "stddev_samp", "variance": "var_samp",
}  # fmt: skip
_BY = {
    "min_by": "sash_min_by", "max_by": "sash_max_by", "first": "sash_min_by", "first_value": "sash_min_by",
    "last": "sash_max_by", "last_value": "sash_max_by",
}  # fmt: skip
_STRINGS = ("string_agg", "listagg", "group_concat")
_ARRAYS = ("array_agg", "collect_list", "collect_set")
_PERCENTILES = ("percentile", "median", "percentile_cont", "percentile_disc")
_SHAPES = ("skewness", "kurtosis")
_NEAR = ("approx_percentile", "percentile_approx")


def rewrite_aggregates(node: exp.Expr, stamps: list[exp.Column]) -> None:
    """Change the aggregates below a node in place; `stamps` are the timestamp columns of the query around them."""
    if isinstance(node, exp.Select):
        return  # a subquery has its own turn
    for child in list(node.iter_expressions()):
        rewrite_aggregates(child, stamps)
    if isinstance(node.parent, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls) and node.arg_key == "this":
        return
    if isinstance(node.parent, exp.Window) and node.arg_key == "this":
        _rewrite_window_function(node)
        return
    inner = node
    while isinstance(inner, exp.Filter | exp.WithinGroup):
        inner = inner.this
    if isinstance(inner, exp.Anonymous) and (is_aggregate(inner.name.lower()) or inner.name.lower() in STATISTICS):
        call = written(node)
        if (new := _rewritten(call, stamps)) is not None:
            node.replace(new)


def _rewrite_window_function(node: exp.Expr) -> None:
    """Macros cannot have OVER; only names differ."""
    call = node.this if isinstance(node, exp.Filter) else node
    if isinstance(call, exp.Anonymous) and call.name.lower() in _RENAMED:
        call.set("this", _RENAMED[call.name.lower()])
    elif isinstance(call, exp.Anonymous) and call.name.lower() in _SHAPES:
        raise SashError(f"the oracle does not know {call.name.upper()} with OVER")


def _rewritten(call: Written, stamps: list[exp.Column]) -> exp.Expr | None:
    """Another call, or nothing where DuckDB means the same."""
    if call.name in _RENAMED:
        inner = exp.Anonymous(this=_RENAMED[call.name], expressions=[part.copy() for part in call.arguments])
        return inner if call.where is None else _filter(inner, call.where)
    if call.name in STATISTICS:
        return _call("sash_no_nan", call.node.copy())  # without spread there is none
    if call.name == "approx_count_distinct":
        inner = _call("count", exp.Distinct(expressions=[call.arguments[0].copy()]))
        return inner if call.where is None else _filter(inner, call.where)
    if call.name == "count_if":
        inner = _call("count", exp.Case(ifs=[exp.If(this=call.arguments[0].copy(), true=exp.Literal.number(1))]))
        return inner if call.where is None else _filter(inner, call.where)
    if call.name in _BY:
        value, order = call.arguments if len(call.arguments) == 2 else (call.arguments[0], _stamp(stamps))
        return _call(_BY[call.name], value, _when(call, order))
    if call.name in _STRINGS:
        separator = call.arguments[1] if len(call.arguments) == 2 else _text("," if call.name == "group_concat" else "")
        name = "sash_string_agg_distinct" if call.is_distinct else "sash_string_agg"
        ordered = [] if call.order is None else [call.order.this]
        if ordered:
            name = f"sash_string_agg_by{_suffix(call)}"
        return _call(name, _when(call, call.arguments[0]), separator, *ordered)
    if call.name in _SHAPES:
        return _call(f"sash_{call.name}", _when(call, call.arguments[0]))
    if call.name in _ARRAYS:
        return _array(call)
    if call.name == "mode":
        value = call.arguments[0] if call.order is None else call.order.this
        return _call(f"sash_mode{_suffix(call)}", _when(call, value))
    if call.name == "count" and len(call.arguments) > 1:
        return _count_together(call)
    if call.name in _NEAR:
        value, fraction = call.arguments[:2] if call.order is None else (call.order.this, call.arguments[0])
        return _call(f"sash_percentile_disc{_suffix(call)}", _when(call, value), fraction)
    return _percentile(call) if call.name in _PERCENTILES else None


def _array(call: Written) -> exp.Expr:
    """NULLs are elements, so that FILTER has to stay; COLLECT_LIST leaves them out, and has no elements where there are none."""
    value = call.arguments[0]
    is_spark, is_distinct = call.name != "array_agg", call.is_distinct or call.name == "collect_set"
    conditions = [] if call.where is None else [call.where.copy()]
    if is_spark:
        conditions.append(exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null())))
    item: exp.Expr = exp.Distinct(expressions=[value.copy()])
    if not is_distinct:
        orders = [*(order.copy() for order in call.orders), exp.Ordered(this=value.copy(), nulls_first=True)]
        item = exp.Order(this=value.copy(), expressions=orders)
    made: exp.Expr = _call("list", item)
    if conditions:
        made = _filter(made, exp.and_(*conditions))
    if is_distinct:
        made = _call("list_sort", made, _text("ASC"), _text("NULLS FIRST"))
    return exp.Coalesce(this=made, expressions=[exp.Array()]) if is_spark else made


def _suffix(call: Written) -> str:
    """How the macro for the order of a call ends; only Spark's own place of NULLs is known."""
    if call.order is None:
        return ""
    is_descending = bool(call.order.args.get("desc"))
    if bool(call.order.args.get("nulls_first")) is is_descending:
        raise SashError("the oracle knows NULLS FIRST of an aggregate in ascending order only, and NULLS LAST in descending")
    return "_desc" if is_descending else ""


def _count_together(call: Written) -> exp.Expr:
    """COUNT(DISTINCT a, b): tuples without NULL."""
    is_whole = exp.and_(*(exp.Not(this=exp.Is(this=part.copy(), expression=exp.Null())) for part in call.arguments))
    row = exp.Case(ifs=[exp.If(this=is_whole, true=_call("row", *call.arguments))])
    value: exp.Expr = _when(call, row)
    return _call("count", exp.Distinct(expressions=[value]) if call.is_distinct else value)


def _percentile(call: Written) -> exp.Expr:
    if call.name == "percentile_disc" and _suffix(call):
        assert call.order is not None
        return _call("sash_percentile_disc_desc", _when(call, call.order.this), call.arguments[0])
    name = "sash_percentile_disc" if call.name == "percentile_disc" else "sash_percentile_cont"
    if call.name == "median":
        return _call(name, _when(call, call.arguments[0]), exp.Literal.number("0.5"))
    if call.name == "percentile":
        return _call(name, _when(call, call.arguments[0]), call.arguments[1])
    assert call.order is not None
    fraction = Decimal(call.arguments[0].name)
    if call.order.args.get("desc"):
        fraction = 1 - fraction
    return _call(name, _when(call, call.order.this), exp.Literal.number(str(fraction)))


def _stamp(stamps: list[exp.Column]) -> exp.Column:
    if len(stamps) != 1:
        raise SashError("the oracle knows no timestamp for FIRST and LAST", "use MIN_BY or MAX_BY")
    return stamps[0]


def _when(call: Written, value: exp.Expr) -> exp.Expr:
    if call.where is None:
        return value
    return exp.Case(ifs=[exp.If(this=call.where.copy(), true=value.copy())])


def _filter(inner: exp.Expr, where: exp.Expr) -> exp.Filter:
    return exp.Filter(this=inner, expression=exp.Where(this=where.copy()))


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def _text(value: str) -> exp.Literal:
    return exp.Literal.string(value)
