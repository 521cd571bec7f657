"""The options of `sash.connect`, each said once.

    what both hosts take      Options
    in this process           EmbeddedOptions
    on Spark                  SparkOptions

This file imports nothing that takes long: `import sash` is quick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar, cast, get_args

from sash.errors import SashError, choices, nearest

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql.streaming.listener import StreamingQueryProgress

    from sash.database.instants import Instant
    from sash.runtime.history_limit import Asked
    from sash.runtime.progress import Progress

ExpiryName: TypeAlias = Literal["auto", "direct", "negative", "time-message", "piggyback", "input-triggered"]
IndexesName: TypeAlias = Literal["auto", "asked"]


class Options(TypedDict, total=False):
    """What both hosts take."""

    base: Path | str | None  # where relative paths of sources start; the current folder
    indexes: IndexesName  # whether views have indexes that nobody asked for, where questions look at much; auto
    expiry: ExpiryName  # how rows leave; no answer depends on it
    schedule: str  # in which order operators run: auto, dfs, bfs, rr, memory, batch:K; no answer depends on it
    join_schedule: str  # whose turn it is in joins of several windows: auto, lwo, swf, mqt; no answer depends on it
    backfill: bool  # whether streams remember rows, so that later views begin with them; True
    history: Asked | None  # how many of the changes of a view are kept: "all", "none", "10 MINUTES", "64 MB"
    until: Instant | None  # nothing after this instant is shown by run()
    flush: bool  # whether the end of the files is the end of the input; False leaves it open for more; True
    batch_rows: int | None  # at most so many rows of every stream in a batch
    on_progress: Callable[[Progress], None] | None  # is told of every batch


class EmbeddedOptions(Options, total=False):
    """What an engine in this process takes."""

    clock: Callable[[], int]  # stamps arrivals, in microseconds since 1970; the clock on the wall


class SparkOptions(Options, total=False):
    """What an engine on Spark takes."""

    checkpoint: Path | str | None  # how far the job is: give it again to go on; a temporary folder
    output: Path | str | None  # where changes and answers are written as Parquet files; in the checkpoint
    shards: int | None  # parts of the key space; as many as cores
    on_metrics: Callable[[StreamingQueryProgress, dict[str, Any]], None] | None  # is told Spark's progress and the metrics
    temp_views: bool  # whether spark.sql sees the views, as temporary views of the session; True
    observe: bool  # whether metrics are also in Spark's own progress; False


Given = TypeVar("Given", EmbeddedOptions, SparkOptions)


def checked(given: Mapping[str, object], kind: type[Given]) -> Given:
    """Options as they were given; one that there is not is an error with the way out."""
    known = names(kind)
    for name in given.keys() - set(known):
        if name in names(SparkOptions):
            raise SashError(f'"{name}" is an option on Spark', f"give a session too: connect(spark, {name}=…)")
        if name in names(EmbeddedOptions):
            raise SashError(f'"{name}" is an option of an engine in this process', f"leave the session away: connect({name}=…)")
        near = nearest(name, known)
        raise SashError(f'unknown option "{name}"', f"{f'did you mean {near}? ' if near else ''}options are: {choices(known)}")
    return cast(Given, dict(given))


def names(kind: type[Given]) -> list[str]:
    return sorted(kind.__annotations__)


def check_expiry(expiry: str) -> None:
    if expiry not in get_args(ExpiryName):
        raise SashError(f'unknown expiry "{expiry}"', f"choices are: {choices(get_args(ExpiryName))}")


def check_indexes(indexes: str) -> None:
    if indexes not in get_args(IndexesName):
        raise SashError(f'unknown indexes "{indexes}"', f"choices are: {choices(get_args(IndexesName))}")


def check_count(name: str, count: int | None) -> None:
    """Of something that there must be at least one of."""
    if count is not None and (not isinstance(count, int) or count < 1):
        raise SashError(f"{name}={count!r} makes no sense", "give a whole number from 1 on, or None")
