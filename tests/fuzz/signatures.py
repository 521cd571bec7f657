"""Every function of the registry with the types that it takes, found by asking it."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

from sash.errors import SashError
from sash.scalar import build
from sash.scalar.functions import FUNCTIONS
from sash.scalar.nodes import Column
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, array, decimal

TYPES = (BOOLEAN, INT, BIGINT, DOUBLE, decimal(10, 2), decimal(30, 5), STRING, TIMESTAMP, DATE, array(INT), array(STRING))
FEW = (BOOLEAN, INT, DOUBLE, STRING, TIMESTAMP, DATE, array(INT))  # for the third argument and those after it
ELSEWHERE = ("case", "bit_and", "bit_or", "bit_xor")  # names that mean something else where a function is called
Signature = tuple[str, tuple[Type, ...]]


@lru_cache(maxsize=1)
def signatures() -> dict[Type, tuple[Signature, ...]]:
    """By the type of the result."""
    found: dict[Type, list[Signature]] = {}
    for name in sorted(FUNCTIONS.keys() - set(ELSEWHERE)):
        for types in [(), *((one,) for one in TYPES), *product(TYPES, TYPES), *product(FEW, FEW, FEW)]:
            result = _result(name, types)
            if result is not None:
                found.setdefault(result, []).append((name, types))
    return {type_: tuple(many) for type_, many in found.items()}


@lru_cache(maxsize=1)
def of_each() -> dict[Type, dict[str, tuple[Signature, ...]]]:
    """The same by name too: each function is as likely as another, however many types it takes."""
    named: dict[Type, dict[str, list[Signature]]] = {}
    for type_, many in signatures().items():
        for name, types in many:
            named.setdefault(type_, {}).setdefault(name, []).append((name, types))
    return {type_: {name: tuple(each) for name, each in names.items()} for type_, names in named.items()}


def _result(name: str, types: tuple[Type, ...]) -> Type | None:
    try:
        return build.call(name, [Column(place, type_, "c") for place, type_ in enumerate(types)]).type
    except SashError:
        return None
