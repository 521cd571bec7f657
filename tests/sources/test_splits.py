"""Planning: whatever the pieces, the rows are the same, each once, in order."""

import bz2
import gzip
import json
import pickle
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from reading import Files, letters, values

from sash.errors import SashError
from sash.schema import BIGINT, STRING, schema
from sash.sources import START, Place, Split, list_files, plan, read
from sash.sources import splits as splits_module
from sash.sources.lines import cut
from sash.sources.options import Options

COUNT = schema(("name", STRING), ("n", BIGINT))
HEADED = {"header": "true"}

AWKWARD = 'name,n\na,1\r\n"b ""x""",2\n\n"c,c",x\nd\n\u00fc\u20ac,5\n"open,6\nf,7,7\n,\ng,8'


def test_every_byte_limit_gives_the_same_rows(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write("a.csv", AWKWARD)
    spec = files.spec("a.csv", COUNT, HEADED)
    whole = files.read(spec)
    assert len(whole.batch) == 5
    assert [row for row, _, _ in letters(whole)] == [5, 6, 8, 9]
    for size in range(1, len(AWKWARD.encode()) + 2):
        monkeypatch.setattr(splits_module, "TEXT_SPLIT", size)
        pieces = files.read(spec)
        assert values(pieces) == values(whole)
        assert letters(pieces) == letters(whole)
        pieces = files.read(spec, max_bytes=size)
        assert values(pieces) == values(whole)
        assert letters(pieces) == letters(whole)


@pytest.mark.parametrize("rows", [1, 2, 7, 1000])
@pytest.mark.parametrize("options", [{}, {"header": "true"}, {"multiline": "true"}])
def test_row_limits_are_exact(files: Files, rows: int, options: dict[str, str]) -> None:
    lines = [f"name{n},{n}" for n in range(500)]
    head = ["name,n"] if "header" in options else []
    files.write("a.csv", "\n".join(head + lines[:340]))
    files.write("b.csv", "\n".join(head + lines[340:]) + "\n")
    spec = files.spec("*.csv", COUNT, options)
    splits = files.splits(spec, rows)
    assert sum(split.rows for split in splits) == 500
    assert [n for split in splits for n in read(spec, split).batch.column("n").to_pylist()] == list(range(500))


def test_each_plan_takes_as_many_rows_as_it_may(files: Files) -> None:
    for name in ("a", "b", "c"):
        files.write(f"{name}.csv", "x,1\nx,2\nx,3\n")
    spec = files.spec("*.csv", COUNT)
    found, place, sizes = list_files(spec, files.folder), START, []
    while place.file < 3:
        splits, place = plan(spec, found, place, 4, 1 << 20)
        sizes.append([split.rows for split in splits])
    assert sizes == [[3, 1], [2, 2], [1]]


def test_splits_follow_each_other_without_gaps(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits_module, "TEXT_SPLIT", 1000)
    files.write("a.csv", "name,n\n" + "".join(f"name{n},{n}\n" for n in range(1000)))
    spec = files.spec("a.csv", COUNT, HEADED)
    splits = files.splits(spec)
    assert len(splits) > 5
    assert splits[0].start == len("name,n\n")
    assert splits[0].row == 1
    for one, other in pairwise(splits):
        assert other.start == one.stop
        assert other.row == one.row + one.rows
    assert all(split.size <= 1000 for split in splits)


def test_a_line_longer_than_any_limit_is_one_split(files: Files) -> None:
    files.write("a.csv", "x" * 100_000 + ",1\n" + "y" * 10_000 + ",2\n")
    spec = files.spec("a.csv", COUNT)
    assert [split.rows for split in files.splits(spec, None, 10)] == [1, 1]
    assert [row[1] for row in values(files.read(spec, 1, 10))] == [1, 2]


@pytest.mark.parametrize(
    ("ending", "pack"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("zst", lambda data: pa.compress(data, "zstd", asbytes=True))],
)
@pytest.mark.parametrize("rows", [None, 1, 7])
def test_compressed_text(files: Files, ending: str, pack: object, rows: int | None) -> None:
    text = "name,n\n" + "".join(f"name{n},{n}\n" for n in range(50)) + "bad,x\n"
    assert callable(pack)
    files.write(f"a.csv.{ending}", pack(text.encode()))
    spec = files.spec(f"a.csv.{ending}", COUNT, HEADED)
    result = files.read(spec, rows)
    assert [row[1] for row in values(result)] == list(range(50))
    assert letters(result) == [(52, "bad,x", 'column "n": "x" is not a BIGINT')]
    if rows is None:
        assert len(files.splits(spec)) == 1


def test_a_gzip_file_of_several_members_is_read_to_its_end(files: Files) -> None:
    files.write("a.csv.gz", gzip.compress(b"a,1\n") + gzip.compress(b"b,2\n"))
    assert values(files.read(files.spec("a.csv.gz", COUNT))) == [("a", 1), ("b", 2)]


def test_a_broken_compressed_file(files: Files) -> None:
    files.write("a.csv.gz", b"no gzip at all")
    with pytest.raises(SashError, match="cannot read"):
        files.read(files.spec("a.csv.gz", COUNT))


def test_every_file_has_its_own_header(files: Files) -> None:
    files.write("a.csv", "name,n\na,1\n")
    files.write("b.csv", "")
    files.write("c.csv", "name,n\n")
    files.write("d.csv", "n,x,name\n2,y,b\n")
    assert values(files.read(files.spec("*.csv", COUNT, HEADED))) == [("a", 1), ("b", 2)]


def test_a_file_that_comes_later(files: Files) -> None:
    files.write("a.csv", "a,1\nb,2")
    spec = files.spec("*.csv", COUNT)
    first = list_files(spec, files.folder)
    splits, place = plan(spec, first, START, None, 1 << 20)
    assert [split.rows for split in splits] == [2]
    assert plan(spec, first, place, None, 1 << 20) == ([], place)
    files.write("b.csv", "c,3\n")
    later = list_files(spec, files.folder)
    assert later[: len(first)] == first
    splits, _ = plan(spec, later, place, None, 1 << 20)
    assert [values(read(spec, split)) for split in splits] == [[("c", 3)]]


def test_planning_again_up_to_a_place(files: Files) -> None:
    for name in ("a", "b"):
        files.write(f"{name}.csv", "x,1\nx,2\nx,3\n")
    spec = files.spec("*.csv", COUNT)
    found = list_files(spec, files.folder)
    start = Place(0, 4, 1)
    splits, stop = plan(spec, found, start, 3, 1 << 20)
    assert plan(spec, found, start, stop=stop) == (splits, stop)
    assert plan(spec, found, stop, stop=stop) == ([], stop)


def test_places_and_splits_survive_json_and_pickle(files: Files) -> None:
    files.write("a.csv", "name,n\na,1\n")
    spec = files.spec("a.csv", COUNT, HEADED)
    (split,) = files.splits(spec)
    assert Split.from_json(json.loads(json.dumps(split.to_json()))) == split
    assert pickle.loads(pickle.dumps(split)) == split
    assert Place.from_json(json.loads(json.dumps(Place(1, 2, 3).to_json()))) == Place(1, 2, 3)


def test_what_was_planned_is_not_read_again(tmp_path: Path) -> None:
    text = b"0123456\n" * 100_000
    reads: list[tuple[int, int]] = []

    def read_text(offset: int, length: int) -> bytes:
        reads.append((offset, length))
        return text[offset : offset + length]

    offset = 0
    while offset < len(text):
        offset, _ = cut(Options("s"), read_text, offset, len(text), 1000, 1 << 20)
    assert sum(length for _, length in reads) < 20 * len(text)
    reads.clear()
    assert cut(Options("s"), read_text, 0, len(text), None, 1 << 20) == (len(text), 100_000)
    assert sum(length for _, length in reads) == len(text)
