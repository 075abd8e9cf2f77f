"""What programs do besides being themselves: files they write, SQL they send, requests they make.

Each effect becomes a small command of its own (``> path``, ``@sql text``, ``@http METHOD url``), so that one rule on
``>`` covers tee, cp, dd, sed -i, curl -o and whatever else writes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.operands import operands, short_values
from shellward.command.values import known_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shellward.approval.rule import Call


def _destination(call: Call) -> Iterator[list[str]]:
    """``cp a b``: the last operand, or ``-t``."""
    args = call.args
    target = args.value("--target-directory")
    rest = args.operands
    if call.name == "rsync" and args.has("--dry-run", "--list-only"):
        return
    if target is None and len(rest) > 1:
        target = rest[-1]
    if target is None and call.name == "install" and args.has("--directory"):
        return
    if call.name == "rsync" and args.has("--remove-source-files"):
        yield ["rm", "-r", "--", *(word for word in rest[:-1] if ":" not in word)]
    if target and not re.match(r"[\w.@-]+::?\S", target):
        source = rest[0] if rest else ""
        if source == "/dev/null" and call.name not in {"mv", "gmv", "rsync"}:
            yield ["@empty", target]
        yield [
            ">>" if _keeps(call) else ">",
            target.rstrip("/") + "/" + source.rstrip("/").rpartition("/")[2] if target.endswith("/") else target,
        ]


def _keeps(call: Call) -> bool:
    """Tell whether a copy leaves what is already there, or keeps it under another name."""
    args = call.args
    return args.has("--no-clobber", "--backup", "--ignore-existing") or args.value("--update") in {"none", "none-fail"}


def _all(call: Call) -> Iterator[list[str]]:
    sign = ">>" if call.args.has("--append") else ">"
    for operand in call.args.operands:
        yield [sign, operand]


_IMAGE = re.compile(
    r"(?i)swap|\.(?:img|iso|raw|bin|qcow2?|vmdk|dat|test|tmp)$|test|dummy|sample|disk|zero|bench|/mnt/|/media/"
)
"""Names of files that people fill with zeros when they make them."""
_TRIAL = re.compile(r"(?i)test|dummy|sample|bench")
"""Names of files that are written to see how fast that is."""


def _dd(call: Call) -> Iterator[list[str]]:
    words = dict(word.partition("=")[::2] for word in call.argv[1:])
    target = words.get("of", "")
    if not target:
        return
    yield [">", target]
    if "notrunc" in words.get("conv", "").split(",") and not _TRIAL.search(target):
        yield ["@over", target]  # what is to keep its length is there
    noise = {"/dev/urandom", "/dev/random", "/dev/null"} | (set() if _IMAGE.search(target) else {"/dev/zero"})
    if words.get("if") in noise and target[0] in "/~" and "skip" not in words:
        yield ["@empty", target]


def _sed(call: Call) -> Iterator[list[str]]:
    if call.args.has("--in-place"):
        rest = call.args.operands
        for path in rest if call.args.has("--expression", "--file") else rest[1:]:
            yield ["@empty" if path.startswith(("/var/log/", "/var/run/utmp")) else ">", path]


def _perl(call: Call) -> Iterator[list[str]]:
    if any(re.match(r"-[a-zA-Z0]*i", word) and not word.startswith("-I") for word in call.argv[1:]):
        for path in operands(call.argv, "eEIMm"):
            yield [">", path]


def _awk(call: Call) -> Iterator[list[str]]:
    """``gawk -i inplace program file``."""
    if any("inplace" in value for _, value in short_values(call.argv, "i")) or "--include=inplace" in call.argv:
        rest = operands(call.argv, "fFvlie")
        for path in rest if short_values(call.argv, "fe") else rest[1:]:
            if "=" not in path:
                yield [">", path]


def _curl(call: Call) -> Iterator[list[str]]:
    args = call.args
    for path in args.values("--output"):
        folder = args.value("--output-dir")
        yield [">", f"{folder}/{path}" if folder else path]
    if args.has("--remote-name"):
        for url in args.operands:
            yield [">", url.rstrip("/").rpartition("/")[2]]
    method = (args.value("--request") or "").upper()
    if not method:
        data = args.has(
            "--data", "--data-raw", "--data-binary", "--data-urlencode", "--json", "--form", "--form-string"
        )
        method = "PUT" if args.has("--upload-file") else "POST" if data and not args.has("--get") else "GET"
    for url in [*args.operands, *args.values("--url")]:
        yield ["@http", method, url]


def _wget(call: Call) -> Iterator[list[str]]:
    args = call.args
    for path in args.values("--output-document", "--directory-prefix", "--output-file"):
        if path not in {"-", "/dev/null"}:
            yield [">", path]
    method = args.value("--method") or (
        "POST" if args.has("--post-data", "--post-file", "--body-data", "--body-file") else "GET"
    )
    for url in args.operands:
        yield ["@http", method.upper(), url]


def _httpie(call: Call) -> Iterator[list[str]]:
    rest = [word for word in call.argv[1:] if not word.startswith("-")]
    if rest and re.fullmatch(r"[A-Z]+|(?i:delete|post|put|patch|get|head)", rest[0]) and len(rest) > 1:
        yield ["@http", rest[0].upper(), rest[1]]
    elif rest:
        yield ["@http", "POST" if len(rest) > 1 and any("=" in word for word in rest[1:]) else "GET", rest[0]]


def _tar(call: Call) -> Iterator[list[str]]:
    if call.args.has("--extract") or re.match(r"-?[a-zA-Z]*x", call.argv[1] if len(call.argv) > 1 else ""):
        folder = call.args.value("--directory")
        if folder:
            yield [">", folder.rstrip("/") + "/*"]
    if call.args.has("--remove-files"):
        yield ["rm", "-r", "--", *call.args.operands]


def _unzip(call: Call) -> Iterator[list[str]]:
    if call.args.has("-d") and not call.args.has("-l", "-t", "-p"):
        yield [">", (call.args.value("-d") or "").rstrip("/") + "/*"]


def _archive(call: Call) -> Iterator[list[str]]:
    """``7z d``, ``zip -d``: what is taken out of an archive is gone."""
    rest = call.args.operands
    if call.name.startswith("7z") and rest[:1] == ["d"] and len(rest) > 1:
        yield ["@empty" if rest[1][:1] in {"/", "~"} else ">", rest[1]]
    if call.name.startswith("7z") and "-sdel" in call.argv:
        yield ["rm", "-r", "--", *[word for word in call.argv[2:] if not word.startswith("-")][1:]]
    elif call.name == "zip" and rest and any(re.fullmatch(r"-\w*d\w*|--delete", word) for word in call.argv[1:]):
        yield [">", rest[0]]
    elif call.name == "zip" and any(re.fullmatch(r"-\w*m\w*|--move", word) for word in call.argv[1:]):
        words = operands(call.argv, "bntxiTPs")
        yield ["rm", "-r", "--", *words[1:]]


def _image(call: Call) -> Iterator[list[str]]:
    """``qemu-img convert .. to``, ``qemu-img dd of=to``, ``qemu-img create disk``."""
    words = call.argv[1:]
    if words[:1] == ["create"]:
        yield from ([">", word] for word in operands(words, "fobBFu") if word.startswith("/dev/"))
    at = next((at for at, word in enumerate(words) if word in {"convert", "dd"}), None)
    if at is None:
        return
    named = operands(words[at:], "fOtTBolSrmsFL") if words[at] == "convert" else []
    written = named[-1:] if len(named) > 1 else [word[3:] for word in words[at:] if word.startswith("of=")]
    yield from ([">", path] for path in written)


_CLONERS = {
    "nbdcopy": ("", 2, "CRST"), "bmaptool": ("copy", 2, ""), "rpi-imager": ("--cli", 2, ""), "xfs_copy": ("", 2, "L"),
    "dd_rescue": ("", 2, "bBsSmexylo"), "virt-sparsify": ("", 2, ""), "virt-resize": ("", 2, ""), "nbd-copy": ("", 2, ""),
}  # fmt: skip
"""Programs that copy to their last operand: what must be asked for, how many operands, letters that have a value."""


def _clone(call: Call) -> Iterator[list[str]]:
    wanted, least, valued = _CLONERS[call.name]
    if wanted and wanted not in call.argv:
        return
    rest = [word for word in operands(call.argv, valued) if word != wanted]
    if len(rest) >= least:
        yield [">", rest[-1]]


def _restored(call: Call) -> Iterator[list[str]]:
    """``ntfsclone -O to``, ``partclone.ext4 -r -o to``."""
    for name, value in short_values(call.argv, "oO"):
        if name == "O" or call.name != "ntfsclone":
            yield [">", value]
    for word, value in zip(call.argv, [*call.argv[1:], ""], strict=True):
        name, equals, given = word.partition("=")
        if name in {"--overwrite", "--output"} and (name == "--overwrite" or call.name != "ntfsclone"):
            yield [">", given if equals else value]


def _after(option: str) -> Callable[[Call], Iterator[list[str]]]:
    """Make a reader of the path after one option."""

    def effect(call: Call) -> Iterator[list[str]]:
        for at, word in enumerate(call.argv[:-1]):
            if word == option:
                yield [">", call.argv[at + 1]]

    return effect


# -- SQL ------------------------------------------------------------------------------------------------


def _scratch_database(path: str) -> bool:
    return path == ":memory:" or path.startswith(("/tmp/", "/var/tmp/", "file::memory:", "file:/tmp/"))


_CLUSTER = re.compile(r"-[A-Za-z0-9]{1,8}\Z")
"""Short options in one word; the last of them may have a value."""


def _sql(*options: str) -> Callable[[Call], Iterator[list[str]]]:
    """Make a reader of SQL given by options, or on standard input when there is none."""

    def effect(call: Call) -> Iterator[list[str]]:
        argv = call.argv
        found = False
        for at, word in enumerate(argv[1:], 1):
            for option in options:
                text = None
                if word == option or (option[1] != "-" and _CLUSTER.match(word) and word.endswith(option[1])):
                    text = argv[at + 1] if at + 1 < len(argv) else None
                elif word.startswith(option + "=") and option.startswith("--"):
                    text = word[len(option) + 1 :]
                elif option[1] != "-" and word.startswith(option) and len(word) > 2 and " " in word:
                    text = word[2:]
                if text is not None:
                    found = True
                    yield ["@sql", call.name, text]
                    break
        if not found and call.inv.stdin:
            yield ["@sql", call.name, call.inv.stdin]

    return effect


def _sqlite(call: Call) -> Iterator[list[str]]:
    rest = operands(call.argv)
    commands = [call.argv[at + 1] for at, word in enumerate(call.argv[:-1]) if word == "-cmd"]
    rest = [word for word in rest if word not in commands]
    if rest and _scratch_database(rest[0]):
        return
    texts = commands + rest[1:]
    if call.inv.stdin and not rest[1:]:
        texts.append(call.inv.stdin)
    for text in texts:
        yield ["@sql", call.name, text]


def _db2(call: Call) -> Iterator[list[str]]:
    """``db2 'text'``: the words are the statement."""
    text = " ".join(word for word in call.argv[1:] if word[:1] not in {"-", "+"}) or call.inv.stdin or ""
    yield ["@sql", "db2", text]


def _bq(call: Call) -> Iterator[list[str]]:
    """``bq query 'text'``: the query is an operand, or standard input."""
    if "query" in call.args.subs or "query" in call.argv[1:4]:
        texts = [word for word in call.argv[1:] if " " in word and word[:1] != "-"]
        for text in texts or [call.inv.stdin or ""]:
            yield ["@sql", "bq", text]


def _words(call: Call) -> Iterator[list[str]]:
    """SQL typed as if it were a command."""
    yield ["@sql", "typed", " ".join(call.argv)]


def _keygen(call: Call) -> Iterator[list[str]]:
    """``ssh-keygen -f key``: over an existing one when the question is answered."""
    if re.match(r"\s*[yY]", call.inv.stdin or "") and not any(
        word in {"-l", "-y", "-e", "-R", "-F"} for word in call.argv
    ):
        yield from ([">", value] for _, value in short_values(call.argv, "f"))


EFFECTS: dict[str, Callable[[Call], Iterator[list[str]]]] = {
    **dict.fromkeys(["cp", "gcp", "mv", "gmv", "install", "ginstall", "ln", "gln", "rsync"], _destination),
    **dict.fromkeys(["tee", "truncate", "sponge", "sudoedit"], _all),
    **dict.fromkeys(["sed", "gsed"], _sed), **dict.fromkeys(["awk", "gawk"], _awk),
    "perl": _perl, "ruby": _perl, "dd": _dd, "gdd": _dd, "curl": _curl, "curlie": _curl, "wget": _wget, "wget2": _wget,
    **dict.fromkeys(["http", "https", "xh", "xhs"], _httpie),
    **dict.fromkeys(["tar", "gtar", "bsdtar"], _tar), "unzip": _unzip, "openssl": _after("-out"), "sort": _after("-o"),
    "qemu-img": _image, "ssh-keygen": _keygen, **dict.fromkeys(_CLONERS, _clone),
    **dict.fromkeys(["ntfsclone", *(f"partclone.{kind}" for kind in ("restore", "dd", "ext2", "ext3", "ext4", "xfs", "btrfs", "ntfs", "vfat", "fat32", "f2fs"))], _restored),
    **dict.fromkeys(["7z", "7za", "7zz", "7zr", "zip"], _archive), "gpg": _after("-o"), "patch": _after("-o"),
    **dict.fromkeys(["psql", "pgcli", "usql", "vsql", "edb-psql", "cockroach"], _sql("-c", "--command", "-e", "--execute")),
    **dict.fromkeys(["mysql", "mariadb", "mycli", "tidb-client"], _sql("-e", "--execute", "--init-command")),
    **dict.fromkeys(["sqlite3", "sqlite", "litecli", "duckdb", "turso", "libsql"], _sqlite),
    **dict.fromkeys(["clickhouse-client", "clickhouse", "clickhouse-local"], _sql("-q", "--query", "--multiquery")),
    **dict.fromkeys(["spark-sql", "hplsql", "surreal", "bsql", "mclient", "vertica-sql", "exaplus", "pgbench", "cqlsh", "hive", "beeline", "impala-shell", "trino", "presto", "presto-cli"], _sql("-e", "-q", "--execute", "--query")),
    **dict.fromkeys(["sqlcmd", "isql", "tsql", "osql", "bteq", "fisql"], _sql("-Q", "-q", "--query")),
    "db2": _db2,
    **dict.fromkeys(["sqlplus", "sql", "snowsql", "snow", "influx", "spanner-cli", "wrangler", "heroku", "supabase", "gcloud", "aws"], _sql("-q", "--query", "-execute", "--sql", "--command", "-c", "--query-string", "--execute", "--ddl")),
    "bq": _bq,
    **dict.fromkeys(["DROP", "drop", "Drop", "TRUNCATE", "DELETE", "delete", "UPDATE", "update", "ALTER", "alter", "GRANT"], _words),
}  # fmt: skip
"""Effects by command name."""


def effects(call: Call) -> list[list[str]]:
    """List the effects of a command."""
    function = EFFECTS.get(call.name)
    if function is None:
        return []
    return [effect for effect in function(call) if known_part(effect[-1]) or effect[0] == ">"]
