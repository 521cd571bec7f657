"""Forgetting: which changes of an output a bounded history has no room for.

The kept changes of a view begin after an answer that is on record, so that a reader who comes later can begin with it. So a
little more may be kept than was asked for: up to the next answer.
"""

from __future__ import annotations

from dataclasses import replace

from sash.runtime.history_limit import History
from sash.schema import FOREVER
from sash.spark.manifest import Kept, Part

SHARE = 8  # answers on record are at least one so-manieth of the history apart


def after_answer(kept: Kept, answer: Part, history: History) -> Kept:
    """One more answer. With full history the newest is enough; else some are kept that the history may begin with."""
    answers = () if history.is_all else kept.answers
    if answers and answers[-1].last > kept.since:
        before = answers[-2].last if len(answers) > 1 else kept.since
        answers = answers if _is_apart(kept, before, answers[-1].last, history) else answers[:-1]
    return replace(kept, answers=(*answers, answer), changed=0)


def forgotten(kept: Kept, history: History, *, is_view: bool) -> Kept:
    """Without the changes that are too old. Late and dead rows have no answer that they begin with."""
    places = [part.last for part in (kept.answers if is_view else kept.parts) if part.last > kept.since]
    since = _since(kept, history, sorted(set(places)))
    if since == kept.since:
        return kept
    parts = tuple(part for part in kept.parts if part.last > since)
    return replace(kept, since=since, parts=parts, answers=tuple(answer for answer in kept.answers if answer.last >= since))


def _since(kept: Kept, history: History, places: list[int]) -> int:
    """After which of these places the history is to begin, or where it begins now."""
    if history.bytes is not None and _bytes(kept, kept.since, FOREVER) > history.bytes:
        fitting = [place for place in places if _bytes(kept, place, FOREVER) <= history.bytes]
        return min(fitting) if fitting else max((kept.since, *places))
    if history.microseconds is not None and kept.greatest is not None:
        limit = kept.greatest - history.microseconds
        young = [part.last for part in kept.parts if part.greatest is None or part.greatest > limit]
        return max((kept.since, *(place for place in places if place < min(young, default=FOREVER))))
    return kept.since


def _is_apart(kept: Kept, after: int, last: int, history: History) -> bool:
    """Whether a history may begin at the second place, when it can begin at the first."""
    if history.bytes is not None:
        return _bytes(kept, after, last) * SHARE >= history.bytes
    parts = kept.between(after, last)
    instants = [instant for part in parts for instant in (part.least, part.greatest) if instant is not None]
    return bool(instants) and (max(instants) - min(instants)) * SHARE >= (history.microseconds or 0)


def _bytes(kept: Kept, after: int, last: int) -> int:
    return sum(part.size for part in kept.between(after, last))
