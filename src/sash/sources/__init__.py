"""Files and pushed rows as positioned sequences of Arrow batches, alike for both hosts."""

from sash.sources.convert import convert
from sash.sources.listing import SourceFile, list_files
from sash.sources.read import read
from sash.sources.result import DEAD_SCHEMA, ReadResult
from sash.sources.splits import START, Place, Split, plan

__all__ = [
    "DEAD_SCHEMA", "START", "Place", "ReadResult", "SourceFile", "Split", "convert", "list_files", "plan", "read",
]  # fmt: skip
