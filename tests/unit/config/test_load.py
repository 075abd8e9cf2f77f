"""Reading settings: each value has a source, each mistake one clear line that names the key."""

from pathlib import Path

import pytest

from shellward.config import load
from shellward.config.loader import get, keys
from shellward.core.errors import ConfigError


def write(home: Path, text: str) -> Path:
    home.mkdir(exist_ok=True)
    file = home / "config.yaml"
    file.write_text(text)
    return file


def test_defaults_without_any_file(own_home: Path) -> None:
    loaded = load()
    assert loaded.config.approval.mode == "manual"
    assert loaded.file == own_home / "config.yaml"
    assert set(loaded.sources.values()) == {"default"}


def test_every_value_has_a_source(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(own_home, "# mine\napproval:\n  mode: off\n  timeout: 20\naudit:\n  fsync: never\n")
    monkeypatch.setenv("SHELLWARD_APPROVAL__TIMEOUT", "7.5")
    monkeypatch.setenv("TERMINAL_SSH_PORT", "2222")
    loaded = load(overrides={"audit.fsync": "always"})
    assert loaded.config.approval.mode == "off"
    assert loaded.config.approval.timeout == 7.5
    assert loaded.config.terminal.ssh.port == 2222
    assert loaded.config.audit.fsync == "always"
    assert loaded.sources["approval.mode"] == f"{file}:3"
    assert loaded.sources["approval.timeout"] == "$SHELLWARD_APPROVAL__TIMEOUT"
    assert loaded.sources["terminal.ssh.port"] == "$TERMINAL_SSH_PORT"
    assert loaded.sources["audit.fsync"] == "argument"
    assert set(loaded.sources) == set(keys())


def test_our_variable_wins_over_the_alias(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMINAL_ENV", "docker")
    assert load().config.terminal.env == "docker"
    monkeypatch.setenv("SHELLWARD_TERMINAL__ENV", "ssh")
    assert load().config.terminal.env == "ssh"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aproval: {}\n", "config.yaml:1: aproval: unknown setting; did you mean approval?"),
        ("approval:\n  mood: off\n", "config.yaml:2: approval.mood: unknown setting; did you mean mode?"),
        (
            "approval:\n  mode: yolo\n",
            "config.yaml:2: approval.mode: must be one of manual, smart, off (got 'yolo')",
        ),
        (
            "approval:\n  timeout: soon\n",
            "config.yaml:2: approval.timeout: expected float, got str (got 'soon')",
        ),
        ("approval:\n  timeout: -1\n", "approval.timeout: expected float > 0.0 (got -1)"),
        ("approval:\n  timeout: .nan\n", "approval.timeout"),
        ("approval: 3\n", "config.yaml:1: approval: must be a mapping"),
        ("- approval\n", "config.yaml: must be a mapping of sections"),
        ("approval:\n  mode: [\n", "config.yaml:"),
        ("approval:\n  mode: off\n  mode: smart\n", 'config.yaml:3: found duplicate key "mode"'),
        (
            "approval:\n  rules:\n  - {action: allow}\n",
            "approval.rules[0]: needs one of glob, regex, argv, rule",
        ),
        ("approval:\n  rules:\n  - {action: allow, regex: '('}\n", "approval.rules[0].regex: missing )"),
        (
            "approval:\n  rules:\n  - {action: alow, glob: x}\n",
            "approval.rules[0].action: invalid enum value 'alow'",
        ),
        ("approval:\n  rules:\n  - {action: deny, globb: x}\n", "object contains unknown field globb"),
        ("approval:\n  command_allowlist: git push\n", "approval.command_allowlist: expected array, got str"),
        ("approval:\n  command_allowlist: [{comand: x}]\n", "approval.command_allowlist"),
        ("? [a, b]\n: 1\n", "unknown setting"),
        ("\x00", "config.yaml"),
        ("!!python/object:os.system 'true'\n", "must be a mapping"),
        ("a: " + "[" * 3000, "config.yaml"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_key(own_home: Path, text: str, message: str) -> None:
    write(own_home, text)
    with pytest.raises(ConfigError) as caught:
        load()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_a_config_error(own_home: Path) -> None:
    own_home.mkdir()
    (own_home / "config.yaml").write_bytes(b"approval:\n  mode: \xff\n")
    with pytest.raises(ConfigError, match="cannot be read"):
        load()
    with pytest.raises(ConfigError, match="no such settings file"):
        load(file=own_home / "other.yaml")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "SHELLWARD_APPROVAL__MOOD",
            "x",
            "$SHELLWARD_APPROVAL__MOOD: approval.mood: unknown setting; did you mean",
        ),
        ("SHELLWARD_APPROVAL__TIMEOUT", "soon", "$SHELLWARD_APPROVAL__TIMEOUT: approval.timeout"),
        ("SHELLWARD_APPROVAL__RULES", "[{", "$SHELLWARD_APPROVAL__RULES: approval.rules: not valid JSON"),
        ("TERMINAL_TIMEOUT", "x", "$TERMINAL_TIMEOUT: terminal.timeout"),
    ],
)
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        load()
    assert str(caught.value).startswith(message)


def test_variables_that_are_not_settings_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLWARD_TEST_REQUIRE", "docker")
    assert load().config.approval.mode == "manual"


def test_lists_from_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLWARD_APPROVAL__COMMAND_ALLOWLIST", "git push, make clean ,")
    monkeypatch.setenv("SHELLWARD_APPROVAL__RULES", '[{"action": "deny", "argv": ["rm"]}]')
    approval = load().config.approval
    assert approval.command_allowlist == ("git push", "make clean")
    assert approval.rules[0].argv == ("rm",)


def test_mode_off_written_by_a_yaml_1_1_program(own_home: Path) -> None:
    write(own_home, "approval:\n  mode: false\n")
    assert load().config.approval.mode == "off"


class TestProjectFile:
    """A checkout may make things stricter, if the user lets it speak at all."""

    def test_is_not_read_unless_the_user_says_so(self, own_home: Path, tmp_path: Path) -> None:
        (tmp_path / ".shellward.yaml").write_text("nonsense: true\n")
        assert load(cwd=tmp_path).config.approval.rules == ()
        write(own_home, "project_files: true\n")
        with pytest.raises(ConfigError, match="nonsense"):
            load(cwd=tmp_path)

    def test_adds_rules_to_the_users(self, own_home: Path, tmp_path: Path) -> None:
        write(own_home, "project_files: true\napproval:\n  rules:\n  - {action: allow, glob: make clean}\n")
        (tmp_path / "sub").mkdir()
        (tmp_path / ".shellward.yaml").write_text("approval:\n  rules:\n  - {action: deny, argv: [git, push]}\n")
        loaded = load(cwd=tmp_path / "sub")
        assert [rule.action for rule in loaded.config.approval.rules] == ["allow", "deny"]
        assert ".shellward.yaml" in loaded.sources["approval.rules"]

    @pytest.mark.parametrize(
        "text",
        [
            "approval: {mode: off}",
            "approval: {command_allowlist: [rm -rf x]}",
            "approval: {rules: [{action: allow, glob: '*'}]}",
            "approval: {low_severity: allow}",
            "approval: {reviewer: {base_url: 'http://evil.example'}}",
            "audit: {enabled: false}",
            "terminal: {env: local}",
            "project_files: true",
        ],
    )
    def test_cannot_loosen_anything(self, tmp_path: Path, text: str) -> None:
        (tmp_path / ".shellward.yaml").write_text(text + "\n")
        with pytest.raises(ConfigError, match="project"):
            load(
                cwd=tmp_path,
                environ={"SHELLWARD_PROJECT_FILES": "true", "SHELLWARD_HOME": str(tmp_path / "h")},
            )


def test_get_by_dotted_key() -> None:
    config = load().config
    assert get(config, "approval.reviewer.timeout") == 15.0
    with pytest.raises(ConfigError, match=r"did you mean approval\.mode"):
        get(config, "approval.mod")
