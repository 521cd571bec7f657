"""A schema of Avro, as it is written into messages: looked at before it is used, so that no message can do harm.

It comes from a registry, or from the user. It may not be too large or too deep; a type within itself is read by slower code,
which knows how deep it is; and an array may not have elements that take no bytes, as ten bytes would be a billion of them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from sash.errors import SashError, needing
from sash.sources.message_encoding import Unusable

LARGEST, DEEPEST = 20_000, 100  # objects and lists in a schema, and how many within each other
PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
WRAPPER = "sash__value"
RECORDS, ARRAYS = ("record", "error"), ("array", "map")
KNOWN = (*PRIMITIVES, *RECORDS, *ARRAYS, "enum", "fixed")  # all else is a name

Node = Any  # of a schema: JSON, in which names are written in full
Reader = Callable[[io.BytesIO], Any]


@dataclass(frozen=True)
class Place:
    """Where a path leads in a schema: to a type, if it is known for all messages; and whether there is something at all."""

    node: Node | None
    is_there: bool = True


class AvroSchema:
    """A schema that messages are written in. Where it is `plain`, values of logical types come as the numbers that they are."""

    def __init__(self, root: Node, named: Mapping[str, Node], reader: Reader, *, is_plain: bool) -> None:
        self._root, self._named, self._reader = root, dict(named), reader
        self.is_plain = is_plain

    def read(self, message: bytes) -> Any:
        """The record that a message is; an error says why it is none."""
        place = io.BytesIO(message)
        try:
            found = self._reader(place)
        except EOFError:
            raise Unusable("the message is not Avro of its schema: it ends too early") from None
        except IndexError:
            raise Unusable("the message is not Avro of its schema: it chooses what its schema does not have") from None
        except RecursionError:
            raise Unusable("the message is not Avro of its schema: it is nested too deeply") from None
        except Exception as error:  # fastavro raises whatever its code meets
            raise Unusable(f"the message is not Avro of its schema: {str(error) or type(error).__name__}") from None
        if (left := len(message) - place.tell()) > 0:
            raise Unusable(f"the message is not Avro of its schema: {left} bytes are left over")
        return found

    def at(self, keys: Sequence[str]) -> Place:
        """Where keys lead to, one after the other."""
        node: Node = self._root
        for key in keys:
            node = self.essence(node)
            if node is None:
                return Place(None)
            if node["type"] in RECORDS:
                found = [field["type"] for field in node["fields"] if field["name"] == key]
                if not found:
                    return Place(None, is_there=False)
                node = found[0]
            elif node["type"] == "map":
                node = node["values"]
            else:
                return Place(None)
        return Place(self.essence(node))

    def essence(self, node: Node) -> Node | None:
        """A type as an object: what a union has besides null, what a name stands for; None where messages differ in it."""
        if isinstance(node, list):
            others = _values(node)
            return self.essence(others[0]) if len(others) == 1 else ({"type": "null"} if not others else None)
        if isinstance(node, str):
            return self._named.get(node, {"type": node})
        return node if node["type"] in KNOWN else self.essence(node["type"])

    @cached_property
    def fields(self) -> tuple[str, ...]:
        root = self.essence(self._root)
        return tuple(field["name"] for field in root["fields"]) if root is not None and root["type"] in RECORDS else ()


@lru_cache(maxsize=256)
def parsed(text: str, references: tuple[tuple[str, str], ...] = ()) -> AvroSchema:
    """The schema that a text is; schemas that it refers to by name come before it."""
    with needing("the encoding avro", "fastavro", "avro"):
        import fastavro  # noqa: F401
    trees = [_json(one) for one in (*(below for _, below in references), text)]
    named: dict[str, Node] = {}
    root = _resolved(trees, named)
    extent = _Extents(named).of(root)
    if extent.depth > DEEPEST or extent.size > LARGEST:
        raise Unusable("the schema is too large, or nested too deeply")
    is_plain = not any(isinstance(node, list) and len(_values(node)) > 1 for node in _nodes([root, *named.values()]))
    return AvroSchema(root, named, _reader([_plain(tree) for tree in trees] if is_plain else trees, extent), is_plain=is_plain)


def given(stream: str, text: str) -> AvroSchema:
    """The schema that a stream is declared with."""
    try:
        found = parsed(text)
    except Unusable as why:
        raise SashError(f'stream "{stream}": {why}', "see the option schema, or schema_file") from None
    if not found.fields:
        raise SashError(f'stream "{stream}": its schema is no record with fields', "see the option schema, or schema_file")
    return found


def _json(text: str) -> Node:
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unusable(f"the schema is not JSON: {error}") from None
    waiting, count = [(tree, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if count > LARGEST or depth > DEEPEST:
            raise Unusable("the schema is too large, or nested too deeply")
        below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        waiting += [(one, depth + 1) for one in below]
    return tree


def _plain(tree: Node) -> Node:
    """A schema whose values are the numbers and bytes that they are written as, and not dates or decimals."""
    if isinstance(tree, dict):
        return {key: _plain(below) for key, below in tree.items() if key != "logicalType"}
    return [_plain(below) for below in tree] if isinstance(tree, list) else tree


def _resolved(trees: Sequence[Node], named: dict[str, Node]) -> Node:
    """The last of some schemas with names written in full; what the names stand for goes into `named`."""
    from fastavro import parse_schema
    from fastavro.schema import UnknownType

    try:
        root = [parse_schema(tree, named) for tree in trees][-1]
        for node in _nodes([root, *named.values()]):
            _check(node)
    except Unusable:
        raise
    except UnknownType as error:
        raise Unusable(f'the schema is no schema of Avro: nothing is called "{error.name}"') from None
    except Exception as error:  # fastavro raises whatever its code meets
        raise Unusable(f"the schema is no schema of Avro: {str(error) or type(error).__name__}") from None
    return root


def _check(node: Node) -> None:
    """What fastavro does not look at."""
    if isinstance(node, dict) and node["type"] == "fixed" and not (type(node["size"]) is int and node["size"] >= 0):
        raise Unusable("the schema is no schema of Avro: a fixed has no size")


def _nodes(roots: Sequence[Node]) -> Iterator[Node]:
    """All types in schemas, also those that names stand for."""
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += _below(node)


def _below(node: Node) -> list[Node]:
    if isinstance(node, list):
        return node
    if not isinstance(node, dict):
        return []
    kind = node["type"]
    if kind in RECORDS:
        return [field["type"] for field in node["fields"]]
    if kind in ARRAYS:
        return [node["items" if kind == "array" else "values"]]
    return [] if kind in KNOWN else [kind]


def _values(union: list[Node]) -> list[Node]:
    """What a union has besides null."""
    return [branch for branch in union if branch != "null" and not (isinstance(branch, dict) and branch["type"] == "null")]


@dataclass(frozen=True)
class _Extent:
    """How far a type goes: types within each other, types in all, and whether it is within itself."""

    depth: int
    size: int
    is_recursive: bool = False


class _Extents:
    """Of types, of which those with a name are looked at once."""

    def __init__(self, named: Mapping[str, Node]) -> None:
        self._named = named
        self._known: dict[str, _Extent] = {}
        self._above: set[str] = set()
        self._taking = _names_that_take_bytes(named)

    def of(self, node: Node) -> _Extent:
        name = str(node if isinstance(node, str) else node.get("name") if isinstance(node, dict) else "")
        if name not in self._named:
            return self._of(node)
        if name in self._above:
            return _Extent(0, 1, is_recursive=True)
        if name not in self._known:
            self._above.add(name)
            self._known[name] = self._of(self._named[name])
            self._above.remove(name)
        return self._known[name]

    def _of(self, node: Node) -> _Extent:
        if len(self._above) > DEEPEST:
            raise Unusable("the schema is nested too deeply")
        below = [self.of(one) for one in _below(node)]
        if isinstance(node, dict) and node["type"] == "array" and not _takes_bytes(node["items"], self._taking):
            raise Unusable("the schema has an array whose elements take no bytes, so that it may have any number of them")
        return _Extent(
            1 + max((one.depth for one in below), default=0), 1 + sum(one.size for one in below),
            any(one.is_recursive for one in below),
        )


def _names_that_take_bytes(named: Mapping[str, Node]) -> set[str]:
    """Of the types with a name those of which every value is a byte at least. A type within itself takes what is around it."""
    found: set[str] = set()
    while more := {name for name, node in named.items() if name not in found and _takes_bytes(node, found)}:
        found |= more
    return found


def _takes_bytes(node: Node, taking: set[str]) -> bool:
    """Whether every value of a type is a byte at least; `taking` are names of which that is known."""
    kind = "union" if isinstance(node, list) else node["type"] if isinstance(node, dict) else node
    if kind in ("union", "enum", *ARRAYS, *PRIMITIVES[1:]):
        return True
    if kind in RECORDS:
        return any(_takes_bytes(field["type"], taking) for field in node["fields"])
    if kind == "fixed":
        return bool(node["size"] > 0)
    return kind in taking if isinstance(kind, str) else kind is not None and _takes_bytes(kind, taking)


def _reader(trees: Sequence[Node], extent: _Extent) -> Reader:
    """What reads a message. fastavro's compiled code does not see how deep it is, and ends the process when it is too deep."""
    from fastavro import parse_schema, schemaless_reader

    named: dict[str, Any] = {}
    root = [parse_schema(tree, named) for tree in trees][-1]
    is_record = isinstance(root, dict) and root["type"] in RECORDS
    if not is_record:  # fastavro knows what names stand for in a record alone
        root = parse_schema({"type": "record", "name": WRAPPER, "fields": [{"name": WRAPPER, "type": root}]}, named)
    if extent.is_recursive:
        from fastavro._read_py import schemaless_reader as careful_reader
    else:
        careful_reader = schemaless_reader

    def read(message: io.BytesIO) -> Any:
        return careful_reader(message, root, None)

    return read if is_record else lambda message: read(message)[WRAPPER]
