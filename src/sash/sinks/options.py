"""What CREATE SINK says, understood: which columns are the key, and what becomes of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from sash.errors import SashError, choices
from sash.plan.keys import key_of
from sash.plan.nodes import Plan
from sash.schema import Schema
from sash.sql.catalog import SinkDefinition

OF_ALL = ("key", "mode", "existing")
OPTIONS = {
    "POSTGRES": ("dsn", "dsn_env", "table", *OF_ALL),
    "MYSQL": ("dsn", "dsn_env", "table", *OF_ALL),
    "KAFKA": ("servers", "topic", "partitions", "format", "kafka.…", *OF_ALL),
    "FILES": ("path", "format", "partition_by", "file_size", "mode", "existing"),
    "DELTA": ("path", "partition_by", *OF_ALL),
}
# Whose rows are updated by a key; an answer in files is replaced, and is a bag of rows.
KEYED = ("POSTGRES", "MYSQL", "KAFKA", "DELTA")


class Mode(Enum):
    UPSERT = "upsert"  # the table holds the answer of the view
    CHANGES = "changes"  # the table holds all its changes


class Existing(Enum):
    """What becomes of rows that another run has written."""

    REFUSE = "refuse"
    REPLACE = "replace"
    APPEND = "append"


@dataclass(frozen=True)
class SinkSpec:
    """A sink of a view with these columns. In mode upsert no two rows agree on the key; a key of no columns: there is one row."""

    name: str
    view: str
    schema: Schema
    mode: Mode
    key: tuple[int, ...]
    existing: Existing | None
    options: tuple[tuple[str, str], ...]

    @property
    def key_names(self) -> list[str]:
        return [self.schema.names[column] for column in self.key]

    def option(self, name: str) -> str | None:
        return dict(self.options).get(name)


def sink_spec(definition: SinkDefinition, plan: Plan) -> SinkSpec:
    """An error that says what is wrong with a sink, or what it is."""
    said = dict(definition.options)
    for option in said:
        known = OPTIONS[definition.kind]
        if option not in known and not (option.startswith("kafka.") and "kafka.…" in known):
            raise SashError(f'a sink has no option "{option}"', f"options are: {choices(known)}")
    mode = Mode(_chosen("mode", said, [one.value for one in Mode]) or Mode.UPSERT.value)
    found = _chosen("existing", said, [one.value for one in Existing])
    existing = None if found is None else Existing(found)
    if existing is Existing.APPEND and mode is Mode.UPSERT:
        raise SashError("existing = 'append' is for mode = 'changes'", "a table in mode = 'upsert' holds one answer")
    key = _key(definition, said.get("key"), plan) if mode is Mode.UPSERT and definition.kind in KEYED else ()
    if mode is Mode.CHANGES and "key" in said:
        raise SashError("mode = 'changes' has no key", "leave key out: every change is a row of its own")
    return SinkSpec(definition.name, definition.view, plan.schema, mode, key, existing, definition.options)


def _chosen(option: str, said: Mapping[str, str], known: list[str]) -> str | None:
    value = said.get(option)
    if value is not None and value.lower() not in known:
        raise SashError(f"{option} = '{value}' is unknown", f"it is one of: {choices(known)}")
    return None if value is None else value.lower()


def _key(definition: SinkDefinition, said: str | None, plan: Plan) -> tuple[int, ...]:
    if said is not None:
        names = [name.strip().strip("`") for name in said.split(",")]
        return tuple(dict.fromkeys(plan.schema.index(name) for name in names))
    found = key_of(plan)
    if found is None:
        raise SashError(
            f'view "{definition.view}" has no key: nothing in its query says that its rows differ in some columns',
            "name columns in which they do, key = 'a, b', or write the changes as they come, mode = 'changes'",
        )
    return found
