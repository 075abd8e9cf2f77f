"""Keys of hosts as OpenSSH's files have them: patterns, several keys, revoked ones, lines that are none."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.ssh.config import SshConfig
from shellward.environments.ssh.hostkeys import KnownHosts
from shellward.environments.ssh.sdk import sdk
from shellward.environments.ssh.target import resolve


@pytest.fixture(scope="module")
def keys() -> list[Any]:
    return [sdk().ECDSAKey.generate() for _ in range(3)]


@pytest.fixture
def key(keys: list[Any]) -> Any:
    return keys[0]


def verify(known: Path, key: Any, host: str = "one.example.org", port: int | None = None) -> str:
    """Return why a key is refused; empty: it is not."""
    target = resolve(SshConfig(host=host, port=port, config_file="", known_hosts=str(known)))
    try:
        KnownHosts(target).verify(key)
    except EnvironmentUnavailable as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("names", "host", "port"),
    [
        ("one.example.org", "one.example.org", None),
        ("one.example.org", "One.Example.ORG", None),
        ("two.example.org,one.example.org", "one.example.org", None),
        ("*.example.org", "one.example.org", None),
        ("on?.example.org", "one.example.org", None),
        ("!one.example.org,*.example.org", "two.example.org", None),
        ("[one.example.org]:2222", "one.example.org", 2222),
        ("[*]:2222", "one.example.org", 2222),
    ],
)
def test_names_that_are_a_host_s(tmp_path: Path, key: Any, names: str, host: str, port: int | None) -> None:
    known = tmp_path / "known"
    known.write_text(f"{names} {key.get_name()} {key.get_base64()} a comment\n")
    assert verify(known, key, host, port) == ""


@pytest.mark.parametrize(
    ("names", "host", "port"),
    [
        ("*.example.org", "example.org", None),
        ("*.example.org,!one.example.org", "one.example.org", None),
        ("[one.example.org]:2222", "one.example.org", None),
        ("one.example.org", "one.example.org", 2222),
        ("[12].example.org", "1.example.org", None),  # no class of characters
        ("one.example.orgs", "one.example.org", None),
        ("one-example-org", "one.example.org", None),
        ("one.example.org", "one-example.org", None),
    ],
)
def test_names_that_are_another_s(tmp_path: Path, key: Any, names: str, host: str, port: int | None) -> None:
    known = tmp_path / "known"
    known.write_text(f"{names} {key.get_name()} {key.get_base64()}\n")
    assert "is not known" in verify(known, key, host, port)


def test_a_host_may_have_several_keys_of_a_kind(tmp_path: Path, keys: list[Any]) -> None:
    known = tmp_path / "known"
    lines = [f"one.example.org {key.get_name()} {key.get_base64()}\n" for key in keys[:2]]
    known.write_text("".join(lines))
    assert [verify(known, key) for key in keys[:2]] == ["", ""]
    said = verify(known, keys[2])
    assert "is not the one that is known" in said
    assert all(key.fingerprint in said for key in keys)


def test_a_revoked_key_is_refused_even_where_it_is_known(tmp_path: Path, keys: list[Any]) -> None:
    known = tmp_path / "known"
    kind, key = keys[0].get_name(), keys[0].get_base64()
    for line in (f"one.example.org {kind} {key}\n@revoked * {kind} {key}", f"@revoked\tone.example.org  {kind} {key}"):
        known.write_text(line)
        said = verify(known, keys[0])
        assert "is revoked" in said
        assert keys[0].fingerprint in said
    known.write_text(f"one.example.org {kind} {key}\n@revoked two.example.org {kind} {key}")
    assert verify(known, keys[0]) == ""
    target = resolve(SshConfig(host="two.example.org", config_file="", known_hosts=str(known), host_keys="accept-new"))
    with pytest.raises(EnvironmentUnavailable, match="is revoked"):
        KnownHosts(target).verify(keys[0])


def test_an_authority_is_no_host(tmp_path: Path, keys: list[Any]) -> None:
    known = tmp_path / "known"
    known.write_text(f"@cert-authority * {keys[0].get_name()} {keys[0].get_base64()}\n")
    assert "is not known" in verify(known, keys[0])


def test_hashed_names(tmp_path: Path, keys: list[Any]) -> None:
    known = tmp_path / "known"
    known.write_text(f"one.example.org {keys[0].get_name()} {keys[0].get_base64()}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", known], check=True, capture_output=True)
    assert known.read_text().startswith("|1|")
    assert verify(known, keys[0]) == ""
    assert "is not known" in verify(known, keys[0], "two.example.org")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "# one.example.org",
        "one.example.org",
        "one.example.org ecdsa-sha2-nistp256",
        "one.example.org ecdsa-sha2-nistp256 no=base64",
        "one.example.org some-kind AAAA",
        "|1|nonsense|more ecdsa-sha2-nistp256 AAAA",
        "@revoked",
        "@nonsense one.example.org ecdsa-sha2-nistp256 AAAA",
        "\udcff\udcfe one.example.org \udc00",
    ],
)
def test_a_line_that_makes_no_sense_harms_no_other(tmp_path: Path, keys: list[Any], line: str) -> None:
    known = tmp_path / "known"
    good = f"one.example.org {keys[0].get_name()} {keys[0].get_base64()}\n"
    known.write_bytes(f"{line}\n{good}".encode("utf-8", "surrogatepass"))
    assert verify(known, keys[0]) == ""


def test_a_file_that_cannot_be_read(tmp_path: Path, keys: list[Any]) -> None:
    assert "cannot be read" in verify(tmp_path, keys[0])
    assert "is not known" in verify(tmp_path / "missing", keys[0])
