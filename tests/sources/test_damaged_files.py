"""Files that are not what they should be: rows and dead letters, or one error that names the file; never a raw one, never silence."""

from __future__ import annotations

import gzip
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import Files, letters, values

from sash.errors import SashError
from sash.schema import BIGINT, STRING, schema
from sash.sources.result import LONGEST_LINE

COUNT = schema(("name", STRING), ("n", BIGINT))
HEADED = {"header": "true"}
ROWS = [(f"name {n % 7}", n) for n in range(300)]
TEXT = "name,n\n" + "".join(f"{name},{n}\n" for name, n in ROWS)
TABLE = pa.table({"name": [name for name, _ in ROWS], "n": [n for _, n in ROWS]})


def parquet(**options: object) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink, **options)
    return bytes(sink.getvalue())


def compressed(kind: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, kind) as stream:
        stream.write(TEXT.encode())
    return bytes(sink.getvalue())


WHOLE = {
    "a.csv": TEXT.encode(), "a.csv.gz": gzip.compress(TEXT.encode()), "a.csv.bz2": compressed("bz2"), "a.csv.zst": compressed("zstd"),
    "a.json": "".join(f'{{"name": "{name}", "n": {n}}}\n' for name, n in ROWS).encode(),
    "a.parquet": parquet(row_group_size=100), "b.parquet": parquet(compression="zstd", use_dictionary=False),
}  # fmt: skip


@pytest.mark.parametrize("options", [{}, HEADED, {"multiline": "true"}], ids=str)
@pytest.mark.parametrize("rows", [None, 1, 2])
def test_a_csv_file_with_carriage_returns_at_its_line_ends(files: Files, options: dict[str, str], rows: int | None) -> None:
    head = "name,n\r" if options == HEADED else ""
    files.write("a.csv", head + 'a,1\r"b",2\r\rc,x\rd,4')
    result = files.read(files.spec("a.csv", COUNT, options), rows)
    assert values(result) == [("a", 1), ("b", 2), ("d", 4)]
    assert [(row, line) for row, line, _ in letters(result)] == [(5 if head else 4, "c,x")]


def test_a_json_file_with_carriage_returns_at_its_line_ends(files: Files) -> None:
    files.write("a.json", '{"name":"a","n":1}\r{"name":"b","n":2}\r')
    assert values(files.read(files.spec("a.json", COUNT))) == [("a", 1), ("b", 2)]


def test_a_carriage_return_in_a_file_with_line_feeds_ends_nothing(files: Files) -> None:
    files.write("a.csv", "a\rb,1\nc,2\n")
    result = files.read(files.spec("a.csv", COUNT))
    assert values(result) == [("c", 2)] and len(letters(result)) == 1


STRAY = 'a,1\n"open,2\nb,3\n"two\nlines",4\nc,"5"\n'


@pytest.mark.parametrize("rows", [None, 1, 2, 3])
@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ('a,1\n"open,2\nb,3\nc,4\n', [("a", 1), ("b", 3), ("c", 4)], ['"open,2']),
        ('a,1\nb,"3\nc,4', [("a", 1), ("c", 4)], ['b,"3']),
        (STRAY, [("a", 1), ("b", 3), ("two\nlines", 4), ("c", 5)], ['"open,2']),
        ('"a\nb",1\n"open\n', [("a\nb", 1)], ['"open']),
        ('"a\r\nb",1\r\nc,2\r\n"open\r\nd,4\r\n', [("a\r\nb", 1), ("c", 2), ("d", 4)], ['"open']),
        ('"open \\" ""x"", 1\nb,2\n', [("b", 2)], ['"open \\" ""x"", 1']),
    ],
)
def test_an_unclosed_quote_with_multiline_swallows_nothing_but_its_line(
    files: Files, text: str, good: list[tuple[str, int]], bad: list[str], rows: int | None
) -> None:
    files.write("a.csv", text)
    spec = files.spec("a.csv", COUNT, {"multiline": "true"})
    result = files.read(spec, rows)
    assert values(result) == good
    assert [line for _, line, _ in letters(result)] == bad
    assert all("a quote is not closed" in reason for _, _, reason in letters(result))
    assert values(files.read(spec, max_bytes=5)) == good


def test_many_stray_quotes_take_no_long_time(files: Files) -> None:
    """Where a quote ends is looked for once: a hundred thousand stray ones are read in the time of as many lines."""
    files.write("a.csv", 'x,"stray\n' * 50_000 + '""y,\\"\n' * 50_000)
    result = files.read(files.spec("a.csv", COUNT, {"multiline": "true"}))
    assert len(result.batch) + len(result.dead) == 100_000


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.json"])
def test_another_encoding_is_an_error_that_names_the_file(files: Files, encoding: str, name: str) -> None:
    content = TEXT.encode(encoding)
    files.write(name, gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(SashError, match=rf'{name}" is written in {encoding.upper()}; write it as UTF-8'):
        files.read(files.spec(name, COUNT, HEADED))


def test_a_header_that_is_no_text_is_an_error_that_names_the_file(files: Files) -> None:
    files.write("a.csv", b"n\xe4me,n\nx,1\n")
    with pytest.raises(SashError, match=r'the first line of ".*a\.csv" is no header: n�me,n'):
        files.read(files.spec("a.csv", COUNT, HEADED))


def test_a_file_of_garbage_is_dead_letters_of_bounded_size(files: Files) -> None:
    garbage = random.Random(1).randbytes(1 << 20).replace(b"\n", b"x").replace(b"\r", b"x")
    for name in ("a.csv", "a.json"):
        files.write(name, garbage)
        ((row, line, reason),) = letters(files.read(files.spec(name, COUNT)))
        assert (row, reason) == (1, "not valid UTF-8")
        assert len(line) < LONGEST_LINE + 100 and line.endswith("… (1,048,576 bytes)")


def test_text_in_parquet_that_is_not_utf8_is_a_dead_letter(files: Files) -> None:
    names = pa.array([b"good", b"\xff\xfe", None, "übel".encode("latin-1")]).view(pa.string())
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"name": names, "n": [1, 2, 3, 4]}), sink)
    files.write("a.parquet", bytes(sink.getvalue()))
    result = files.read(files.spec("a.parquet", COUNT))
    assert values(result) == [("good", 1), (None, 3)]
    assert [(row, reason) for row, _, reason in letters(result)] == [
        (2, 'column "name": "��" is not a STRING'), (4, 'column "name": "�bel" is not a STRING'),
    ]


@pytest.mark.parametrize("name", WHOLE)
def test_damage_is_never_a_raw_error(files: Files, name: str) -> None:
    """Flipped bits, garbage in the middle, a missing end."""
    options = HEADED if ".csv" in name else {}
    for seed in range(60):
        chance, content = random.Random(f"{name} {seed}"), bytearray(WHOLE[name])
        for _ in range(chance.choice([0, 1, 20])):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        place = chance.randrange(len(content))
        content[place:] = chance.choice([b"", chance.randbytes(40) + content[place + 40 :], content[place:]])
        files.write(name, bytes(content))
        try:
            result = files.read(files.spec(name, COUNT, options), 100)
        except SashError as error:
            assert name in str(error)
        else:
            assert len(result.batch) <= len(ROWS) + 40


@pytest.mark.parametrize("name", [name for name in WHOLE if name.count(".") == 2])
def test_a_compressed_file_that_is_cut_short_is_an_error_that_names_it(files: Files, name: str) -> None:
    for share in (0.1, 0.5, 0.99):
        files.write(name, WHOLE[name][: int(len(WHOLE[name]) * share)])
        with pytest.raises(SashError, match=rf'cannot read ".*{name}": .*it may be cut short or damaged'):
            files.read(files.spec(name, COUNT, HEADED))


def test_a_garbled_parquet_page_is_an_error_that_names_the_file(files: Files) -> None:
    content = bytearray(parquet(write_page_checksum=True))
    content[40:60] = bytes(20)
    files.write("a.parquet", bytes(content))
    with pytest.raises(SashError, match=r'cannot read ".*a\.parquet": .*write it anew'):
        files.read(files.spec("a.parquet", COUNT))


@pytest.mark.parametrize("multiline", ["false", "true"])
@pytest.mark.parametrize("text", ["name,n\ra,1\nb,2\n", 'name,n\r"a\nb",1\rc,2\r', 'name,n\r"a\r\nb",1\rc,2\r'])
def test_rows_behind_a_carriage_return_in_the_header_are_not_lost(files: Files, text: str, multiline: str) -> None:
    """The first line feed came later than the header: what stood before it went with the header, without a word."""
    files.write("a.csv", text)
    with pytest.raises(SashError, match=r'the first line of ".*a\.csv" is no header: name,n.*(carriage return|quote is not closed)'):
        files.read(files.spec("a.csv", COUNT, {**HEADED, "multiline": multiline}))


@pytest.mark.parametrize("multiline", ["false", "true"])
def test_a_file_of_a_byte_order_mark_alone_is_an_empty_one(files: Files, multiline: str) -> None:
    files.write("a.csv", b"\xef\xbb\xbf")
    result = files.read(files.spec("a.csv", COUNT, {**HEADED, "multiline": multiline}))
    assert not values(result) and not letters(result)


def test_a_byte_order_mark_behind_another_is_a_part_of_a_name(files: Files) -> None:
    files.write("a.csv", b"\xef\xbb\xbf\xef\xbb\xbf\nx,1\n")
    with pytest.raises(SashError, match='has no column "name"'):
        files.read(files.spec("a.csv", COUNT, HEADED))


def test_a_header_that_names_a_declared_column_twice_is_refused(files: Files) -> None:
    files.write("a.csv", "name,n,other,other,N\na,1,x,y,2\n")
    with pytest.raises(SashError, match='has 2 columns "n", and it is not clear which one is meant; its columns are: name, n'):
        files.read(files.spec("a.csv", COUNT, HEADED))
    files.write("a.csv", "name,n,other,other\na,1,x,y\n")
    assert values(files.read(files.spec("a.csv", COUNT, HEADED))) == [("a", 1)]


@pytest.mark.parametrize("text", ["null", "null\n", " null\n", "\ufeffnull\n", "\nnull\n", "null null\n"])
def test_a_json_file_that_begins_with_null_does_not_end_the_process(files: Files, text: str) -> None:
    files.write("a.json", text + '\n{"name":"a","n":1}\n')
    result = files.read(files.spec("a.json", COUNT))
    assert values(result) == [("a", 1)]
    assert len(letters(result)) == 1
