"""Where a schema registry is, as WITH says it: `registry = 'http://host:8081'`, secrets in the environment."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from sash.errors import SashError
from sash.plan.streams import StreamSpec

URL, AUTH, UNKNOWN = "registry", "registry_auth_env", "unknown_schema"
REACHING = (URL, AUTH, UNKNOWN)  # options that say nothing of the input, and may be other ones after a restart
ERROR, DEAD_LETTER = "error", "dead_letter"


@dataclass(frozen=True)
class Place:
    """A registry, and the name of the environment variable that says who asks it."""

    url: str
    auth_env: str | None = None

    def headers(self) -> dict[str, str]:
        """Of a request."""
        if self.auth_env is None:
            return {}
        found = os.environ.get(self.auth_env)
        if found is None:
            raise SashError(
                f'the environment variable "{self.auth_env}" is not set, which is to say who asks {self.url}',
                "let it hold user:password, also where Spark's tasks run",
            )
        return {"Authorization": f"Basic {base64.b64encode(found.encode()).decode()}"}


def place_of(spec: StreamSpec) -> Place | None:
    """The registry that a stream names; None if it names none."""
    url = spec.option(URL)
    if url is None:
        for option in (AUTH, UNKNOWN):
            if spec.option(option) is not None:
                raise SashError(f'stream "{spec.name}" has the option {option}, and no registry', f"add {URL} = 'http://host:8081'")
        return None
    _check_url(spec, url)
    return Place(url.rstrip("/"), spec.option(AUTH))


def is_lenient(spec: StreamSpec) -> bool:
    """Whether a message of a schema that the registry does not know is a dead letter, and not an error."""
    said = spec.option(UNKNOWN) or ERROR
    if said not in (ERROR, DEAD_LETTER):
        raise SashError(f'stream "{spec.name}": {UNKNOWN} = "{said}"', f"say '{ERROR}' or '{DEAD_LETTER}'")
    return said == DEAD_LETTER


def reaching(stream: StreamSpec, said: StreamSpec | None) -> StreamSpec:
    """A stream on record, whose registry is reached as is said now; said by nobody: the stream as it is in any case."""
    kept = [(key, value) for key, value in stream.options if key not in REACHING]
    now = () if said is None else said.options
    return replace(stream, options=(*kept, *((key, value) for key, value in now if key in REACHING)))


def _check_url(spec: StreamSpec, url: str) -> None:
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or not url.isascii() or not url.isprintable() or " " in url or parts.query or parts.fragment:
        raise SashError(f'stream "{spec.name}": {URL} = "{url}" is no place of a registry', "write http://host:8081, or https://…")
    if parts.username is not None or parts.password is not None:
        raise SashError(
            f'stream "{spec.name}": the registry has a user in it, and a password would be seen by all who see the SQL',
            f"write {AUTH} = 'NAME', an environment variable that holds user:password",
        )
