"""JSON lines: the fast way and the slow way agree, and nothing is lost."""

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

import pytest
from reading import Files, letters, values

from sash.errors import SashError
from sash.schema import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Schema, Type, array, decimal, schema
from sash.sources import ReadResult

PAIR = schema(("name", STRING), ("n", BIGINT))
EVERY = schema(
    ("b", BOOLEAN), ("i", INT), ("x", DOUBLE), ("d", decimal(10, 2)), ("s", STRING), ("t", TIMESTAMP), ("day", DATE)
)
# A line that makes pyarrow give up, so that all lines go the slow way.
STUMBLE = '{"s": 5}\n'


def read_json(files: Files, text: str | bytes, columns: Schema = PAIR) -> ReadResult:
    files.write("a.jsonl", text)
    return files.read(files.spec("a.jsonl", columns))


@pytest.mark.parametrize(
    "time",
    ['"2013-01-01T05:15:00.5Z"', '"2013-01-01 05:15:00.5"', "1357017300.5", '"1357017300.5"'],
)
@pytest.mark.parametrize("stumble", ["", STUMBLE])
def test_every_type(files: Files, time: str, stumble: str) -> None:
    line = f'{{"b":true,"i":-7,"x":1.5e3,"d":1.25,"s":"\\u00fc \\"x\\"","t":{time},"day":"2013-01-01","other":[1]}}\n'
    result = read_json(files, line + "{}\n" + line.replace("1.25", '"1.25"').replace("1.5e3", "1500") + stumble, EVERY)
    row = (True, -7, 1500.0, Decimal("1.25"), 'ü "x"', datetime(2013, 1, 1, 5, 15, 0, 500_000), date(2013, 1, 1))
    assert values(result)[:3] == [row, (None,) * 7, row]
    assert letters(result) == []


@pytest.mark.parametrize("number", ["1713484784.962686", "1713484784.9626869"])
@pytest.mark.parametrize("stumble", ["", STUMBLE])
def test_seconds_are_exact(files: Files, number: str, stumble: str) -> None:
    result = read_json(files, f'{{"t":{number}}}\n' + stumble, EVERY)
    assert result.batch.column("t")[0].as_py() == datetime(2024, 4, 18, 23, 59, 44, 962_686)


def test_missing_and_null(files: Files) -> None:
    assert values(read_json(files, '{"name":"a"}\n\n{"n":2,"name":null}\r\n  \n{}')) == [
        ("a", None), (None, 2), (None, None),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "\n", " \n\n"])
def test_no_rows(files: Files, text: str) -> None:
    assert values(read_json(files, text)) == []


def test_bad_lines(files: Files) -> None:
    lines = [
        '{"name":"a","n":1}', '{"name":"b","n":"2"}', '{"name":"c","n":3', '[4]', '{"name":"e","n":5.5}',
        '{"name":"f","n":6}{"name":"g","n":7}', '{"name":"h","n":99999999999999999999}', '{"name":{"x":1},"n":8}',
        '{"name":"\\ud800","n":9}', '{"name":"i","n":true}', '{"name":"j","n":10}',
    ]  # fmt: skip
    result = read_json(files, "\n".join(lines))
    assert values(result) == [("a", 1), ("j", 10)]
    assert [(row, reason) for row, _, reason in letters(result)] == [
        (2, 'column "n": "2" is not a BIGINT'),
        (3, "not valid JSON: Expecting ',' delimiter at character 18"),
        (4, "not a JSON object"),
        (5, 'column "n": 5.5 is not a BIGINT'),
        (6, "not valid JSON: Extra data at character 19"),
        (7, 'column "n": 99999999999999999999 is not a BIGINT'),
        (8, 'column "name": {\'x\': \'1\'} is not a STRING'),
        (9, 'column "name": "?" is not a STRING'),
        (10, 'column "n": True is not a BIGINT'),
    ]
    assert [line for _, line, _ in letters(result)] == lines[1:-1]


def test_a_bad_time_among_good_ones(files: Files) -> None:
    result = read_json(files, '{"t":"2013-01-01"}\n{"t":"x"}\n', schema(("t", TIMESTAMP)))
    assert values(result) == [(datetime(2013, 1, 1),)]
    assert letters(result) == [(2, '{"t":"x"}', 'column "t": "x" is not a TIMESTAMP')]


def test_what_is_no_utf8(files: Files) -> None:
    result = read_json(files, b'{"name":"\xff"}\n{"n":2}\n')
    assert values(result) == [(None, 2)]
    assert [reason for _, _, reason in letters(result)] == ["not valid UTF-8"]


def test_numbers_and_truth_may_be_strings(files: Files) -> None:
    assert values(read_json(files, '{"name":1.50}\n{"name":false}\n{"name":"x"}')) == [
        ("1.50", None), ("false", None), ("x", None),
    ]  # fmt: skip


def test_not_a_number(files: Files) -> None:
    result = read_json(files, '{"x":NaN}\n{"x":-Infinity}\n{"x":1}\n', schema(("x", DOUBLE)))
    assert str(values(result)) == "[(nan,), (-inf,), (1.0,)]"
    result = read_json(files, '{"x":"NaN"}\n{"x":"-Infinity"}\n{"x":"Infinity"}\n{"x":"1"}\n', schema(("x", DOUBLE)))
    assert str(values(result)) == "[(nan,), (-inf,), (inf,)]" and len(result.dead) == 1


@pytest.mark.parametrize("rows", [None, 1, 2])
def test_pieces_of_any_size(files: Files, rows: int | None) -> None:
    text = "".join(f'{{"name":"x{n}","n":{n if n % 5 else "true"}}}\n' for n in range(20))
    files.write("a.json", text)
    result = files.read(files.spec("a.json", PAIR), rows)
    assert [row[1] for row in values(result)] == [n for n in range(20) if n % 5]
    assert [row for row, _, _ in letters(result)] == [1, 6, 11, 16]


@pytest.mark.parametrize("stumble", ["", STUMBLE.replace("s", "name")])
def test_paths_lead_into_objects(files: Files, stumble: str) -> None:
    files.write("a.jsonl", '{"name": "x", "n": {"deep": {"er": 4}}}\n{"n": {"deep": null}}\n{"n": null}\n{"n": {"deep": {"er": null}}}\n' + stumble)
    spec = replace(files.spec("a.jsonl", PAIR), paths=(("n", "$.n.deep.er"),))
    assert values(files.read(spec))[:4] == [("x", 4), (None, None), (None, None), (None, None)]


def test_paths_are_for_json_and_files_have_no_metadata(files: Files) -> None:
    files.write("a.csv", "x,1\n")
    with pytest.raises(SashError, match=r'columns FROM a path are for json, and ".*a.csv" is csv'):
        files.read(replace(files.spec("a.csv", PAIR), paths=(("n", "$.n"),)))
    with pytest.raises(SashError, match='column "n" is METADATA, of which files have none'):
        files.read(replace(files.spec("a.csv", PAIR), metadata=(("n", "n"),)))


@pytest.mark.parametrize("exponent", ["99999999999999999999999999", "999999", "9" * 5_000])
@pytest.mark.parametrize("type_", [TIMESTAMP, decimal(10, 2), BIGINT], ids=str)
def test_an_exponent_that_no_type_reaches_costs_its_own_row(files: Files, type_: Type, exponent: str) -> None:
    lines = [f'{{"x":1e{exponent}}}', f'{{"x":-1e{exponent}}}', '{"x":null}', f'{{"x":"1e{exponent}"}}']
    result = read_json(files, "\n".join(lines), schema(("x", type_)))
    assert values(result) == [(None,)]
    assert [row for row, _, _ in letters(result)] == [1, 2, 4]


@pytest.mark.parametrize("numeral", ["1e-99999999999999999999999999", "0e99999999999999999999999999", "-1e-999999"])
def test_an_exponent_far_below_zero_is_zero(files: Files, numeral: str) -> None:
    result = read_json(files, f'{{"m":{numeral},"t":{numeral}}}', schema(("m", decimal(10, 2)), ("t", TIMESTAMP)))
    assert values(result) == [(0, datetime(1970, 1, 1))]


TOO_LARGE = ["1e34", "9e34", "1e37", "123456789e28", "12345678901234567890e35", "9" * 39, "1" + "0" * 39, "1" + "0" * 128, "9" * 300, "0" * 200 + "1" + "0" * 128]


@pytest.mark.parametrize("numeral", TOO_LARGE, ids=lambda numeral: f"{numeral:.12}_{len(numeral)}")
@pytest.mark.parametrize("type_", [TIMESTAMP, decimal(38, 6), decimal(38, 30), decimal(10, 2), array(decimal(38, 6))], ids=str)
def test_a_number_too_large_for_a_decimal_is_no_other_number(files: Files, type_: Type, numeral: str) -> None:
    """pyarrow made 131811359292784559562136384478721.867776 of 1e34, and 0 of 1 with 128 zeros."""
    value = f"[{numeral}]" if type_.element is not None else numeral
    for text in (f'{{"x":{value}}}', f'{{"x":{value}}}\n{{"x":null}}', f'{{"x":null}}\n{{"x":{value}, "y": 1e5}}'):
        result = read_json(files, text, schema(("x", type_)))
        assert values(result) == [(None,)] * text.count("null")
        assert len(letters(result)) == 1
