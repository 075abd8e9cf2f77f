"""Programs that do nothing that matters are told by their words, and no others are."""

import pytest

from shellward.command.follow import program
from shellward.command.follow.idle import is_idle
from shellward.command.follow.program import follow
from shellward.command.follow.things import Given

IDLE = [
    "print(1)",
    "import pandas as pd\ndf = pd.read_csv('a.csv')\nprint(df.head(3), df['x'].mean())",
    "with open('a.txt') as f:\n    print(f.read().replace(',', '.'))",
    "data = open('a.bin', 'rb').read()\nfor i in range(0, len(data), 16):\n    print(f'{i:04x}')",
    "def main():\n    print('\u2705')\n\nif __name__ == '__main__':\n    main()",
]
BUSY = [
    "import os; os.system('ls')",
    "import os; os.\uff53\uff59\uff53\uff54\uff45\uff4d('ls')",
    "from os import system as len; print(len('ls'))",
    "import os; f = os.popen; print(f('ls'))",
    "import os; getattr(os, 'sys' + 'tem')('ls')",
    "import os; os.__dict__['sys' + 'tem']('ls')",
    "vars(__import__('o' + 's'))['sys' + 'tem']('ls')",
    "import importlib; importlib.import_module('o' + 's')",
    "from operator import methodcaller as m; import os; m('sys' + 'tem', 'ls')(os)",
    "import os; [print(o) for n, o in [(n, o) for n in dir(os) for o in [n]]]",
    "open('a', 'w').close()",
    "open(name).read()",
    "open('a', mode).read()",
    "import os; os.remove('a')",
    "import requests as r; r.post('http://x', data=open('a').read())",
    "from pathlib import Path; Path('a').unlink()",
    "from pathlib import Path; Path('a').replace('b')",
    "exec(open('a').read())",
    "from sh import ls; ls('-l')",
    "go(['bash', '-c', 'ls'])",
]


@pytest.mark.parametrize("code", IDLE)
def test_it_is_not_followed(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "read", None)
    assert is_idle(code)
    assert follow("python", code, Given(heard=False)).complete


@pytest.mark.parametrize("code", IDLE)
def test_following_it_says_the_same(code: str) -> None:
    assert follow("python", code, Given()).actions == []


@pytest.mark.parametrize("code", BUSY)
def test_it_may_do_something(code: str) -> None:
    assert not is_idle(code)


def test_what_is_heard_is_worked_out() -> None:
    assert follow("python", "print(1 + 1)", Given()).printed == "2\n"
