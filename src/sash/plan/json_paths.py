"""Paths into JSON objects, as CREATE STREAM says them: `$.a.b`, and `$['a b']` for keys that are no plain words."""

from __future__ import annotations

import re
from functools import lru_cache

from sash.errors import SashError

_STEP = re.compile(r"""\.([^\s.\[\]'"$*]+)|\['([^']+)'\]|\["([^"]+)"\]""")
_ELEMENT = re.compile(r"\[(\d+|\*)\]")


@lru_cache(maxsize=1024)
def parse_path(path: str) -> tuple[str, ...]:
    """The keys that lead to a value, at least one."""
    steps: list[str] = []
    place = 1
    while path.startswith("$") and (found := _STEP.match(path, place)):
        steps.append(next(filter(None, found.groups())))
        place = found.end()
    if steps and place == len(path):
        return tuple(steps)
    if _ELEMENT.match(path, place):
        raise SashError(
            f'the path "{path}" goes into an array', "declare the array as a column, and take its elements in the query"
        )
    raise SashError(f'"{path}" is no path into a JSON object', 'write \'$.a.b\', or \'$["a b"]\' for a key that is no plain word')
