"""Which files a path names, and in which order."""

import os

import pytest
from reading import Files

from sash.errors import SashError
from sash.folders.locations import locate
from sash.sources import list_files


def names(files: Files, path: str, **options: str) -> list[str]:
    spec = files.spec(path, options=options)
    return [file.path.removeprefix(f"{files.folder}/") for file in list_files(spec, files.folder)]


def test_by_modification_time_then_path(files: Files) -> None:
    for name in ("c.csv", "b.csv", "a.csv"):
        files.write(name, "x")
    assert names(files, ".") == ["c.csv", "b.csv", "a.csv"]
    for name in ("c.csv", "a.csv"):
        os.utime(files.folder / name, ns=(5, 5))
    assert names(files, ".") == ["a.csv", "c.csv", "b.csv"]


def test_a_file_says_its_size_and_time(files: Files) -> None:
    path = files.write("a.csv", "12345")
    (file,) = list_files(files.spec("a.csv"), files.folder)
    assert (file.path, file.size, file.modified) == (str(path), 5, 10**9)


def test_a_folder_without_its_hidden_files_and_folders(files: Files) -> None:
    for name in ("in/a.csv", "in/.b.csv", "in/_SUCCESS", "in/deeper/c.csv", "out/d.csv"):
        files.write(name, "x")
    assert names(files, "in") == ["in/a.csv"]
    assert names(files, str(files.folder / "in")) == ["in/a.csv"]


def test_an_empty_folder(files: Files) -> None:
    assert names(files, ".") == []


def test_globs(files: Files) -> None:
    for name in ("a1.csv", "a2.csv", "b1.csv", "x/a1.csv", "x/y/a1.csv", ".a3.csv"):
        files.write(name, "x")
    assert names(files, "a*.csv") == ["a1.csv", "a2.csv"]
    assert names(files, "?1.csv") == ["a1.csv", "b1.csv"]
    assert names(files, "a[!1].csv") == ["a2.csv"]
    assert names(files, "{a2,b?}.csv") == ["a2.csv", "b1.csv"]
    assert names(files, "*/a1.csv") == ["x/a1.csv"]
    assert names(files, "**/a1.csv") == ["a1.csv", "x/a1.csv", "x/y/a1.csv"]
    assert names(files, "x*") == ["x/a1.csv"]
    assert names(files, "z*.csv") == []


def test_a_name_with_signs_of_a_glob(files: Files) -> None:
    files.write("a[1].csv", "x")
    assert names(files, "a[1].csv") == ["a[1].csv"]


def test_file_uri(files: Files) -> None:
    files.write("with space.csv", "x")
    assert names(files, f"file://{files.folder}/with%20space.csv") == ["with space.csv"]
    assert names(files, f"file://{files.folder}") == ["with space.csv"]


def test_buckets_keep_their_scheme_and_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def remote(root: str) -> tuple[str, str]:
        asked.append(root)
        return "s3 file system", "bucket"

    monkeypatch.setattr("sash.folders.locations._remote", remote)
    location = locate("s3a://bucket/in/a.csv")
    assert asked == ["s3://bucket"]
    assert (location.path, location.outside(location.path)) == ("bucket/in/a.csv", "s3a://bucket/in/a.csv")


@pytest.mark.parametrize(("path", "said"), [
    ("", "'' names no file and no folder"), ("a\0b", "names no file"), ("s3://", "names no file"), ("://", "names no file"),
    ("s3://?region=x", "names no file"), ("~nobody-at-all/x", "nobody knows the folder"), ("[z-a].csv", "bad character range"),
])  # fmt: skip
def test_what_is_no_path(files: Files, path: str, said: str) -> None:
    """It was an error of a library, or the folder of the job."""
    with pytest.raises(SashError) as failure:
        names(files, path)
    assert said in str(failure.value)


def test_a_name_that_is_no_text(files: Files) -> None:
    files.write("a.csv", "x")
    with open(os.fsencode(files.folder) + b"/\xff.csv", "w"), pytest.raises(SashError, match='is no UTF-8; rename it'):
        names(files, ".")


def test_a_missing_path(files: Files) -> None:
    with pytest.raises(SashError, match=r'stream "conn": there is no "nowhere\.csv"'):
        names(files, "nowhere.csv")
    with pytest.raises(SashError, match="has no files"):
        list_files(files.spec("x").__class__("conn", files.spec("x").schema), files.folder)


def test_formats(files: Files) -> None:
    files.write("a.dat", "x")
    assert names(files, "a.dat", format="csv") == ["a.dat"]
    with pytest.raises(SashError, match=r"does not tell its format.*csv, json, parquet"):
        names(files, "a.dat")
    with pytest.raises(SashError, match='unknown format "orc"; formats are: csv, json, parquet'):
        names(files, "a.dat", format="orc")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"headers": "true"}, 'unknown option "headers"; did you mean "header"\\? options are: format, path, header'),
        ({"header": "yes"}, "option header = \"yes\"; say 'true' or 'false'"),
        ({"sep": "||"}, 'option delimiter = "||"; it must be one ASCII character'.replace("|", "\\|")),
        ({"multiline": "true", "format": "json"}, "option multiline is for csv"),
        ({"timestampformat": "dd/MMM/yyyy"}, 'is not understood from "M/yyyy" on'),
    ],
)
def test_wrong_options(files: Files, options: dict[str, str], message: str) -> None:
    files.write("a.csv", "x")
    with pytest.raises(SashError, match=message):
        names(files, "a.csv", **options)
