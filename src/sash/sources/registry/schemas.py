"""The schema of a message, by the number in its frame."""

from __future__ import annotations

from sash.errors import SashError
from sash.plan.streams import StreamSpec
from sash.sources.message_encoding import Unusable
from sash.sources.registry.client import Registered, UnknownSchema, fetch
from sash.sources.registry.place import is_lenient, place_of


def registered(spec: StreamSpec, number: int, form: str = "") -> Registered:
    """As the registry of a stream has it. A registry that does not know it has perhaps lost it, or is another one: that is an
    error, as the message may be a good one, unless the user has said that it is none."""
    place = place_of(spec)
    assert place is not None
    try:
        return fetch(place, number, form)
    except UnknownSchema as why:
        if is_lenient(spec):
            raise Unusable(str(why)) from None
        raise SashError(
            f'stream "{spec.name}": {why}, and a message says that it is written in it',
            "see the registry; to go on without such messages, add unknown_schema = 'dead_letter'",
        ) from None
