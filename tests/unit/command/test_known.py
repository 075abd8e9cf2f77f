"""What a shell saved of its state, read back: the quick way and the slow one agree, and bash is the judge of both."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from shellward import environments
from shellward.command.known import read_state
from shellward.environments import Environment

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.fixture
def env(tmp_path: Path) -> Iterator[Environment]:
    with environments.create("local", shell="bash", cwd=str(tmp_path)) as made:
        for _ in range(4):  # one for each slot
            made.run("true; true")
        yield made


def state_after(env: Environment, command: str) -> str:
    shell = env._default
    assert env.run(command).exit_code == 0
    texts = [Path(f"{shell.state_path}.{slot}").read_text() for slot in range(4)]
    (found,) = (text for text in texts if text.startswith(f"#{shell.saved}\n"))
    return found


STATES = [
    "X=1",
    'export X="a\'b\\"c\\$d\\`e\\\\f!" Y= Z',
    "X=$'a\\nb\\001\\'c'; M='one\ndeclare -- X=\"no\"\nthree'",
    "A=(1 'x y' $'z\\n]'); declare -A B=([k]=v ['a b']='c] d' [$'n\\nl']=x); declare -a E=()",
    "declare -i I=3; declare -n R=I; declare -u U=abc; declare -r O=1; declare -rx OX=2; declare -l L=ABC",
    "f() { cat <<'E'\ndeclare -- X=\"rm\"\nE\n}; alias gone='rm -rf' more=$'a\\nb'; trap 'echo x' USR1",
    "set -- a 'b c' $'d\\ne' '*'",
    "IFS=:; HOME=/srv/else; hash -p /bin/ls foo",
    "X=ä; Y=$'\\xff'; Z='\ue123'",
    "PS1='$(date)'; PATH=/x:$PATH; BASH_ENV=/x",
]


@pytest.mark.parametrize("command", STATES)
def test_the_quick_way_reads_what_the_slow_one_reads(env: Environment, command: str) -> None:
    text = state_after(env, command)
    assert "\nbuiltin cd" in text
    slowly = read_state(text.replace("builtin cd", ": cd", 1))  # which does not look like bash's own any more
    assert read_state(text) == slowly
    assert not slowly.unclear


def test_a_function_cannot_pretend_to_be_a_variable(env: Environment) -> None:
    known = read_state(state_after(env, STATES[5]))
    assert "X" not in known.variables
    assert set(known.functions) == {"f"}


def test_names_and_values_are_those_of_the_shell(env: Environment) -> None:
    known = read_state(state_after(env, STATES[1]))
    assert known.variables["X"] == "a'b\"c$d`e\\f!"
    assert known.variables["Y"] == ""
    assert "Z" not in known.variables
