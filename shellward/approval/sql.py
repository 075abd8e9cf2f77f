"""Which SQL destroys: statements are separated, comments and texts taken out, then each is judged by its words."""

from __future__ import annotations

import re
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne

from shellward.command.decode import from_base64, from_hex

_NOISE = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)|#[^\n]*(?=\n|$)|'(?:[^']|'')*'|\$\$.*?\$\$", re.DOTALL)
_CLIENT_LINE = re.compile(r"^[ \t]*(?:\.[a-z]+\b|\\[a-zA-Z]+\b(?!.*\\g))[^\n]*\n", re.MULTILINE)
"""Lines that a client keeps for itself: ``.backup x``, ``\\timing on``."""
_DROP = re.compile(
    r"\s*DROP\s+(?:(?:TEMPORARY|FOREIGN|MATERIALIZED|UNIQUE|PUBLIC|GLOBAL)\s+)?(?:TABLE|DATABASE|SCHEMA|KEYSPACE|VIEW|INDEX|COLUMN|USER|ROLE|OWNED|TABLESPACE|SEQUENCE|TYPE|FUNCTION|PROCEDURE|TRIGGER|"
    r"EXTENSION|SERVER|PUBLICATION|SUBSCRIPTION|POLICY|WAREHOUSE|STAGE|PIPE|STREAM|TASK|EVENT|LOGIN|CONSTRAINT|DATASET|COLLECTION|MEASUREMENT|BUCKET|SERIES|SHARD|SNAPSHOT|CATALOG|CLUSTER|DICTIONARY|ACCOUNT|SHARE|AGGREGATE|DOMAIN|RETENTION)\b",
    re.IGNORECASE,
)
_TRUNCATE = re.compile(r"\s*TRUNCATE\s+(?:TABLE\s+)?(?:ONLY\s+)?[\w\"`\[.]", re.IGNORECASE)
_DELETE = re.compile(r"(?:\s*|.*?\)\s*)\bDELETE\s+(?:FROM\b|\w+\s+FROM\b)", re.IGNORECASE | re.DOTALL)
_UPDATE = re.compile(r"\s*UPDATE\s+(?:ONLY\s+)?[\w\"`\[\].]+(?:\s+(?:AS\s+)?\w+)?\s+SET\b", re.IGNORECASE)
_MUTATION = re.compile(r"\s*ALTER\s+TABLE\s+\S+\s+(?:ON\s+CLUSTER\s+\S+\s+)?(?:DELETE|UPDATE)\b", re.IGNORECASE)
_WHERE = re.compile(r"\bWHERE\b(.*)", re.IGNORECASE | re.DOTALL)
_ALWAYS = re.compile(
    r"(?:(\d+)\s*=\s*\1\b|TRUE|1|''\s*=\s*''|NOT\s+FALSE|(\w+)\s*=\s*\2\b|id\s*(?:>|>=|!=|<>)\s*-?[01]|\w+\s+IS\s+NOT\s+NULL|\w+\s+LIKE\s+'')[\s)]{0,9}(?:$|\bOR\b|--)",
    re.IGNORECASE,
)
_OR_TRUE = re.compile(r"\bOR\s+\(?\s*(?:(\d+)\s*=\s*\1\b|TRUE|''\s*=\s*'')", re.IGNORECASE)
_COMPARED = re.compile(
    r"(?:^|\bOR\b)[\s(]{0,9}(NOT\b)?[\s(]{0,9}(-?\d{1,20}(?:\.\d{1,9})?)\s{0,9}(=|<>|!=|<=|>=|<|>)\s{0,9}(-?\d{1,20}(?:\.\d{1,9})?)[\s)]{0,9}"
    r"(?=$|;|\bOR\b|--|\bRETURNING\b|\bLIMIT\b|\bORDER\b)",
    re.IGNORECASE,
)
"""A number compared with a number, and nothing else that has to hold."""
_COMPARE = {"=": eq, "<>": ne, "!=": ne, "<=": le, ">=": ge, "<": lt, ">": gt}
_WITHIN = re.compile(r"\(\s*((?:DELETE|UPDATE)\b(?:[^()]|\([^()]*\)){0,1000})\)", re.IGNORECASE)
"""A statement that changes rows within a ``WITH``."""
_OTHER = (
    (
        "alter-drop",
        re.compile(
            r"\s*ALTER\s+(?:TABLE|DATABASE|USER|ROLE|SCHEMA)\b.*\b(?:DROP|RENAME\s+TO)\b",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
    (
        "grant",
        re.compile(
            r"\s*GRANT\s+ALL\b|\s*(?:ALTER|CREATE)\s+(?:USER|ROLE)\b.*\b(?:SUPERUSER|CREATEROLE|BYPASSRLS)\b|\s*GRANT\b.*\bWITH\s+GRANT\s+OPTION|\s*REVOKE\s+ALL\b|\s*(?:ALTER|CREATE)\s+(?:USER|ROLE|LOGIN)\b.*\b(?:PASSWORD|IDENTIFIED)\b|\s*SET\s+PASSWORD\b",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
    (
        "execute",
        re.compile(
            r"\bxp_cmdshell\b|\bINTO\s+(?:OUT|DUMP)FILE\b|\bsys_exec\b|\bLOAD_FILE\s*\(",
            re.IGNORECASE,
        ),
    ),
    (
        "drop",
        re.compile(
            r"\s*(?:RESET\s+MASTER|PURGE\s+(?:BINARY|MASTER)\s+LOGS|PURGE\s+TABLE|SHUTDOWN|(?:RESET|STOP)\s+(?:SLAVE|REPLICA)|SYSTEM\s+(?:SHUTDOWN|KILL|STOP|DROP|RESTART|UNFREEZE)|REMOVE\s+(?:DATABASE|NAMESPACE|TABLE|INDEX|USER|FIELD)|FLUSH(?:ALL|DB)|UNDROP|DETACH\s+(?:TABLE|DATABASE)|OPTIMIZE\s+TABLE\s+\S+\s+DEDUPLICATE|PRAGMA\s+writable_schema|DBCC|RESTORE\s+DATABASE|ALTER\s+SYSTEM|pg_terminate_backend)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "drop",
        re.compile(
            r"\bpg_terminate_backend\s*\(|\bpg_drop_replication_slot\b|\bdblink_exec\b|\blo_unlink\b|\blo_export\s*\(|\blo_import\s*\(|\bpg_read_file\s*\(|\bpg_(?:cancel_backend|promote|switch_wal|rotate_logfile)\s*\(",
            re.IGNORECASE,
        ),
    ),
)


@lru_cache(maxsize=16)  # several rules ask, one after the other; it may be long
def judge(text: str) -> tuple[str, ...]:
    """Name what is dangerous about SQL text.

    Args:
        text: one or more statements.

    Returns:
        Kinds without repetition: ``drop``, ``truncate``, ``delete-all``, ``update-all``, ``alter-drop``, ``grant``, ``execute``.
    """
    if len(text) > 200_000:
        text = text[:200_000]
    dynamic = _runs_text(text)
    text = _CLIENT_LINE.sub("", text)
    bare = _NOISE.sub(lambda m: "''" if m.group().startswith("'") else " ", text)
    found: list[str] = ["drop"] if dynamic else []
    statements = [stripped for statement in bare.split(";") if (stripped := statement.strip())]
    kinds = [_statement(statement[:_LONGEST]) or _late(statement) for statement in statements[:_MOST]]
    if any(map(_DESTROYING.search, statements[_MOST:])):
        kinds.append("drop")
    return tuple(dict.fromkeys(filter(None, [*found, *kinds])))


_MOST = 2000
"""Statements that are looked at one by one."""
_LONGEST = 5000
"""Characters of a statement that are read."""
_DESTROYING = re.compile(
    r"\b(?:DROP|TRUNCATE|DELETE|UPDATE|ALTER|GRANT|REVOKE|COPY|EXECUTE|EXEC|xp_cmdshell|OUTFILE|DUMPFILE|FLUSHALL|FLUSHDB|SHUTDOWN|PURGE|RESTORE)\b",
    re.IGNORECASE,
)


def _late(statement: str) -> str:
    """Name what may stand where a statement is not read any more: the worst, when there is a word for it."""
    if len(statement) <= _LONGEST or statement[:6].upper() in {"INSERT", "SELECT", "VALUES"}:
        return ""
    return "drop" if _DESTROYING.search(statement, _LONGEST) else ""


_RUNS_TEXT = re.compile(r"\b(?:EXECUTE|PREPARE|EXEC|sp_executesql)\b|\\+gexec\b", re.IGNORECASE)
_UNHEX = re.compile(r"\b(?:UNHEX\(\s*|x(?='))'([0-9a-fA-F]{8,4000})'\s*\)?", re.IGNORECASE)
_FROM_BASE64 = re.compile(r"\b(?:FROM_BASE64|decode)\(\s*'([A-Za-z0-9+/=]{8,4000})'[^()]{0,20}\)", re.IGNORECASE)
_JOINED = re.compile(r"'\s*(?:\|\||\+|,)\s*'")
"""Pieces of a text, joined by an operator or as arguments of ``CONCAT``."""
_DESTROYS = re.compile(r"'[^']*\b(?:DROP|TRUNCATE|DELETE\s+FROM)\b", re.IGNORECASE)


def _runs_text(text: str) -> bool:
    """Tell whether statements are put together as text and run, and whether that text drops something."""
    if not _RUNS_TEXT.search(text):
        return False
    joined = _UNHEX.sub(lambda match: f"'{from_hex(match.group(1)) or ''}'", text)
    joined = _FROM_BASE64.sub(lambda match: f"'{from_base64(match.group(1)) or ''}'", joined)
    joined = _JOINED.sub("", joined)
    joined = re.sub(
        r"\b0x((?:[0-9a-fA-F]{2}){4,2000})\b",
        lambda match: f"'{bytes.fromhex(match.group(1)).decode('latin-1')}'",
        joined,
    )
    return _DESTROYS.search(joined) is not None


def _statement(text: str) -> str:  # noqa: PLR0911
    text = re.sub(
        r"^\s*(?:BEGIN|START TRANSACTION|ANALYZE|EXPLAIN\s+ANALYZE|go)\s+(?=\w)",
        "",
        text,
        flags=re.IGNORECASE,
    ).lstrip("\ufeff( \t\n\r")
    first = text[:10].upper()
    if (
        first.startswith(("EXPLAIN", "SELECT", "SHOW", "DESC", "INSERT", "SET ")) and first != "SET PASSWO"
    ) and not re.search(
        r"xp_cmdshell|pg_terminate|pg_drop|dblink_exec|lo_unlink|lo_export|lo_import|OUTFILE|DUMPFILE|LOAD_FILE",
        text,
        re.IGNORECASE,
    ):
        return ""
    if _DROP.match(text):
        return "drop"
    if _TRUNCATE.match(text):
        return "truncate"
    if (first.startswith(("DELETE", "WITH")) and _DELETE.match(text)) and _unbounded(text):
        return "delete-all"
    if first.startswith("ALTER") and _MUTATION.match(text) and _unbounded(text):
        return "delete-all"
    if _UPDATE.match(text) and _unbounded(text):
        return "update-all"
    if first.startswith("WITH"):
        inner = (_statement(match.group(1)) for match in _WITHIN.finditer(text))
        return next(filter(None, inner), "")
    for kind, pattern in _OTHER:
        if (pattern.search(text) or _copies(text)) if kind == "execute" else pattern.match(text):
            return kind
    return "drop" if _OTHER[4][1].search(text) else ""


_COPIES = re.compile(r"\bCOPY\b", re.IGNORECASE)
_WITH_PROGRAM = re.compile(r"\b(?:FROM|TO)\s+PROGRAM\b", re.IGNORECASE)


def _copies(text: str) -> bool:
    """Tell whether a statement copies to or from a program."""
    copies = _COPIES.search(text)
    return copies is not None and _WITH_PROGRAM.search(text, copies.end()) is not None


def _unbounded(text: str) -> bool:
    """Tell whether a statement has no WHERE, or one that is always true."""
    where = _WHERE.search(text)
    if where is None:
        return True
    condition = where.group(1).lstrip(" \t\r\n(")
    if _ALWAYS.match(condition) or _OR_TRUE.search(condition):
        return True
    return any(
        _COMPARE[sign](float(left), float(right)) != bool(negated)
        for negated, left, sign, right in _COMPARED.findall(condition)
    )
