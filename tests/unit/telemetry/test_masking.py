"""Secrets leave commands, and nothing else does: masking must not become a way to hide a command."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellward.telemetry.masking import find_secrets, mask

TOKEN = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"

SECRETS = [
    ("export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY"),
    ("aws configure set aws_secret_access_key wJalrXUtnFEMI", "wJalrXUtnFEMI"),
    ("echo AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("curl -H 'Authorization: Bearer abcdef.123456' https://x.example", "abcdef.123456"),
    ('curl -H "authorization: Basic dXNlcjpwYXNz" https://x.example', "dXNlcjpwYXNz"),
    ("curl -H 'X-Api-Key: abcdef123' https://x.example", "abcdef123"),
    ("curl -H 'Cookie: session=abcdef123' https://x.example", "session=abcdef123"),
    ("curl -u admin:hunter2 https://x.example", "hunter2"),
    ("curl 'https://x.example/?api_key=0123456789abcdef&x=1'", "0123456789abcdef"),
    ("mysql -phunter2 -u root", "hunter2"),
    ("mysqldump --password=hunter2 db", "hunter2"),
    ("PGPASSWORD=hunter2 psql", "hunter2"),
    ("sshpass -p hunter2 ssh host", "hunter2"),
    ("docker login -u me -p hunter2 registry.example", "hunter2"),
    ("redis-cli -a hunter2 ping", "hunter2"),
    ("git clone https://me:hunter2@git.example/x", "hunter2"),
    ("psql postgres://me:p@db.example/x", "p"),
    (f"git remote add o https://{TOKEN}@github.com/x", TOKEN),
    ("tool --token abcdef123 run", "abcdef123"),
    ("tool --client-secret 'abcdef;123' run", "abcdef;123"),
    ('echo \'{"password": "hunter2!"}\' > f', "hunter2!"),
    ("kubectl create secret generic db --from-literal=password=hunter2", "hunter2"),
    ("echo 'token: abcdef123' > f", "abcdef123"),
    (
        "printf '-----BEGIN RSA PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA7\\nab==\\n-----END RSA PRIVATE KEY-----'",
        "MIIEpAIBAAKCAQEA7",
    ),
]

HARMLESS = [
    "ls --token $TOKEN",
    'ls --password "$PW"',
    "mkdir -p src/components",
    "tar -pxvf a.tar",
    "ssh -p 2222 host",
    "git commit -m 'fix: token: handling of foo'",
    "passwd root",
    "grep -r password src",
    "curl -u admin https://x.example",
    "echo PASSWORD=<your-password>",
    "export TOKEN=$(cat f)",
    "docker run -p 8080:80 -u 1000:1000 nginx",
    "cat <<EOF\nmax_tokens: 4096\nEOF",
    "cd $PWD; echo PWD=/home/me",
    "compass=north",
]  # fmt: skip


@pytest.mark.parametrize(("command", "secret"), SECRETS)
def test_secrets_are_masked_and_the_rest_stays(command: str, secret: str) -> None:
    found = find_secrets(command)
    assert any(command[s.start : s.end].startswith(secret) or secret in command[s.start : s.end] for s in found)
    masked = mask(command)
    if len(secret) > 3:
        assert secret not in masked
    assert masked[: masked.index("<")] == command[: masked.index("<")]


@pytest.mark.parametrize("command", HARMLESS)
def test_what_is_no_secret_stays(command: str) -> None:
    assert mask(command) == command


@pytest.mark.parametrize(
    "command",
    [
        'password="$(rm -rf /srv)"',
        "password=`rm -rf /srv`",
        "token='x; rm -rf /srv'; eval $token",
        "token=abc;rm -rf /srv",
        "token=abc&&rm -rf /srv",
        "--password {rm,-rf,/srv}",
        "-----BEGIN PRIVATE KEY-----\nrm -rf /srv\n-----END PRIVATE KEY-----",
        "https://x:$(rm -rf /srv)@h/",
        "Authorization: Bearer x;rm -rf /srv",
    ],
)
def test_masking_never_hides_a_command(command: str) -> None:
    assert "rm" in mask(command)
    assert "/srv" in mask(command)


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    secrets = find_secrets(text)
    assert secrets == sorted(secrets)
    assert all(0 <= s.start < s.end <= len(text) for s in secrets)
    assert all(a.end <= b.start for a, b in pairwise(secrets))


def test_a_long_text_is_searched_to_its_end() -> None:
    text = ("x" * 99 + " ") * 3000
    masked = mask(f"{text}{TOKEN} {text} --password hunter2 ")
    assert TOKEN not in masked
    assert "hunter2" not in masked
