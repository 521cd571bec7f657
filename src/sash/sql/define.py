"""Statements that change a catalog: CREATE and DROP."""

from __future__ import annotations

from dataclasses import replace

from sash.errors import choices
from sash.file_names import check_name
from sash.plan.times import with_own_time
from sash.scalar.build import function_names
from sash.sql.bind import bind
from sash.sql.bind.aggregate_functions import is_aggregate
from sash.sql.bind.macro_body import check_macro
from sash.sql.catalog import Catalog, IndexDefinition, Macro, SinkDefinition, ViewDefinition, kind_of
from sash.sql.indexes import check_indexes_fit, create_index, forget_windows
from sash.sql.macros import expand_macros
from sash.sql.references import references
from sash.sql.syntax.statements import CreateAggregate, CreateIndex, CreateSink, CreateStream, CreateView, Drop
from sash.sql.syntax.text_positions import at, fault, within
from sash.sql.table_changes import table_changes

Definition = CreateStream | CreateView | CreateAggregate | CreateSink | CreateIndex | Drop


def define(statement: Definition, catalog: Catalog) -> bool:
    """Carry a statement out; False if IF [NOT] EXISTS made it do nothing."""
    with within(statement.source.text), at(statement.name):
        if isinstance(statement, Drop):
            return _drop(statement, catalog)
        if isinstance(statement, CreateSink):
            return _create_sink(statement, catalog)
        if isinstance(statement, CreateIndex):
            return create_index(statement, catalog)
        if isinstance(statement, CreateAggregate):
            return _create_macro(statement, catalog)
        if statement.if_not_exists and catalog.find(statement.name.text) is not None:
            return False
        if isinstance(statement, CreateStream):
            if statement.spec.changes_from is not None:
                table_changes(statement.spec, catalog)
            catalog.add(statement.spec)
        else:
            _create_view(statement, catalog)
        return True


def _create_view(statement: CreateView, catalog: Catalog) -> None:
    view = view_of(statement, catalog)
    if statement.or_replace:
        check_indexes_fit(view, catalog)
        catalog.replace(view)
    else:
        catalog.add(view)


def view_of(statement: CreateView, catalog: Catalog) -> ViewDefinition:
    """What a statement defines, whatever the catalog has under its name."""
    bound = bind(statement.query, catalog, statement.columns)
    plan = with_own_time(bound) if statement.is_materialized else bound  # any other is text: it has its readers' time
    query = statement.query
    reads = frozenset(table.name.lower() for table in references(query.tree))
    return ViewDefinition(statement.name.text, plan, query.source.sql, statement.is_materialized, reads, _history(statement))


def _history(statement: CreateView) -> str | None:
    """The only option that a view has."""
    for key, _ in statement.options:
        if key != "history":
            raise fault(statement.name, f'a view has no option "{key}"', "options are: history")
        if not statement.is_materialized:
            raise fault(statement.name, "a view that is not kept has no history", "create it with CREATE MATERIALIZED VIEW")
    return dict(statement.options).get("history")


def _create_macro(statement: CreateAggregate, catalog: Catalog) -> bool:
    """The body is bound once over its parameters, so that what is wrong in it is told here."""
    name, macro = statement.name, statement.macro
    if statement.if_not_exists and name.text.lower() in catalog.macros:
        return False
    if name.text.lower() in catalog.macros and not statement.or_replace:
        raise fault(name, f'there is an aggregate "{name}" already', "drop it first or choose another name")
    if is_aggregate(name.text.lower()) or name.text.lower() in function_names():
        raise fault(name, f'"{name}" is a function of SQL', "choose another name")
    body = expand_macros(macro.body, catalog)
    check_macro(replace(macro, body=body))
    catalog.macros[name.text.lower()] = replace(macro, body=body)
    return True


def _drop(statement: Drop, catalog: Catalog) -> bool:
    if statement.kind == "AGGREGATE":
        return _drop_from(catalog.macros, statement)
    if statement.kind == "SINK":
        return _drop_from(catalog.sinks, statement)
    if statement.kind == "INDEX":
        is_dropped = _drop_from(catalog.indexes, statement)
        forget_windows(catalog)
        return is_dropped
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


def _create_sink(statement: CreateSink, catalog: Catalog) -> bool:
    name, view = statement.name, statement.view
    if name.text.lower() in catalog.sinks:
        if statement.if_not_exists:
            return False
        taken = catalog.sinks[name.text.lower()].name
        raise fault(name, f'there is a sink "{taken}" already', "drop it first or choose another name")
    found = catalog.views.get(view.text.lower())
    if found is None:
        raise fault(view, f'unknown view "{view}"', f"views are: {choices(one.name for one in catalog.views.values())}")
    if not found.is_materialized:
        raise fault(view, f'view "{found.name}" is not kept, so it has no changes', "create it with CREATE MATERIALIZED VIEW")
    check_name(name.text)
    catalog.sinks[name.text.lower()] = SinkDefinition(name.text, found.name, statement.kind, statement.options)
    return True


def _drop_from(entries: dict[str, Macro] | dict[str, SinkDefinition] | dict[str, IndexDefinition], statement: Drop) -> bool:
    """Aggregates, sinks and indexes, on which nothing depends: views that use an aggregate have taken its expression in."""
    found = entries.pop(statement.name.text.lower(), None)
    if found is None and not statement.if_exists:
        kind, known = statement.kind.lower(), choices(one.name for one in entries.values())
        every = "indexes" if kind == "index" else f"{kind}s"
        raise fault(statement.name, f'there is no {kind} "{statement.name}"', f"{every} are: {known}")
    return found is not None
