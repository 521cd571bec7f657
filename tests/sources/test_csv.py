"""CSV: values, NULLs, quotes, headers, and rows that cannot be read."""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

import pytest
from reading import Files, letters, values

from sash.errors import SashError
from sash.schema import BIGINT, BOOLEAN, DATE, INT, STRING, TIMESTAMP, decimal, schema
from sash.sources import ReadResult

Reader = Callable[..., ReadResult]

PAIR = schema(("a", STRING), ("b", STRING))
COUNT = schema(("name", STRING), ("n", BIGINT))


def at(second: int, micro: int = 0) -> datetime:
    return datetime(2013, 1, 1, 5, 15, second, micro)


def test_every_type(csv: Reader) -> None:
    every = schema(
        ("b", BOOLEAN), ("i", INT), ("l", BIGINT), ("d", decimal(10, 2)), ("s", STRING), ("t", TIMESTAMP), ("day", DATE)
    )
    result = csv("true,-7,9000000000,1.25,ü€,2013-01-01T05:15:00Z,2013-01-01\nF,+1, 2 ,3,x,5,2013-02-28\n", every)
    assert values(result) == [
        (True, -7, 9_000_000_000, Decimal("1.25"), "ü€", at(0), date(2013, 1, 1)),
        (False, 1, 2, Decimal("3.00"), "x", datetime(1970, 1, 1, 0, 0, 5), date(2013, 2, 28)),
    ]
    assert letters(result) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2013-01-01 05:15:00", at(0)),
        ("2013-01-01T05:15:01.5", at(1, 500_000)),
        ("2013-01-01 05:15:01.1234569", at(1, 123_456)),
        ("2013-01-01T07:15:00+02:00", at(0)),
        ("1713484784.962686", datetime(2024, 4, 18, 23, 59, 44, 962_686)),
        ("1713484784.9626869", datetime(2024, 4, 18, 23, 59, 44, 962_686)),
        (" 1713484784 ", datetime(2024, 4, 18, 23, 59, 44)),
        ("-0.000001", datetime(1969, 12, 31, 23, 59, 59, 999_999)),
        ("1.5e3", datetime(1970, 1, 1, 0, 25)),
        ("1.71348478496268699e9", datetime(2024, 4, 18, 23, 59, 44, 962_686)),
    ],
)
@pytest.mark.parametrize("neighbour", ["1.5", "2013-01-01", ""])
def test_a_timestamp_does_not_depend_on_its_neighbours(
    csv: Reader, text: str, expected: datetime, neighbour: str
) -> None:
    result = csv(f"a,{text}\nb,{neighbour}\n", schema(("name", STRING), ("ts", TIMESTAMP)))
    assert values(result)[0] == ("a", expected)
    assert letters(result) == []


@pytest.mark.parametrize("text", ["1e30", "9" * 41, "x", "1.2.3", "2013-13-01", "inf"])
@pytest.mark.parametrize("neighbour", ["1.5", "2013-01-01", ""])
def test_what_is_no_timestamp_is_a_dead_letter(csv: Reader, text: str, neighbour: str) -> None:
    result = csv(f"a,{text}\nb,{neighbour}\n", schema(("name", STRING), ("ts", TIMESTAMP)))
    assert letters(result) == [(1, f"a,{text}", f'column "ts": "{text}" is not a TIMESTAMP')]
    assert [row[0] for row in values(result)] == ["b"]


def test_a_timestamp_format(csv: Reader) -> None:
    times = schema(("ts", TIMESTAMP), ("n", BIGINT))
    result = csv("01/02/2013 05:15,1\n2013-02-01,2\n,3\n", times, timestampformat="dd/MM/yyyy HH:mm")
    assert values(result) == [(datetime(2013, 2, 1, 5, 15), 1), (None, 3)]
    assert letters(result) == [(2, "2013-02-01,2", 'column "ts": "2013-02-01" is not a TIMESTAMP')]


def test_empty_is_null(csv: Reader) -> None:
    assert values(csv(',\n"",""\n', COUNT)) == [(None, None), (None, None)]


def test_nullvalue_quoted_or_not_and_a_quoted_empty_value_stays(csv: Reader) -> None:
    result = csv('-,-\n"-",1\n"",2\n,3\n', COUNT, nullvalue="-")
    assert values(result) == [(None, None), (None, 1), ("", 2), (None, 3)]


def test_quotes(csv: Reader) -> None:
    text = '"a,b",1\n"say ""hi""",2\n"say \\"hi\\"",3\nin "the" middle,4\n"C:\\\\",5\nC:\\dir,6\n'
    names = [row[0] for row in values(csv(text, COUNT))]
    assert names == ["a,b", 'say "hi"', 'say "hi"', 'in "the" middle', "C:\\", "C:\\dir"]


def test_only_doubled_quotes_when_the_escape_is_a_quote(csv: Reader) -> None:
    assert values(csv('"C:\\",1\n"a""b",2\n', COUNT, escape='"')) == [("C:\\", 1), ('a"b', 2)]


def test_other_signs(csv: Reader) -> None:
    assert values(csv("'a\tb'\t1\n\"c\t2\n", COUNT, sep="\\t", quote="'")) == [("a\tb", 1), ('"c', 2)]
    assert values(csv('"a;1\n', COUNT, delimiter=";", quote="")) == [('"a', 1)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "end"])
def test_line_ends(csv: Reader, end: str, last: str) -> None:
    text = end.join(["a,1", '"b",2', "", "c,3"]) + (end if last else "")
    assert values(csv(text, COUNT)) == [("a", 1), ("b", 2), ("c", 3)]


@pytest.mark.parametrize("text", ["", "\n", "\r\n\r\n", "a,n\n", "a,n"])
def test_no_rows(csv: Reader, text: str) -> None:
    result = csv(text, schema(("n", BIGINT), ("a", STRING)), header="true" if "a" in text else "false")
    assert values(result) == []
    assert letters(result) == []


def test_a_byte_order_mark_is_no_part_of_a_value(csv: Reader) -> None:
    assert values(csv(b"\xef\xbb\xbfa,1\n", COUNT)) == [("a", 1)]
    assert values(csv(b"\xef\xbb\xbfname,n\na,1\n", COUNT, header="true")) == [("a", 1)]


def test_header_matches_by_name_without_case_and_ignores_the_rest(csv: Reader) -> None:
    result = csv('N,"other","Name"\n1,x,a\n2,y,b\n', COUNT, header="true")
    assert values(result) == [("a", 1), ("b", 2)]


def test_header_without_a_declared_column(csv: Reader) -> None:
    with pytest.raises(SashError, match=r'the header of ".*\.csv" has no column "n"; its columns are: name, m'):
        csv("name,m\na,1\n", COUNT, header="true")


def test_a_bad_number_in_the_middle(csv: Reader) -> None:
    result = csv("a,1\n\nb,12x\nc,3\nd,0x1F\ne,1.5\n", COUNT)
    assert values(result) == [("a", 1), ("c", 3)]
    assert letters(result) == [
        (3, "b,12x", 'column "n": "12x" is not a BIGINT'),
        (5, "d,0x1F", 'column "n": "0x1F" is not a BIGINT'),
        (6, "e,1.5", 'column "n": "1.5" is not a BIGINT'),
    ]


def test_the_first_bad_column_is_named(csv: Reader) -> None:
    result = csv("x,y\n", schema(("a", BIGINT), ("b", BIGINT)))
    assert letters(result) == [(1, "x,y", 'column "a": "x" is not a BIGINT')]


def test_too_few_and_too_many_values(csv: Reader) -> None:
    result = csv("name,n\na,1\nb\nc,3,x\nd,bad\ne,5\n", COUNT, header="true")
    assert values(result) == [("a", 1), ("e", 5)]
    assert letters(result) == [
        (3, "b", "1 values where 2 are expected"),
        (4, "c,3,x", "3 values where 2 are expected"),
        (5, "d,bad", 'column "n": "bad" is not a BIGINT'),
    ]
    assert result.dead.column("file").to_pylist()[0].endswith("/a.csv")


def test_an_open_quote_takes_only_its_own_line(csv: Reader) -> None:
    result = csv('a,1\n"b,2\nc,3\nd",4\n"e,5', COUNT)
    assert values(result) == [("a", 1), ("c", 3), ('d"', 4)]
    reason = "a quote is not closed on its line (see option multiline)"
    assert letters(result) == [(2, '"b,2', reason), (5, '"e,5', reason)]


def test_what_is_no_utf8(csv: Reader) -> None:
    result = csv(b"a,1\n\xff,2\nc,x\n", COUNT)
    assert values(result) == [("a", 1)]
    assert letters(result) == [(2, "\ufffd,2", "not valid UTF-8"), (3, "c,x", 'column "n": "x" is not a BIGINT')]


def test_a_carriage_return_alone_ends_no_line(csv: Reader) -> None:
    result = csv('a,1\rb,2\n"c\rd",3\n', COUNT)
    assert values(result) == [("c\rd", 3)]
    assert [letter[0] for letter in letters(result)] == [1]


def test_multiline(files: Files) -> None:
    text = 'name,n\n"a\nb",1\n"c\r\n""d""\n",2\ne "f,3\ng,x\n"open,4\n'
    files.write("a.csv", text)
    spec = files.spec("a.csv", COUNT, {"header": "true", "multiline": "true"})
    for rows in (None, 1, 2):
        result = files.read(spec, rows)
        assert values(result) == [("a\nb", 1), ('c\r\n"d"\n', 2), ('e "f', 3)]
        assert letters(result) == [
            (5, "g,x", 'column "n": "x" is not a BIGINT'),
            (6, '"open,4', "a quote is not closed"),
        ]


def test_a_connection_log(csv: Reader) -> None:
    log = schema(("ts", TIMESTAMP), ("uid", STRING), ("src", STRING), ("service", STRING), ("bytes", BIGINT))
    text = (
        "ts,uid,src,service,bytes\n"
        "1713484784.962686,CHhAvVGS1DHFjwGM9,192.168.1.5,http,1446\n"
        "1713484785.000001,C4J4Th3PJpwUYZZ6gc,192.168.1.7,,\n"
        '1713484785,"",fe80::1,dns,0\n'
    )
    result = csv(text, log, header="true")
    assert values(result) == [
        (datetime(2024, 4, 18, 23, 59, 44, 962_686), "CHhAvVGS1DHFjwGM9", "192.168.1.5", "http", 1446),
        (datetime(2024, 4, 18, 23, 59, 45, 1), "C4J4Th3PJpwUYZZ6gc", "192.168.1.7", None, None),
        (datetime(2024, 4, 18, 23, 59, 45), None, "fe80::1", "dns", 0),
    ]
    assert letters(result) == []


def test_two_columns_of_the_same_text(csv: Reader) -> None:
    assert values(csv("x,x\nx,x\n", PAIR)) == [("x", "x"), ("x", "x")]
