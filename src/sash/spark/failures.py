"""Failures: one clear sentence out of the many lines in which Spark wraps an error of a task."""

from __future__ import annotations

import re

from sash.errors import SashError

# The last line of a Python traceback names the class; the message goes on until Java's part begins.
_END = r"\n\s*at |\n\n|\nDriver stacktrace|\nJVM stacktrace| SQLSTATE|\Z"
_OURS = re.compile(rf"^sash\.errors\.\w+: (.*?)(?={_END})", re.S | re.M)
_PYTHONS = re.compile(r"^(?!(?:py4j|pyspark|org|java|scala)\.)([A-Za-z_][\w.]*(?:Error|Exception): .*?)(?: SQLSTATE.*)?$", re.M)
_SPARKS = re.compile(r"^Caused by: [\w.$]+: (.*?)(?: SQLSTATE.*)?$", re.M)
_CODES = re.compile(r"\[(?!STREAM_FAILED|FOREACH_BATCH)[A-Z_.0-9]+\] .*?(?= SQLSTATE|$)", re.M)


def explain(failure: BaseException) -> BaseException:
    """The error that a task raised: ours as it was, another's by its own words."""
    if isinstance(failure, SashError):
        return failure
    text = str(failure)
    ours = _OURS.search(text)
    if ours:
        return SashError(ours.group(1).strip())
    told = SashError(f"the query failed: {reason(text)}")
    told.__cause__ = failure
    return told


def reason(text: str) -> str:
    """The line that says why: the error of Python code, else the first thing that Spark calls a cause."""
    lines = [*_PYTHONS.findall(text)[-1:], *_CODES.findall(text), *_SPARKS.findall(text), *text.splitlines()]
    return next((line.strip() for line in lines if line.strip()), "it says nothing")
