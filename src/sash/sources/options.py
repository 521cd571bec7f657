"""The options of WITH (...) that say how files are read, checked once and turned into plain values.

The defaults are those of Spark: no header, comma, double quotes, `\\"` and `""` for a quote inside quotes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sash.errors import SashError, choices, nearest
from sash.plan.streams import StreamSpec

FORMATS = ("csv", "json", "parquet")
_ENDINGS = {"csv": "csv", "json": "json", "jsonl": "json", "ndjson": "json", "parquet": "parquet"}
COMPRESSIONS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}

VALID = (
    "format", "path", "header", "delimiter", "sep", "quote", "escape", "nullvalue", "multiline", "timestampformat",
)  # fmt: skip

# What a pattern of Spark is in the words of strptime, longest first.
_PATTERNS = {"yyyy": "%Y", "uuuu": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


@dataclass(frozen=True)
class Options:
    """How the files of one stream are read."""

    stream: str
    format: str | None = None  # left out: told by the ending of every file
    path: str | None = None
    header: bool = False
    delimiter: str = ","
    quote: str = '"'
    escape: str = "\\"
    null: str = ""
    multiline: bool = False
    timestamp_format: str | None = None  # as strptime says it
    has_paths: bool = False

    def format_of(self, path: str) -> str:
        """The format of a file."""
        found = self._format_of(path)
        if self.multiline and found != "csv":
            raise SashError(f'stream "{self.stream}": option multiline is for csv, and "{path}" is {found}')
        if self.has_paths and found != "json":
            raise SashError(
                f'stream "{self.stream}": columns FROM a path are for json, and "{path}" is {found}', "declare its own columns"
            )
        return found

    def _format_of(self, path: str) -> str:
        if self.format is not None:
            return self.format
        endings = path.rsplit("/", 1)[-1].lower().split(".")[1:]
        if endings and endings[-1] in COMPRESSIONS:
            endings.pop()
        if not endings or endings[-1] not in _ENDINGS:
            raise SashError(
                f'stream "{self.stream}": the name of "{path}" does not tell its format',
                f"say WITH (format = '...'), one of: {choices(FORMATS)}",
            )
        return _ENDINGS[endings[-1]]

    def is_whole(self, path: str) -> bool:
        """Whether a text file must be read from its beginning to find a place in it."""
        return self.multiline or compression(path) is not None


def compression(path: str) -> str | None:
    """How a file is packed, told by its ending."""
    return COMPRESSIONS.get(path.rsplit(".", 1)[-1].lower())


@lru_cache(maxsize=256)
def options_of(spec: StreamSpec) -> Options:
    """The checked options of a stream."""
    given = dict(spec.options)
    for key in given:
        _check_known(spec, key)
    if spec.metadata:
        raise SashError(
            f'stream "{spec.name}": column "{spec.metadata[0][0]}" is METADATA, of which files have none', "leave the column out"
        )
    return Options(
        stream=spec.name,
        format=_format(spec, given),
        path=given.get("path"),
        header=_flag(spec, given, "header"),
        delimiter=_character(spec, "delimiter", given.get("delimiter", given.get("sep", ","))),
        quote=_character(spec, "quote", given.get("quote", '"'), may_be_empty=True),
        escape=_character(spec, "escape", given.get("escape", "\\"), may_be_empty=True),
        null=given.get("nullvalue", ""),
        multiline=_flag(spec, given, "multiline"),
        timestamp_format=_timestamp_format(spec, given.get("timestampformat")),
        has_paths=bool(spec.paths),
    )


def _check_known(spec: StreamSpec, key: str) -> None:
    if key not in VALID:
        meant = nearest(key, VALID)
        guess = f'did you mean "{meant}"? ' if meant else ""
        raise SashError(f'stream "{spec.name}": unknown option "{key}"', f"{guess}options are: {choices(VALID)}")


def _format(spec: StreamSpec, given: dict[str, str]) -> str | None:
    name = given.get("format")
    if name is None:
        return None
    if name.lower() not in FORMATS:
        raise SashError(f'stream "{spec.name}": unknown format "{name}"', f"formats are: {choices(FORMATS)}")
    return name.lower()


def _flag(spec: StreamSpec, given: dict[str, str], key: str) -> bool:
    value = given.get(key, "false").lower()
    if value not in ("true", "false"):
        raise SashError(f'stream "{spec.name}": option {key} = "{given[key]}"', "say 'true' or 'false'")
    return value == "true"


def _character(spec: StreamSpec, key: str, value: str, may_be_empty: bool = False) -> str:
    character = "\t" if value == "\\t" else value
    fits = len(character) == 1 and character.isascii() and character not in "\r\n"
    if fits or (may_be_empty and not character):
        return character
    raise SashError(f'stream "{spec.name}": option {key} = "{value}"', "it must be one ASCII character")


def _timestamp_format(spec: StreamSpec, pattern: str | None) -> str | None:
    """A pattern like dd/MM/yyyy HH:mm:ss as strptime takes it; text between single quotes stands for itself."""
    if pattern is None:
        return None
    result, rest = "", pattern
    while rest:
        word = next((word for word in _PATTERNS if rest.startswith(word)), None)
        if word:
            result, rest = result + _PATTERNS[word], rest[len(word) :]
        elif rest[0] == "'" and "'" in rest[1:]:
            literal, rest = rest[1:].split("'", 1)
            result += literal.replace("%", "%%")
        elif not rest[0].isalpha() and rest[0] != "'":
            result, rest = result + rest[0].replace("%", "%%"), rest[1:]
        else:
            raise SashError(
                f"stream \"{spec.name}\": timestampformat = \"{pattern}\" is not understood from \"{rest}\" on",
                f"its parts are: {choices(_PATTERNS)}, signs, and text in single quotes",
            )
    return result
