"""Configuration: every mistake is one line that names its key."""

from pathlib import Path

import msgspec
import pytest

from shellward.core.errors import ConfigError
from shellward.environments import registry
from shellward.environments.config import BaseConfig, parse_config
from shellward.environments.local import LocalConfig


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    source: str


class Sample(BaseConfig, kw_only=True, forbid_unknown_fields=True):
    number: int = 0
    names: list[str] = msgspec.field(default_factory=list)
    inner: list[Inner] = msgspec.field(default_factory=list)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"numbr": 1}, ["'numbr'", "did you mean 'number'"]),
        ({"zzz": 1}, ["'zzz'", "known are cwd, env, inner, names, number, shell"]),
        ({"number": "1"}, ["number", "int", "str"]),
        ({"number": None}, ["number"]),
        ({"names": "abc"}, ["names"]),
        ({"names": [1]}, ["names"]),
        ({"inner": [{}]}, ["inner", "source"]),
        ({"inner": [{"source": "x", "extra": 1}]}, ["inner", "extra"]),
        ({"env": {"A": 1}}, ["env", "int"]),
        ({"env": ["A"]}, ["env"]),
        ({"cwd": 3}, ["cwd"]),
        ({"shell": None}, ["shell"]),
    ],
)
def test_an_error_is_one_line_that_names_its_key(config: dict[str, object], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(Sample, config, "sample")
    message = str(caught.value)
    assert message.startswith("sample: ")
    assert "\n" not in message
    assert [word for word in words if word not in message] == []


def test_an_error_is_also_a_value_error() -> None:
    with pytest.raises(ValueError, match="zzz"):
        parse_config(Sample, {"zzz": 1}, "sample")


def test_values_and_defaults() -> None:
    config = parse_config(Sample, {"cwd": Path("/x"), "names": ["a"], "inner": [{"source": "s"}]}, "sample")
    assert (config.cwd, config.names, config.inner) == ("/x", ["a"], [Inner("s")])
    assert (config.env, config.shell, config.number) == ({}, "auto", 0)
    assert parse_config(Sample, {}, "sample").env is not parse_config(Sample, {}, "sample").env


@pytest.mark.parametrize("key", LocalConfig.__struct_fields__)
def test_every_key_of_local_is_named_when_its_value_is_wrong(key: str) -> None:
    with pytest.raises(ConfigError, match=f"local: {key}"):
        registry.create("local", **{key: 3.5})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"isolation": "strong"}, "isolation"),
        ({"cwd": "/nowhere/at/all"}, "cwd: '/nowhere/at/all' is not a directory"),
        ({"cwd": "/etc/passwd"}, "cwd: '/etc/passwd' is not a directory"),
        ({"images": "x"}, "unknown setting 'images'"),
    ],
)
def test_local_values_that_cannot_be(config: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        registry.create("local", **config)
