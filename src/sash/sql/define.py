"""Statements that change a catalog: CREATE and DROP."""

from __future__ import annotations

from sash.errors import choices
from sash.sql.binder import bind
from sash.sql.catalog import Catalog, ViewDefinition, kind_of
from sash.sql.places import at, fault, within
from sash.sql.references import references
from sash.sql.statements import CreateStream, CreateView, Drop

Definition = CreateStream | CreateView | Drop


def define(statement: Definition, catalog: Catalog) -> bool:
    """Carry a statement out; False if IF [NOT] EXISTS made it do nothing."""
    with within(statement.source.text), at(statement.name):
        if isinstance(statement, Drop):
            return _drop(statement, catalog)
        if statement.if_not_exists and catalog.find(statement.name.text) is not None:
            return False
        if isinstance(statement, CreateStream):
            catalog.add(statement.spec)
        else:
            _create_view(statement, catalog)
        return True


def _create_view(statement: CreateView, catalog: Catalog) -> None:
    plan = bind(statement.query, catalog, statement.columns)
    query = statement.query
    reads = frozenset(table.name.lower() for table in references(query.tree))
    view = ViewDefinition(statement.name.text, plan, query.source.sql, statement.is_materialized, reads)
    if statement.or_replace:
        catalog.replace(view)
    else:
        catalog.add(view)


def _drop(statement: Drop, catalog: Catalog) -> bool:
    entry = catalog.find(statement.name.text)
    if entry is None and statement.if_exists:
        return False
    kind = statement.kind.lower()
    if entry is None or kind_of(entry) != kind:
        known = [other for other in catalog.names() if (found := catalog.find(other)) and kind_of(found) == kind]
        other = f"; it is a {kind_of(entry)}" if entry else ""
        raise fault(statement.name, f'there is no {kind} "{statement.name}"{other}', f"{kind}s are: {choices(known)}")
    catalog.remove(statement.name.text)
    return True
