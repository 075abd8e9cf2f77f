"""Secrets in commands: where they are, and the text without them.

Own rules, for reasons measured in docs/decisions/2026-11-21-masking-secrets.md. A rule covers the secret
alone, never the words around it, and never text that a shell would run (``$(..)``, backticks, blanks,
operators outside quotes): masking must not be a way to hide a command from the person, the log or the
reviewer.
"""

import functools
import re
from typing import Final, NamedTuple

_WORD: Final = r"[^\s'\"$`;|&<>(){}\\]"
"""One character of a literal secret: no blank, quote or anything the shell acts on."""
_QUOTED: Final = r"[^\s'\"$`{}\\]"
"""The same inside quotes, where operators are plain text. A blank ends it: quoted commands stay visible."""
_VALUE: Final = rf"(?:'({_QUOTED}{{4,512}})'|\"({_QUOTED}{{4,512}})\"|({_WORD}{{4,4096}}))"

_NAMES: Final = (
    r"(?i:(?:(?<![a-z])pass|pass(?:word|wd|phrase)|(?<=[_-])pwd|secret|token|credentials?|sshpass|rediscli_auth"
    r"|(?:api|access|auth|private|session|signing|encryption|account|master|secret)[-_]?key(?:[-_]?id)?))"
)
_GAP: Final = r"(?:\\n|\s){1,4}"
"""Between the lines of a key: line ends, or written as in JSON."""
_LINES: Final = rf"(?:{_GAP}[A-Za-z0-9+/=]{{16,100}}){{1,200}}"
_LAST: Final = rf"(?:{_GAP}[A-Za-z0-9+/=]{{1,15}})?"

_SAME: Final = r"[^\n;|&]{0,200}"
"""The rest of one simple command, as far as it matters here."""

_TOKENS: Final = (
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # AWS access key ids
    r"|\bgh[pousr]_[A-Za-z0-9]{30,255}"  # GitHub
    r"|\bgithub_pat_[A-Za-z0-9_]{22,255}"
    r"|\bgl(?:pat|dt|rt|cbt|ptt|soat|ft|imt|agent)-[A-Za-z0-9_-]{18,255}"  # GitLab
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,255}"  # Slack
    r"|\bxapp-[A-Za-z0-9-]{10,255}"
    r"|\b[sr]k_(?:live|test)_[A-Za-z0-9]{10,255}"  # Stripe
    r"|\bsk-[A-Za-z0-9_-]{20,255}"  # OpenAI, Anthropic and their kin
    r"|\bAIza[0-9A-Za-z_-]{35}"  # Google
    r"|\bya29\.[0-9A-Za-z_-]{20,2048}"
    r"|\bnpm_[A-Za-z0-9]{36}"
    r"|\bpypi-[A-Za-z0-9_-]{50,1024}"
    r"|\bhf_[A-Za-z0-9]{30,64}"  # Hugging Face
    r"|\bdo[opr]_v1_[a-f0-9]{64}"  # DigitalOcean
    r"|\bdckr_pat_[A-Za-z0-9_-]{20,64}"
    r"|\bSG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}"  # SendGrid
    r"|\bkey-[0-9a-f]{32}\b"  # Mailgun
    r"|\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"  # Telegram
    r"|\bhvs\.[A-Za-z0-9_-]{20,255}"  # Vault
    r"|\bAGE-SECRET-KEY-1[0-9A-Z]{58}"
    r"|\beyJ[A-Za-z0-9_-]{8,2048}\.eyJ[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{0,2048}"  # JSON Web Tokens
)


_RULES: Final = (
    (
        "private key",
        rf"-----BEGIN [A-Z ]{{0,30}}PRIVATE KEY-----({_LINES}{_LAST}){_GAP}-----END",
    ),
    ("token", rf"({_TOKENS})"),
    ("password in URL", r"[a-z][a-z0-9+.-]{0,30}://[^\s/:@'\"]{0,128}:([^\s/@'\"$`;|&<>(){}\\]{1,512})@"),
    ("webhook", r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{20,200})"),
    (
        "authorization",
        rf"(?i:authorization\s{{0,3}}[:=]\s{{0,3}}(?:bearer|basic|token|apikey))\s{{1,3}}({_WORD}{{4,8192}})",
    ),
    (
        "header",
        rf"(?i:x-[a-z-]{{0,40}}(?:token|key|secret|auth)|cookie)\s{{0,3}}:\s{{0,3}}({_WORD}{{4,8192}})",
    ),
    ("assignment", rf"{_NAMES}[\"']?[:=]{_VALUE}"),
    ("assignment", rf"{_NAMES}[\"']?\s{{0,2}}[:=]\s{{1,2}}(?=['\"]|\S{{0,60}}\d){_VALUE}"),
    ("setting", rf"\baws_(?:secret_access_key|session_token)\s{{1,4}}{_VALUE}"),
    ("option", rf"(?<!\S)--?(?i:(?:[a-z0-9]{{1,40}}-){{0,4}}){_NAMES}\s{{1,4}}(?!-){_VALUE}"),
    (
        "user option",
        rf"(?<!\S)(?:-u|--user|--proxy-user|-U)[ =]?['\"]?[\w.@%+-]{{1,128}}:(?!//)({_WORD}{{1,512}})",
    ),
    (
        "password option",
        rf"\b(?:mysql(?:dump|admin|import)?|mariadb(?:-dump)?)\b{_SAME}?\s-p({_WORD}{{3,256}})",
    ),
    ("password option", rf"\bsshpass\s{{1,4}}-p\s{{0,4}}['\"]?({_WORD}{{1,256}})"),
    (
        "password option",
        rf"\b(?:docker|podman|helm|az|skopeo|buildah|oc)\b{_SAME}?\slogin\b{_SAME}?\s-p\s{{1,4}}{_VALUE}",
    ),
    ("password option", rf"\bredis-cli\b{_SAME}?\s-a\s{{1,4}}{_VALUE}"),
)

_HINTS: Final = (
    *("pass", "pwd", "secret", "token", "credential", "key", "auth", "cookie", "://", "-u", "-p", "-a", "user"),
    *(
        "akia",
        "asia",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_",
        "glpat",
        "gldt",
        "glrt",
        "glcbt",
        "glptt",
    ),
    *("glsoat", "glft", "glimt", "glagent", "xox", "xapp", "sk_", "rk_", "sk-", "aiza", "ya29", "npm_", "pypi-"),
    *("hf_", "_v1_", "dckr_", "sg.", ":aa", "hvs.", "eyj", "slack"),
)
"""Every rule needs one of these, in lower case: most commands have none, and are done with quickly."""
_PLACEHOLDER: Final = re.compile(
    r"[*xX.]+|<.*>|\[.*\]|%[A-Za-z_]*%?|\d{1,5}|(?i:null|none|true|false|yes|no|required|optional|example|changeme|redacted|prompt|stdin)"
)
_LONGEST: Final = 64 * 1024
"""Characters searched for secrets in one go; longer texts are searched piece by piece, with overlap."""
_OVERLAP: Final = 16 * 1024


class Secret(NamedTuple):
    """Where a secret is.

    Attributes:
        start: index of its first character.
        end: index after its last character.
        kind: which rule found it, for people.
    """

    start: int
    end: int
    kind: str


@functools.cache
def _compiled() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(pattern)) for kind, pattern in _RULES)


def find_secrets(text: str) -> list[Secret]:
    """Find the secrets in a command, a header or any other text.

    Args:
        text: what to search. Time grows linearly with its length.

    Returns:
        The places in order, without overlap. Variable references and placeholders are no secrets.
    """
    lower = text.lower()
    if not any(hint in lower for hint in _HINTS):
        return []
    found: list[Secret] = []
    step = _LONGEST - _OVERLAP
    for base in range(0, max(1, len(text) - _OVERLAP), step):
        piece = text if len(text) <= _LONGEST else text[base : base + _LONGEST]
        for kind, pattern in _compiled():
            for match in pattern.finditer(piece):
                start, end = _span(match)
                if not _PLACEHOLDER.fullmatch(piece, start, end):
                    found.append(Secret(base + start, base + end, kind))
        if len(text) <= _LONGEST:
            break
    return _merged(found)


def _span(match: re.Match[str]) -> tuple[int, int]:
    # A rule has one group, or one per way of quoting, of which one took part.
    return match.span(match.lastindex or 0)


def _merged(found: list[Secret]) -> list[Secret]:
    merged: list[Secret] = []
    for secret in sorted(found):
        if merged and secret.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Secret(last.start, max(last.end, secret.end), last.kind)
        else:
            merged.append(secret)
    return merged


def stand_in(secret: Secret) -> str:
    """Return what is shown in the place of a secret; its length helps to recognise it, no more."""
    return f"<masked {secret.kind}, {secret.end - secret.start} characters>"


def mask(text: str) -> str:
    """Return ``text`` with every secret replaced by a note of its kind and length."""
    secrets = find_secrets(text)
    if not secrets:
        return text
    parts, done = [], 0
    for secret in secrets:
        parts += [text[done : secret.start], stand_in(secret)]
        done = secret.end
    return "".join([*parts, text[done:]])
