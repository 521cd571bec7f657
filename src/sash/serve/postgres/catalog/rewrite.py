"""A query over PostgreSQL's catalog, made one of DuckDB's over the relations that are here.

The query is parsed, every relation and function in it is looked up in lists of what is allowed, and only then a new text is
written from the tree: nothing else of what a client sends reaches DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError

from sash.numerals import whole
from sash.serve.postgres.catalog.functions import MACRO_NAMES, RENAMED, SAFE, SESSION, TABLE_MACRO_NAMES
from sash.serve.postgres.catalog.names import given_names
from sash.serve.postgres.catalog.relations import relations, schema_here, type_numbers
from sash.serve.postgres.failures import WireError, not_supported
from sash.serve.postgres.parameters import value_of
from sash.serve.postgres.wire_types import ARRAYS, TEXT

_TEXT_TYPES = ("regproc", "regprocedure", "regoper", "regrole", "name", "char", "xid", "cid", "aclitem", "information_schema")
_OPERATORS: dict[str, type[exp.Binary]] = {
    "=": exp.EQ, "<>": exp.NEQ, "!=": exp.NEQ, "<": exp.LT, ">": exp.GT, "<=": exp.LTE, ">=": exp.GTE,
}


class Rewriting:
    """`numbers` are those of the user's own relations by name; `session` answers what the session is asked."""

    def __init__(self, numbers: Mapping[str, int], session: Mapping[str, Any], setting: Callable[[str], str]) -> None:
        self._numbers = numbers
        self._session = session
        self._setting = setting

    def run(self, sql: str, parameters: Sequence[Any]) -> str:
        tree = parsed(sql)
        self._parameters = parameters
        given_names(tree)
        self._known = {cte.alias for cte in tree.find_all(exp.CTE)}
        for node in list(tree.find_all(exp.Table)):
            self._relation(node)
        checked = self._checked(tree)
        return checked.sql(dialect=DuckDB, comments=False)

    def _relation(self, table: exp.Table) -> None:
        """The place of a relation here. Whoever named it in full names its columns so, too."""
        if not isinstance(table.this, exp.Identifier):
            _read_function(table)
            return
        name, schema = table.name, table.db
        if not schema and name in self._known:
            return
        found = schema or "pg_catalog"
        if (found, name.lower()) not in relations():
            raise WireError("42P01", f'there is no relation "{schema + "." if schema else ""}{name}" in the catalog')
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(name.lower())))
        table.set("catalog", None)
        table.set("db", exp.to_identifier(schema_here(found)))
        table.set("this", exp.to_identifier(name.lower(), quoted=True))

    def _checked(self, node: exp.Expr) -> exp.Expr:
        """A tree from its leaves up, every node of it replaced by what it is here, and allowed."""
        for child in list(node.iter_expressions()):
            new = self._checked(child)
            if new is not child:
                child.replace(new)
        for rule in self._rules():
            found = rule(node)
            node = node if found is None else found
        return _allowed(node)

    def _rules(self) -> tuple[Callable[[Any], exp.Expr | None], ...]:
        return (
            self._parameter, self._function_number, self._qualified, self._operator, self._collation, self._column,
            self._asked_session, self._array_text, self._plain_type, self._type,
        )

    def _parameter(self, node: exp.Expr) -> exp.Expr | None:
        if not isinstance(node, exp.Parameter):
            return None
        number = whole(node.name)
        if number is None or not 1 <= number <= len(self._parameters):
            raise WireError("42P02", f"there is no parameter ${node.name}")
        return exp.convert(self._parameters[number - 1])

    def _function_number(self, node: exp.Expr) -> exp.Expr | None:
        """Columns that name a function compare with 0 where they name none; here "-" says so."""
        if not isinstance(node, exp.EQ | exp.NEQ) or not node.expression.is_number:
            return None
        is_function = isinstance(node.this, exp.Column) and node.this.name in _function_columns()
        return type(node)(this=node.this, expression=exp.Literal.string("-")) if is_function else None

    def _qualified(self, node: exp.Expr) -> exp.Expr | None:
        """pg_catalog.f(x) is f(x)."""
        is_qualified = isinstance(node, exp.Dot) and node.this.name in ("pg_catalog", "information_schema")
        return node.expression if is_qualified else None

    def _operator(self, node: exp.Expr) -> exp.Expr | None:
        if not isinstance(node, exp.Operator):
            return None
        symbol = str(node.args["operator"]).rsplit(".", 1)[-1]
        if symbol in ("~", "!~"):
            found: exp.Expr = exp.RegexpLike(this=node.this, expression=node.expression)
            return exp.Not(this=found) if symbol == "!~" else found
        if symbol in _OPERATORS:
            return _OPERATORS[symbol](this=node.this, expression=node.expression)
        raise not_supported(f"the operator {symbol} is not known here")

    def _collation(self, node: exp.Expr) -> exp.Expr | None:
        return node.this if isinstance(node, exp.Collate) else None

    def _column(self, node: exp.Expr) -> exp.Expr | None:
        """Columns are named by their relation alone, and some words are the session's."""
        if not isinstance(node, exp.Column):
            return None
        if node.db:
            return exp.column(node.this, table=node.args.get("table"))
        if not node.table and not node.this.args.get("quoted") and node.name.lower() in SESSION:
            return self._answered(node.name.lower())
        return None

    def _asked_session(self, node: exp.Expr) -> exp.Expr | None:
        if not isinstance(node, exp.Func):
            return None
        name = _name(node)
        if name in SESSION:
            return self._answered(name)
        if name == "current_schemas":
            return exp.array(*map(exp.Literal.string, ("pg_catalog", "public")))
        if name == "current_setting":
            return exp.Literal.string(self._setting(node.expressions[0].name))
        if name == "set_config":
            return exp.Literal.string(node.expressions[1].name)
        if name == "to_regtype":
            known = type_numbers().get(node.expressions[0].name)
            return exp.null() if known is None else exp.Literal.number(known)
        if name == "age":
            return exp.Literal.number(0)
        return None

    def _answered(self, name: str) -> exp.Expr:
        return exp.convert(self._session[SESSION[name]])

    def _array_text(self, node: exp.Expr) -> exp.Expr | None:
        """'{a,b}'::text[], and ANY('{a,b}')"""
        is_array = isinstance(node, exp.Cast) and node.to.this == exp.DType.ARRAY
        text = node.this.unnest() if is_array or isinstance(node, exp.Any) else None
        if text is None or not text.is_string:
            return None
        held = value_of(text.name.encode(), ARRAYS[TEXT], 0)
        values = exp.cast(exp.array(*map(exp.convert, held)), "VARCHAR[]", dialect="duckdb")
        return exp.cast(values, node.to.copy()) if isinstance(node, exp.Cast) else exp.Any(this=values)

    def _plain_type(self, node: exp.Expr) -> exp.Expr | None:
        """pg_catalog.text is text."""
        if not isinstance(node, exp.DataType) or "." not in str(node.args.get("kind") or ""):
            return None
        return exp.DataType.build(_type_name(node), dialect="postgres", udt=True)

    def _type(self, node: exp.Expr) -> exp.Expr | None:
        """Casts to types that only PostgreSQL has: a number of something, shown by its name."""
        if not isinstance(node, exp.Cast):
            return None
        name = _type_name(node.to)
        if name == "regclass":
            return self._by_name(node.this, self._relation_number, "regclass_name")
        if name == "regtype":
            return self._by_name(node.this, self._type_number, "format_type")
        if name == "regnamespace":
            return self._by_name(node.this, lambda text: {"pg_catalog": 11, "public": 2200}.get(text, 0), "regnamespace_name")
        if name == "oid":
            return exp.cast(node.this, "UINTEGER", dialect="duckdb")
        if name in _TEXT_TYPES:
            return exp.cast(node.this, "VARCHAR", dialect="duckdb")
        return None

    def _by_name(self, value: exp.Expr, number: Callable[[str], int], shown: str) -> exp.Expr:
        if isinstance(value, exp.Cast) and value.this.is_string:
            value = value.this
        if value.is_string and not value.name.isdecimal():
            return exp.cast(exp.Literal.number(number(value.name)), "UINTEGER", dialect="duckdb")
        if value.is_string or value.is_number:
            return exp.cast(exp.Literal.number(value.name), "UINTEGER", dialect="duckdb")
        more = [exp.Literal.number(-1)] if shown == "format_type" else []
        return exp.Anonymous(this=shown, expressions=[value, *more])

    def _relation_number(self, text: str) -> int:
        parts = [part.strip('"') for part in text.replace("public.", "").split(".")]
        own = self._numbers.get(parts[-1].lower())
        if own is not None and len(parts) == 1:
            return own
        found = relations().get(("pg_catalog" if len(parts) == 1 else parts[0], parts[-1]))
        if found is None:
            raise WireError("42P01", f'there is no relation "{text}"')
        return found.oid

    def _type_number(self, text: str) -> int:
        found = type_numbers().get(text.removeprefix("pg_catalog."))
        if found is None:
            raise WireError("42704", f'there is no type "{text}"')
        return found


@cache
def _function_columns() -> frozenset[str]:
    return frozenset(name for relation in relations().values() for name, type_ in relation.columns if type_ == "regproc")


def parsed(sql: str) -> exp.Query:
    """The tree of one query."""
    try:
        tree = sqlglot.parse_one(sql, read="postgres")
    except (SqlglotError, RecursionError) as error:
        raise WireError("42601", f"this query is not understood: {str(error).splitlines()[0]}") from None
    if not isinstance(tree, exp.Query):
        raise not_supported("a query over the catalog starts with SELECT, WITH or VALUES")
    return tree


def _read_function(table: exp.Table) -> None:
    """FROM f(x) AS s: s is its column as well, and one that gives a value gives a row of it."""
    table.set("db", None)
    alias, function = table.args.get("alias"), table.this
    if not isinstance(function, exp.Func) or alias is None or alias.columns or _name(function) in TABLE_MACRO_NAMES:
        return
    alias.set("columns", [alias.this.copy()])
    if not isinstance(function, exp.GenerateSeries | exp.ExplodingGenerateSeries):
        table.replace(exp.Subquery(this=exp.select(function.copy()), alias=alias.copy()))


def _allowed(node: exp.Expr) -> exp.Expr:
    """A node that only reads what is here; a function of ours by its full name."""
    if isinstance(node, exp.Command | exp.DDL | exp.DML | exp.Into | exp.Placeholder | exp.SessionParameter):
        raise not_supported("a query over the catalog only reads")
    if isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier | exp.Func | exp.Dot):
        raise not_supported("this cannot be read from")
    if not isinstance(node, exp.Func) or isinstance(node, exp.Connector):
        return node
    name = _name(node)
    if isinstance(node, exp.Explode):
        return exp.Anonymous(this="unnest", expressions=[node.this])
    if name in RENAMED:
        return exp.Anonymous(this=RENAMED[name], expressions=_arguments(node))
    if name in MACRO_NAMES:
        return exp.Dot(this=exp.to_identifier("here"), expression=exp.Anonymous(this=name, expressions=_arguments(node)))
    if name not in SAFE:
        raise WireError("42883", f"there is no function {name} in queries over the catalog")
    return node


def _arguments(node: exp.Func) -> list[Any]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    return [value for value in node.args.values() if isinstance(value, exp.Expr)]


def _name(node: exp.Func) -> str:
    return str(node.this).lower() if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc) else node.sql_name().lower()


def _type_name(type_: exp.DataType) -> str:
    kind = type_.args.get("kind")
    text = str(kind if kind is not None else type_.this.value if hasattr(type_.this, "value") else type_.this)
    return text.lower().replace('"', "").removeprefix("pg_catalog.")
