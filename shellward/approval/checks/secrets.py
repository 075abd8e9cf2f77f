"""Checks of secrets that leave by the network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.approval.paths import CREDENTIALS, Kind, absolute, classify, well_known
from shellward.command.values import known_part, labels

if TYPE_CHECKING:
    from shellward.approval.rule import Call


SECRET_NAME = re.compile(
    r"(?i)secret|token|passw|passphrase|api_?key|access_?key|private_?key|credential|_pat$|^pat$|auth_|_auth|encryption_key|signing_key|conn(?:ection)?_str|database_url|_dsn$|cookie|session_key"
)


_AUTH_HEADER = re.compile(
    r"(?i)(?:proxy-)?(?:authorization|[\w-]{0,60}api-?key|private-token|[\w-]{0,60}auth[\w-]{0,60}|x-vault-token|job-token|deploy-token|circle-token|x-access-token|[\w-]{0,60}access-key|x-goog-\S{1,60}|cookie|x-[\w-]{0,60}token)\s*:"
)


_LOCAL_HOST = re.compile(r"^(?:https?://)?(?:localhost|127\.\d|0\.0\.0\.0|\[::1\]|host\.docker\.internal)")


_ANYWHERE = frozenset(("curl", "wget", "nc", "ncat", "netcat", "socat", "telnet", "openssl", "http", "https", "xh"))
_DUMP = re.compile(
    r"out:(?:mysqldump|mariadb-dump|pg_dump|pg_dumpall|mongodump|mongoexport|tcpdump|tshark|ldapsearch|slapcat|redis-cli---rdb|bcp|svnadmin(?:-dump\S*)?)\b"
)
_STORE = re.compile(
    r"file:/var/lib/(?:docker/volumes|containers/storage/volumes|mysql|postgresql|pgsql|mongo\w*|redis|couchdb|influxdb|neo4j"
    r"|jenkins|gitlab|rabbitmq|ldap|samba)(?:/|\Z)"
)
"""Whole databases as files; programs for backups (ssh, aws, rclone) may have them, others that send may not."""


def secret_label(label: str) -> bool:
    """Tell whether an unknown piece would be a secret."""
    kind, _, detail = label.partition(":")
    if kind in {"file", "read"}:
        detail = well_known(detail)
        return bool(CREDENTIALS.search(detail)) or detail in {
            "/etc/passwd",
            "~",
            "~/",
            "/etc",
            "/root",
            "/home",
        }
    if kind == "var":
        return bool(SECRET_NAME.search(detail)) and not re.search(
            r"(?i)_(?:path|file|dir|name|id|url|type|count|len)$", detail
        )
    if kind == "out":
        return bool(
            re.match(
                r"(?:env|printenv|set|export|declare|security-find|history|pass(?:-show)?|gpg|op-(?:read|item)|bw-get|vault-(?:kv|read)|keyring|secret-tool|aws-(?:sts|configure-get|secretsmanager)|gcloud-auth|kubectl-(?:[\w.-]+-)?get-secrets?|kubectl-(?:[\w.-]+-)?config-view|gh-auth-token|gopass|ykman|mimikatz|lsass|ssh-add|getent|crontab|docker-inspect|find-generic)",
                detail,
            )
        )
    return False


_FIELDS = frozenset(("-F", "--form", "--form-string", "-d", "--data", "--data-raw", "--data-urlencode"))
_OWN_FIELD = re.compile(
    r"(?i)(?:token|api_?key|access_token|auth_token|password|client_secret|user_?key|app_?key|license_?key)=[\"']?$"
)


def sends_secret(call: Call) -> tuple[str, ...]:
    """Secrets that leave by a network program: in its words, its input, or files it uploads."""
    bad: list[str] = []
    previous = ""
    secure = any(word.startswith("https://") for word in call.argv[1:])
    for word in call.argv[1:]:
        header = previous in {
            "-H",
            "--header",
            "-u",
            "--user",
            "--oauth2-bearer",
            "-b",
            "--cookie",
            "--password",
            "--http-password",
        }
        previous_option, previous = previous, word
        plain = known_part(word)
        if (header and (_AUTH_HEADER.match(plain) or ":" not in plain or "Authorization" in plain)) or plain.startswith(
            ("--header=Authorization", "--header=X-", "--user=", "--password=", "--http-password=")
        ):
            bad += [
                label
                for label in labels(word)
                if label.startswith("file:") and CREDENTIALS.search(label[5:]) and _AUTH_HEADER.match(plain) is None
            ]
            continue
        if previous_option in _FIELDS and _OWN_FIELD.match(plain) and secure:
            continue  # a service is given its own token, in a field of that name
        bad += [label for label in labels(word) if secret_label(label)]
    bad += [label for label in labels(call.inv.stdin or "") if secret_label(label)]
    bad += [note for note in call.inv.notes if note.startswith("file:") and secret_label(note)]
    if call.name in _ANYWHERE:
        bad += [label for label in labels(call.inv.stdin or "") if _DUMP.match(label) or _STORE.match(label)]
        bad += [note for note in call.inv.notes if _DUMP.match(note)]
    bad += [
        path
        for path in uploaded(call)
        if CREDENTIALS.search(well_known(absolute(path, call.inv.cwd)))
        or any(CREDENTIALS.search("/x/" + label[5:].strip("*")) for label in labels(path) if label.startswith("find:"))
        or re.match(r"(?:~|/home/\w+|/root|/etc)(?:/\*?)?$", path)
        or path == "/etc/passwd"
    ]
    urls = [word for word in call.argv[1:] if "://" in word or _LOCAL_HOST.match(word)]
    if urls and all(_LOCAL_HOST.match(url) for url in urls) and all(b.startswith("var:") for b in bad):
        return ()
    return tuple(dict.fromkeys(bad))


def _put(call: Call) -> list[str]:
    """List what ``put`` sends, in the words or on standard input of a client of file servers."""
    texts = [*call.argv[1:], " ".join(call.argv[1:]), call.inv.stdin or ""]
    return [
        path
        for text in texts
        for path in re.findall(r"(?im)(?:^|[;&\s])(?:m?re?put|m?put|send)\s+(?:-\w+\s+)*([^\s;]+)", text)
    ]


def uploaded(call: Call) -> list[str]:  # noqa: PLR0911
    """List the local files that a network program sends."""
    args, name = call.args, call.name
    if name in {"curl", "curlie"}:
        found = [
            v.removeprefix("@")
            for v in args.values("--data", "--data-binary", "--data-urlencode", "--json")
            if v.startswith("@")
        ]
        found += [v.partition("@")[2] for v in args.values("--data-urlencode") if "=@" in v or re.match(r"\w+@", v)]
        found += [
            re.split(r"=[@<]", v, maxsplit=1)[1].partition(";")[0]
            for v in args.values("--form")
            if re.search(r"=[@<]", v)
        ]
        return found + [v for v in args.values("--upload-file") if v not in {"-", "."}]
    if name in {"wget", "wget2"}:
        return args.values("--post-file", "--body-file")
    if name in {"http", "https", "xh", "xhs"}:
        return [word.partition("@")[2] for word in call.argv[1:] if re.match(r"\w*@[/~.\w]", word)]
    if name == "socat":
        named = (re.match(r"(?i)(?:file|open|gopen|rdonly|create):([^,]+)", word) for word in call.argv[1:])
        return [match.group(1) for match in named if match]
    if name in {"scp", "rsync", "sftp"}:
        rest = args.operands
        return (
            [word for word in rest[:-1] if ":" not in known_part(word)] + _put(call)
            if rest and re.match(r"(?:[\w.-]+@)?[\w.-]+:", rest[-1])
            else _put(call)
        )
    if name in {"ftp", "lftp", "tftp", "tnftp", "ncftpput", "smbclient"}:
        return _put(call) + [word for word in call.argv[1:] if CREDENTIALS.search(word)]
    if name in {
        "aws",
        "gsutil",
        "gcloud",
        "rclone",
        "mc",
        "s3cmd",
        "azcopy",
        "az",
        "b2",
        "doctl",
        "croc",
        "wormhole",
        "magic-wormhole",
        "transfer",
        "ffsend",
        "gh",
        "glab",
        "mail",
        "mutt",
        "sendmail",
        "mailx",
        "swaks",
        "ipfs",
        "magick",
        "nc",
        "ncat",
        "telegram-send",
        "0x0",
        "bashupload",
        "pastebinit",
        "termbin",
    }:
        return [
            word.removeprefix("file://")
            for word in call.argv[1:]
            if CREDENTIALS.search(word) and not word.startswith(("-", "s3://", "gs://"))
        ]
    return []


_SERVERS = {
    "python": (r"-m http\.server|-m SimpleHTTPServer|-m uploadserver|-m pyftpdlib", ("-d", "--directory")),
    "php": (r"-S\b", ("-t", "--docroot")), "busybox": (r"httpd", ("-h",)), "httpd": ("", ("-h",)),
    "ruby": (r"-run.*httpd", ()), "npx": (r"\b(?:http-server|serve)\b", ()), "twistd": (r"\bweb\b", ("--path",)),
}  # fmt: skip
"""Programs that offer a directory by HTTP: how that is asked for, and the options that name the directory."""


def serves_secrets(call: Call) -> tuple[str, ...]:
    """A directory that is offered to the network, when it is the system, a home, or holds keys."""
    mark, options = _SERVERS.get(call.name.rstrip("23"), ("", ()))
    text = " ".join(call.argv[1:])
    if mark and not re.search(mark, text):
        return ()
    words = call.argv[1:]
    named = [words[at + 1] for at, word in enumerate(words[:-1]) if word in options]
    named += [word.partition("=")[2] for word in words if word.partition("=")[0] in options and "=" in word]
    if not options:
        named += [word for word in words if word[:1] in {"/", "~"} or word == "."]
    folders = named or ["."]
    return tuple(folder for folder in folders if _tells(absolute(folder, call.inv.cwd)))


def _tells(folder: str) -> bool:
    """Tell whether a directory holds what nobody else may read."""
    return classify(folder) in {Kind.ROOT, Kind.SYSTEM} or bool(
        CREDENTIALS.search(folder) or CREDENTIALS.search(f"{folder}/")
    )
