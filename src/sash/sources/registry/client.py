"""Asking a schema registry, of which every schema is fetched once in a process: what a number stands for never changes.

    GET /schemas/ids/7                  {"schema": "…", "schemaType": "AVRO", "references": [{"name", "subject", "version"}]}
    GET /subjects/money/versions/1      the same, of a schema that another one refers to

A registry that cannot be reached, or has no answer for now, is asked again for a while; then that is an error, and the batch of
the messages is as if it had not begun. Nothing is followed elsewhere: a redirection is an error, too.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from sash.errors import SashError
from sash.sources.registry.place import AUTH, Place

TIMEOUT = 10.0  # seconds for one answer
PATIENCE = 20.0  # seconds in which a registry that cannot be reached is asked again
LAG = 1.0  # seconds in which one that does not know a schema is: it may have followers that are a little behind
PAUSES = (0.1, 2.0)  # seconds between two questions: the first, and the longest
LARGEST = 4 << 20  # bytes of an answer
KEPT = 1000  # schemas
MOST_REFERENCES = 200  # of a schema, with all that they refer to
PASSING = (408, 425, 429, 500, 502, 503, 504)  # answers of a registry that may have another one soon


class UnknownSchema(Exception):
    """The registry is there, and does not know the schema of a message."""


@dataclass(frozen=True)
class Registered:
    """A schema as it is registered, after all those that it refers to, directly or not, each with the name it is called by."""

    kind: str  # AVRO, PROTOBUF or JSON
    text: str
    references: tuple[tuple[str, str], ...] = ()


class _Nothing(Exception):
    """404."""


_known: OrderedDict[tuple[Place, str], Any] = OrderedDict()  # answers, the least used first
_asking = threading.Lock()


def fetch(place: Place, number: int, form: str = "") -> Registered:
    """The schema of a number; `form` is how the registry is to write it, if not as it is used to."""
    key = (place, f"{number} {form}")
    with _asking:
        if key not in _known:
            _known[key] = _fetch(place, number, form)
            while len(_known) > KEPT:
                _known.popitem(last=False)
        _known.move_to_end(key)
        found: Registered = _known[key]
        return found


def forget() -> None:
    """All that was fetched."""
    with _asking:
        _known.clear()


def _fetch(place: Place, number: int, form: str) -> Registered:
    asked = f"?format={form}" if form else ""
    try:
        answer = _answer(place, f"/schemas/ids/{number}{asked}")
    except _Nothing:
        raise UnknownSchema(f"the registry {place.url} does not know schema {number}") from None
    found: dict[str, str] = {}
    try:
        _follow(place, answer, asked, found, set())
    except _Nothing:
        raise UnknownSchema(f"the registry {place.url} does not know all that schema {number} refers to") from None
    return Registered(_kind(answer), _text(place, answer), tuple(found.items()))


def _follow(place: Place, answer: dict[str, Any], asked: str, found: dict[str, str], above: set[str]) -> None:
    """Fetch what a schema refers to, those below first."""
    references = answer.get("references") or []
    for one in references if isinstance(references, list) else []:
        told = one if isinstance(one, dict) else {}
        name, subject, version = (told.get(key) for key in ("name", "subject", "version"))
        if not isinstance(name, str) or not isinstance(subject, str) or not isinstance(version, int):
            raise _odd(place, "a reference of a schema has no name, subject or version")
        if name in found:
            continue
        if name in above or len(above) + len(found) >= MOST_REFERENCES:
            raise _odd(place, f'a schema refers to more than {MOST_REFERENCES} others, or "{name}" to itself')
        below = _answer(place, f"/subjects/{quote(subject, safe='')}/versions/{version}{asked}")
        _follow(place, below, asked, found, above | {name})
        found[name] = _text(place, below)


def _kind(answer: dict[str, Any]) -> str:
    return str(answer.get("schemaType") or "AVRO")


def _text(place: Place, answer: dict[str, Any]) -> str:
    text = answer.get("schema")
    if not isinstance(text, str):
        raise _odd(place, "an answer has no schema in it")
    return text


def _odd(place: Place, why: str) -> SashError:
    return SashError(f"the registry {place.url} answers what cannot be understood: {why}", "see that it is a schema registry")


def _answer(place: Place, path: str) -> dict[str, Any]:
    """What the registry says, asked again while it cannot."""
    begin, pause = time.monotonic(), PAUSES[0]
    while True:
        try:
            return _asked_once(place, path)
        except _Nothing:
            if time.monotonic() - begin > LAG:
                raise
        except (OSError, http.client.HTTPException) as error:
            if time.monotonic() - begin > PATIENCE:
                raise SashError(
                    f"the registry {place.url} cannot be reached: {_why(error)}",
                    "see that it runs and can be reached from here, and begin again: no message is lost",
                ) from None
        time.sleep(pause)
        pause = min(2 * pause, PAUSES[1])


def _why(error: Exception) -> str:
    return str(getattr(error, "reason", "") or error or type(error).__name__)


def _asked_once(place: Place, path: str) -> dict[str, Any]:
    headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json", **place.headers()}
    try:
        with _opener().open(urllib.request.Request(place.url + path, headers=headers), timeout=TIMEOUT) as response:
            return _understood(place, _bounded(place, response))
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 404 and "error_code" in _understood(place, _bounded(place, error)):
                raise _Nothing from None
            if error.code in PASSING:
                raise OSError(f"it answers {error.code} {error.reason}") from None
            if error.code in (401, 403):
                raise SashError(
                    f"the registry {place.url} lets nobody in as {place.auth_env or 'somebody without a name'}: {error.code}",
                    f"say {AUTH} = 'NAME', an environment variable that holds user:password",
                ) from None
            raise SashError(f"the registry {place.url} answers {error.code} {error.reason}", "see its address") from None


def _opener() -> urllib.request.OpenerDirector:
    """Of http and https alone; a redirection is an error, as every other answer than the one that was asked for."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(), urllib.request.HTTPHandler(), urllib.request.HTTPSHandler(),
        urllib.request.HTTPErrorProcessor(), urllib.request.HTTPDefaultErrorHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _bounded(place: Place, response: Any) -> bytes:
    """The whole answer, which may neither be too large nor come drop by drop for ever."""
    deadline, parts, size = time.monotonic() + TIMEOUT, [], 0
    while part := response.read1(1 << 16):
        parts.append(part)
        size += len(part)
        if size > LARGEST:
            raise _odd(place, f"it is larger than {LARGEST:,} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError(f"its answer takes longer than {TIMEOUT:g} seconds")
    return b"".join(parts)


def _understood(place: Place, body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise _odd(place, "it is not JSON") from None
    if not isinstance(found, dict):
        raise _odd(place, "it is no JSON object")
    return found
