"""OpenSSH's configuration: what of it reaches a target, and the files that it includes."""

import getpass
from pathlib import Path

import pytest

from shellward.core.errors import ConfigError
from shellward.environments.ssh.config import SshConfig
from shellward.environments.ssh.target import Target, resolve


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with an empty ``.ssh``."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    return tmp_path


def found(home: Path, text: str, host: str = "box") -> Target:
    (home / ".ssh" / "config").write_text(text)
    return resolve(SshConfig(host=host))


def test_what_is_read_of_the_usual_file(home: Path) -> None:
    target = found(
        home,
        """
        Host box other
            HostName box.example.org
            User me
            Port 2200
            IdentityFile ~/.ssh/one
            IdentityFile "~/.ssh/with blank"
            CertificateFile ~/.ssh/one-cert.pub
            IdentitiesOnly yes
            IdentityAgent none
            UserKnownHostsFile ~/known ~/more
            GlobalKnownHostsFile /dev/null
            HostKeyAlias alias
            StrictHostKeyChecking accept-new
        """,
    )
    assert (target.address, target.user, target.port) == ("box.example.org", "me", 2200)
    assert target.keys == (f"{home}/.ssh/one", f"{home}/.ssh/with blank")
    assert target.certificates == (f"{home}/.ssh/one-cert.pub",)
    assert (target.only_keys, target.agent, target.accept_new) == (True, None, True)
    assert target.known_hosts == (f"{home}/known", f"{home}/more", "/dev/null")
    assert target.key_name == "alias"


def test_what_holds_without_any(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (home / ".ssh" / "id_ed25519").touch()
    target = resolve(SshConfig(host="box"))
    assert (target.address, target.user, target.port) == ("box", getpass.getuser(), 22)
    assert target.keys == (f"{home}/.ssh/id_ed25519",)
    assert target.known_hosts[0] == f"{home}/.ssh/known_hosts"
    assert (target.only_keys, target.agent, target.accept_new, target.jump) == (False, None, False, None)


def test_the_first_value_counts_and_settings_come_before_it(home: Path) -> None:
    text = "Host b*\n  User first\nHost *\n  User second\n  Port 2201\nHost !box *\n  HostName elsewhere\n"
    assert (found(home, text).user, found(home, text).port, found(home, text).address) == ("first", 2201, "box")
    assert found(home, text, "other").address == "elsewhere"
    assert resolve(SshConfig(host="box", user="mine", port=9)).user == "mine"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("", "/of/the/session"),
        ("IdentityAgent SSH_AUTH_SOCK", "/of/the/session"),
        ("IdentityAgent $OTHER", "/other"),
        ("IdentityAgent ${OTHER}", "/other"),
        ("IdentityAgent $UNSET", None),
        ("IdentityAgent NONE", None),
        ("IdentityAgent /a/path", "/a/path"),
        ('IdentityAgent "~/with blank/agent"', "HOME/with blank/agent"),
    ],
)
def test_where_the_agent_listens(home: Path, monkeypatch: pytest.MonkeyPatch, text: str, address: str | None) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/of/the/session")
    monkeypatch.setenv("OTHER", "/other")
    assert found(home, f"Host box\n  {text}\n").agent == (address and address.replace("HOME", str(home)))


def test_known_hosts_that_are_none_are_no_file(home: Path) -> None:
    assert found(home, "UserKnownHostsFile none\n").known_hosts[0] == "/dev/null"


def test_a_way_through_others(home: Path) -> None:
    target = found(home, "Host box\n  ProxyJump a@one:2201,two\nHost two\n  User b\n  HostName 10.0.0.2\n")
    assert target.jump is not None
    assert (target.jump.address, target.jump.user) == ("10.0.0.2", "b")
    assert target.jump.jump is not None
    assert (target.jump.jump.address, target.jump.jump.user, target.jump.jump.port) == ("one", "a", 2201)


def test_match_counts(home: Path) -> None:
    text = "Match host box user me\n  Port 2202\nMatch all\n  Port 2203\n"
    assert found(home, "Host box\n  User me\n" + text).port == 2202
    assert found(home, text, "other").port == 2203


def test_included_files_count_where_they_stand(home: Path) -> None:
    (home / ".ssh" / "config.d").mkdir()
    (home / ".ssh" / "config.d" / "10-work").write_text("Host box\n  HostName 10.0.0.1\n  Include deeper\n")
    (home / ".ssh" / "config.d" / "20-home").write_text("Host box\n  HostName 10.0.0.9\nHost other\n  Port 2204\n")
    (home / ".ssh" / "deeper").write_text("Port 2205\n")
    text = "Include config.d/* ~/no-such-file\nUser everywhere\nHost box\n  Compression yes\n"
    target = found(home, text)
    assert (target.address, target.port, target.user) == ("10.0.0.1", 2205, "everywhere")
    other = found(home, text, "other")
    assert (other.address, other.port, other.user) == ("other", 2204, "everywhere")


def test_an_include_in_a_block_counts_for_that_block(home: Path) -> None:
    (home / "plain").write_text("Port 2206\n")
    (home / "blocks").write_text("Host *\n  Port 2207\n")
    for file, port in (("plain", 2206), ("blocks", 2207)):
        text = f"Host box\n  Include {home}/{file}\n  User inside\nHost *\n  Compression yes\n"
        assert (found(home, text).port, found(home, text).user) == (port, "inside")
        assert (found(home, text, "other").port, found(home, text, "other").user) == (22, getpass.getuser())
    assert found(home, f"Match all\n  Include {home}/blocks\n").port == 2207


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Include config\n", "more than 16"),
        ("Include 'unfinished\n", "closing quotation"),
        ("Match user me\n  Include blocks\n", "Match user me"),
        ("nonsense\n", "config_file"),
        ("Host box\n  Port many\n", "port of 'box'"),
    ],
)
def test_what_makes_no_sense_is_named(home: Path, text: str, words: str) -> None:
    (home / ".ssh" / "blocks").write_text("Host *\n  Port 2207\n")
    with pytest.raises(ConfigError, match=words):
        found(home, text)


def test_a_file_that_is_none(home: Path) -> None:
    (home / ".ssh" / "config").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"config_file.*cannot be read"):
        resolve(SshConfig(host="box"))
    with pytest.raises(ConfigError, match=r"config_file.*no-such"):
        resolve(SshConfig(host="box", config_file="/no-such"))
