"""Failures: one clear sentence out of the many lines in which Spark wraps an error of a task."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sash.errors import SashError

# The last line of a Python traceback names the class; the message goes on until Java's part begins.
_END = r"\n\s*at |\n\n|\nDriver stacktrace|\nJVM stacktrace| SQLSTATE|\Z"
_OURS = re.compile(rf"^sash(?:\.\w+)+: (.*?)(?={_END})", re.S | re.M)
_PYTHONS = re.compile(r"^(?!(?:py4j|pyspark|org|java|scala)\.)([A-Za-z_][\w.]*(?:Error|Exception): .*?)(?: SQLSTATE.*)?$", re.M)
_SPARKS = re.compile(r"^Caused by: [\w.$]+: (.*?)(?: SQLSTATE.*)?$", re.M)
_CODES = re.compile(r"\[(?!STREAM_FAILED|FOREACH_BATCH)[A-Z_.0-9]+\] .*?(?= SQLSTATE|$)", re.M)
_LOST = re.compile(
    r"Python worker exited unexpectedly|PYTHON_WORKER_EXITED|Python worker failed to connect back|ExecutorLostFailure"
    r"|EOFException occurred while reading the port number"
    r"|java\.io\.EOFException|java\.io\.IOException: Stream closed|java\.net\.SocketException|Connection reset|Broken pipe"
)
MEMORY = "if the machine ran out of memory, run with fewer shards or smaller windows; Spark's log says more"
TOO_LATE = "Python worker failed to connect back"  # within ten seconds, which no setting changes
CONCURRENT = "CONCURRENT_STREAM_LOG_UPDATE"  # two queries wrote down different things under one number


def explain(failure: BaseException) -> BaseException:
    """The error that a task raised: ours as it was, another's by its own words."""
    if isinstance(failure, SashError):
        return failure
    text = str(failure)
    ours = _OURS.search(text)
    if ours:
        return SashError(ours.group(1).strip())
    if CONCURRENT in text:
        return SashError("another run is using this checkpoint: both have written to Spark's log", "let one run at a time use it")
    if TOO_LATE in text:
        told = SashError(
            "the query failed: a Python process did not start within the ten seconds that Spark waits for it, several times",
            "the machine has too much else to do: try again when it has less, or run fewer things at once",
        )
    elif is_lost(failure):
        told = SashError("the query failed: a Python worker of Spark's died, and so did those after it", MEMORY)
    else:
        told = SashError(f"the query failed: {reason(text)}")
    told.__cause__ = failure
    return told


def reason(text: str) -> str:
    """The line that says why: the error of Python code, else the first thing that Spark calls a cause."""
    lines = [*_PYTHONS.findall(text)[-1:], *_CODES.findall(text), *_SPARKS.findall(text), *text.splitlines()]
    return next((line.strip() for line in lines if line.strip()), "it says nothing")


def is_lost(failure: BaseException) -> bool:
    """Whether an error says that a process died, rather than that something is wrong with the job."""
    text = "\n".join(_words(failure))
    return _LOST.search(text) is not None and _OURS.search(text) is None


def _words(failure: BaseException | None) -> Iterator[str]:
    """All that an error and its causes say; what Java says of a worker that is gone is in the trace alone."""
    while failure is not None:
        yield str(failure)
        yield str(getattr(failure, "_stackTrace", ""))
        failure = getattr(failure, "_cause", None)
