"""Read a split of a file, whatever its format."""

from __future__ import annotations

from sash.plan.streams import StreamSpec
from sash.sources.csv import read_csv
from sash.sources.json import read_json
from sash.sources.lines import BYTE_ORDER_MARK, open_text
from sash.sources.options import options_of
from sash.sources.parquet import read_parquet
from sash.sources.result import ReadResult, TextResult, dead_batch
from sash.sources.splits import Split


def read(spec: StreamSpec, split: Split) -> ReadResult:
    """The rows of a split in source order, and its dead letters."""
    result = _read(spec, split)
    return ReadResult(result.batch, dead_batch(result.letters, split.path, split.row))


def _read(spec: StreamSpec, split: Split) -> TextResult:
    if split.format == "parquet":
        return read_parquet(spec, split.path, split.modified, split.start, split.stop)
    with open_text(options_of(spec), split.path, split.modified) as read_text:
        text = read_text(split.start, split.stop - split.start)
    if split.start == 0:
        text = text.removeprefix(BYTE_ORDER_MARK)
    if split.format == "csv":
        return read_csv(spec, split.header, text)
    if split.format == "json":
        return read_json(spec, text)
    raise AssertionError(f"no reader knows the format {split.format}")
