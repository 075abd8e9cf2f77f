"""SQL that hides behind its size."""

import pytest

from shellward.approval.sql import judge


@pytest.mark.parametrize(
    "text",
    [
        " " * 6000 + "DROP TABLE users",
        ";" * 3000 + "DROP TABLE users",
        "SELECT 1;" * 3000 + "DROP TABLE users",
        "WITH a AS (SELECT 1" + " UNION SELECT 1" * 500 + ") DELETE FROM users",
        "/* " + "x" * 6000 + " */ TRUNCATE users",
        "COPY a FROM STDIN; COPY b" + " " * 2000 + "TO PROGRAM 'sh'",
    ],
    ids=["blanks", "empty", "many", "long", "comment", "copy"],
)
def test_it_is_found(text):
    assert judge(text)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO a VALUES (1);" * 3000,
        "INSERT INTO a VALUES " + "('DROP TABLE x')," * 1000,
        "SELECT a" + ", b" * 3000 + " FROM c",
        "SELECT 1;" * 3000 + "SELECT 'DROP TABLE x'",
    ],
    ids=["rows", "texts", "columns", "many"],
)
def test_what_is_only_long_is_not(text):
    assert judge(text) == ()
