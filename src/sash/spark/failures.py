"""Failures: one clear sentence out of the many lines in which Spark wraps an error of a task."""

from __future__ import annotations

import re

from sash.errors import SashError

# The last line of a Python traceback names the class; the message goes on until Java's part begins.
_END = r"\n\s*at |\n\n|\nDriver stacktrace|\nJVM stacktrace| SQLSTATE|\Z"
_OURS = re.compile(rf"^sash\.errors\.\w+: (.*?)(?={_END})", re.S | re.M)


def explain(failure: BaseException) -> BaseException:
    """The error that a task raised: ours as it was, another's by its own words."""
    if isinstance(failure, SashError):
        return failure
    text = str(failure)
    ours = _OURS.search(text)
    if ours:
        return SashError(ours.group(1).strip())
    return failure

