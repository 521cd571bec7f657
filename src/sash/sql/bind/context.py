"""What a query can see around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sash.plan.nodes import Plan
from sash.sql.catalog import Catalog
from sash.sql.syntax.dialect import default_window
from sash.sql.syntax.window_clause import WindowClause

if TYPE_CHECKING:
    from sash.sql.bind.scope import Scope


@dataclass(frozen=True)
class Context:
    """The catalog, the text, the queries that WITH has named, and the window of streams that have none of their own.

    `outer` is what a subquery of an expression sees of the query around it.
    """

    catalog: Catalog
    text: str
    named: Mapping[str, Plan] = field(default_factory=dict)
    window: WindowClause | None = None
    outer: Scope | None = None

    def naming(self, name: str, plan: Plan) -> Context:
        return replace(self, named={**self.named, name.lower(): plan})

    def inside(self, query: exp.Query) -> Context:
        """The context of the parts of a query: its WINDOW clause holds for all of them."""
        return replace(self, window=default_window(query) or self.window)
