"""New files that a command loads by way of others: scripts of scripts, patterns, lists, modules, command files."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tooling import BUSYBOX, IMAGE

from shellward import ApprovalDenied, Result, Terminal

Refused = Callable[[Callable[[], Result]], ApprovalDenied]


@pytest.fixture
def refused(refused: Refused) -> Refused:
    """Check that something is refused for what it does, not because looking at it failed."""

    def check(act: Callable[[], Result]) -> ApprovalDenied:
        error = refused(act)
        assert "unknown.detector-failed" not in {finding.rule for finding in error.decision.findings}
        return error

    return check


RM = "rm -rf {victim}"
PY = 'import shutil\nshutil.rmtree("{victim}")\n'
JS = 'require("fs").rmSync("{victim}", {{recursive: true}})\n'
PERL = 'system("rm -rf {victim}");\n1;\n'
RMTREE = 'import shutil; shutil.rmtree("{victim}")\n'
TEST = f"def test_a():\n  {RMTREE}"
GO = 'package m\nimport "os"\nfunc TestA() {{ os.RemoveAll("{victim}") }}\n'
RUBY = 'require "fileutils"\nFileUtils.rm_rf("{victim}")\n'

CASES: list[tuple[dict[str, str], str]] = [
    # scripts of scripts
    ({"y.sh": ". ./z.sh\n", "z.sh": RM}, "bash y.sh"),
    ({"y.sh": "source z.sh\n", "z.sh": RM}, "bash y.sh"),
    ({"x.sh": "bash y.sh\n", "y.sh": "sh ./z.sh\n", "z.sh": RM}, "bash x.sh"),
    ({"x.sh": "cd d && bash y.sh\n", "d/y.sh": ". ./z.sh\n", "d/z.sh": RM}, "bash x.sh"),
    ({"y.sh": "./z.sh\n", "z.sh": f"#!/bin/sh\n{RM}\n"}, "bash y.sh"),
    ({"y.sh": 'bash "$1"\n', "z.sh": RM}, "bash y.sh z.sh"),
    ({"y.sh": "python3 z.py\n", "z.py": PY}, "bash y.sh"),
    ({"y.py": 'import subprocess\nsubprocess.run(["bash", "z.sh"])\n', "z.sh": RM}, "python3 y.py"),
    ({"Makefile": "all:\n\tbash z.sh\n", "z.sh": RM}, "make"),
    ({"x.mk": "include y.mk\n", "y.mk": f"all:\n\t{RM}\n"}, "make -f x.mk"),
    # patterns and lists
    ({"z.sh": RM}, "bash *.sh"),
    ({"z.sh": RM}, "for f in *.sh; do bash $f; done"),
    ({"z.sh": RM}, "for f in ./z*; do . $f; done"),
    ({"d/e/z.sh": RM}, "find . -name '*.sh' -exec bash {{}} \\;"),
    ({"d/e/z.sh": RM}, "find d -type f | xargs -n1 bash"),
    ({"d/z.sh": RM}, "find d -name z.sh -exec sh -c '. ./$1' _ {{}} \\;"),
    ({"z.sh": RM}, "ls z.sh | xargs bash"),
    ({"z.sh": RM}, "ls *.sh | xargs bash"),
    ({"z.sh": RM}, "ls | xargs -n1 bash"),
    ({"z.sh": RM}, "ls *.sh | while read f; do bash $f; done"),
    ({"z.sh": RM}, 'bash "$(ls *.sh)"'),
    ({"z.sh": RM, "list": "z.sh\n"}, "xargs -a list bash"),
    ({"z.sh": RM, "list": "z.sh\n"}, "xargs bash <list"),
    ({"z.sh": RM, "list": "z.sh\n"}, "cat list | xargs bash"),
    ({"z.sh": RM, "list": "z.sh\n"}, "while read f; do bash $f; done <list"),
    ({"z.sh": RM, "list": "z.sh\n"}, "bash $(cat list)"),
    ({"z.sh": RM}, "parallel bash ::: *.sh"),
    ({"d/z": f"#!/bin/sh\n{RM}\n"}, "run-parts d"),
    # command files
    ({"c.vim": ":!rm -rf {victim}\n"}, "vim -es -S c.vim -c q"),
    ({"c.gdb": "shell rm -rf {victim}\n"}, "gdb -batch -x c.gdb"),
    ({"c.sql": ".shell rm -rf {victim}\n"}, "sqlite3 :memory: <c.sql"),
    ({"c.sql": ".shell rm -rf {victim}\n"}, "sqlite3 :memory: '.read c.sql'"),
    ({"c.awk": 'BEGIN {{ system("rm -rf {victim}") }}\n'}, "awk -f c.awk"),
    ({"c.sed": "1e rm -rf {victim}\n"}, "echo x | sed -f c.sed"),
    ({"c.sed": "1e rm -rf {victim}\n"}, "echo x | sed --file=c.sed"),
    ({"c.ed": "!rm -rf {victim}\n"}, "ed -s <c.ed"),
    ({"package.json": '{{"scripts": {{"test": "rm -rf {victim}"}}}}'}, "npm test"),
    # programs found by what they are given
    ({"__main__.py": PY}, "python3 ."),
    ({"d/__main__.py": PY}, "python3 d"),
    ({"helper.py": PY}, "python3 -m helper"),
    ({"d/helper.py": PY}, "cd d; python3 -m helper"),
    ({"d/helper.py": PY}, "PYTHONPATH=d python3 -m helper"),
    ({"p/__init__.py": "", "p/__main__.py": PY}, "python3 -m p"),
    ({"p/__init__.py": PY, "p/m.py": ""}, "python3 -m p.m"),
    ({"x.js": JS}, "node -r ./x.js -e 1"),
    ({"x.js": JS}, "node --require=./x.js y.js"),
    ({"x.mjs": JS}, "node --import ./x.mjs y.js"),
    ({"x.js": JS}, "node x"),
    ({"X.pm": PERL}, "perl -I. -MX -e 1"),
    ({"l/X.pm": PERL}, "perl -Il -MX=a -e 1"),
    ({"X.pm": PERL, "x.pl": "use X;\n"}, "perl -I. x.pl"),
    ({"l/X.pm": PERL}, "PERL5LIB=l perl -mX -e 1"),
    ({"x.rb": RUBY}, "ruby -r./x -e 1"),
    ({"x.rb": RUBY}, "ruby -I. -rx -e 1"),
    ({"z.lua": 'os.execute("rm -rf {victim}")\n'}, "lua -l z -e 'x=1'"),
    # modules
    ({"main.py": "import helper\n", "helper.py": PY}, "python3 main.py"),
    ({"d/main.py": "from helper import x\n", "d/helper.py": PY}, "python3 d/main.py"),
    ({"main.py": "import os, json\n", "json.py": PY}, "python3 main.py"),
    ({"main.py": "from p import m\n", "p/__init__.py": "", "p/m.py": PY}, "python3 main.py"),
    ({"main.py": "import p\n", "p/__init__.py": "from . import m\n", "p/m.py": PY}, "python3 main.py"),
    ({"main.py": "from p import (\n  a,\n  m,\n)\n", "p/m.py": PY}, "python3 main.py"),
    ({"main.py": "try:\n  x = 1; import helper as h\nfinally: pass\n", "helper.py": PY}, "python3 main.py"),
    ({"main.py": "__import__('helper')\n", "helper.py": PY}, "python3 main.py"),
    ({"main.py": "import importlib\nimportlib.import_module('helper')\n", "helper.py": PY}, "python3 main.py"),
    ({"main.py": "import runpy\nrunpy.run_path('h.txt')\n", "h.txt": PY}, "python3 main.py"),
    ({"main.py": "exec(open('h.txt').read())\n", "h.txt": PY}, "python3 main.py"),
    ({"main.py": "import sys\nsys.path.insert(0, 'l')\nimport helper\n", "l/helper.py": PY}, "python3 main.py"),
    ({"helper.py": PY}, "python3 -c 'import helper'"),
    ({"helper.py": PY}, "echo 'import helper' | python3"),
    ({"main.js": "require('./lib/x')\n", "lib/x.js": JS}, "node main.js"),
    ({"main.js": "require('./lib')\n", "lib/index.js": JS}, "node main.js"),
    ({"main.mjs": "import x from './x.mjs'\n", "x.mjs": JS}, "node main.mjs"),
    ({"main.rb": "require_relative 'x'\n", "x.rb": RUBY}, "ruby main.rb"),
    ({"main.php": "<?php require './x.php';\n", "x.php": '<?php system("rm -rf {victim}");\n'}, "php main.php"),
    ({"main.lua": 'dofile("x.lua")\n', "x.lua": 'os.execute("rm -rf {victim}")\n'}, "lua main.lua"),
    ({"d/sitecustomize.py": PY}, "PYTHONPATH=d python3 -c pass"),
    ({"s.py": PY}, "echo | PYTHONSTARTUP=./s.py python3 -i"),
    # tests
    ({"test_x.py": TEST}, "pytest -q"),
    ({"test_x.py": TEST}, "pytest test_x.py::test_a"),
    ({"d/e/test_x.py": TEST}, "python3 -m pytest -x d"),
    ({"d/conftest.py": PY, "d/test_x.py": ""}, "pytest d/test_x.py"),
    ({"plug.py": PY}, "python3 -m pytest -p plug"),
    ({"test_x.py": "from helper import f\ndef test_a():\n  f()\n", "helper.py": f"def f():\n  {RMTREE}"}, "pytest"),
    ({"test_x.py": TEST}, "uv run pytest"),
    ({"test_x.py": TEST}, "coverage run -m pytest"),
    ({"test_x.py": TEST}, "python3 -m unittest"),
    ({"d/test_x.py": TEST}, "python3 -m unittest discover -s d"),
    ({"d/test_x.py": TEST}, "python3 -m unittest d.test_x.Case"),
    ({"x.test.js": f"it('a', () => {{{{ {JS} }}}})\n"}, "npx jest"),
    ({"package.json": '{{"scripts": {{"test": "vitest"}}}}', "s/x.spec.ts": JS}, "npm t"),
    ({"x.test.mjs": JS}, "node --test"),
    ({"m_test.go": GO}, "go test ./..."),
    ({"c/m.go": GO}, "go run ./c"),
    # installers and runners of tasks
    ({"package.json": '{{"scripts": {{"postinstall": "rm -rf {victim}"}}}}'}, "npm ci"),
    ({"package.json": '{{"scripts": {{"prepare": "rm -rf {victim}"}}}}'}, "yarn"),
    ({"package.json": '{{"scripts": {{"pretest": "rm -rf {victim}"}}}}'}, "npm t"),
    ({"d/package.json": '{{"scripts": {{"test": "rm -rf {victim}"}}}}'}, "npm --prefix d test"),
    ({"package.json": '{{"scripts": {{"test": "rm -rf {victim}"}}}}', "d/x": ""}, "cd d && npm test"),
    ({"package.json": '{{"scripts": {{"test": "rm -rf {victim}"}}, "x": "%s"}}' % ("x" * 30_000)}, "npm test"),
    ({"setup.py": PY}, "pip install -e ."),
    ({"d/setup.py": PY}, "python3 -m pip install './d[dev]'"),
    ({"setup.py": PY}, "python3 -m build"),
    ({"tasks.py": "@task\ndef clean(c):\n  c.run('rm -rf {victim}')\n"}, "inv clean"),
    ({"Rakefile": "task :clean do\n  sh 'rm -rf {victim}'\nend\n"}, "rake clean"),
    ({"Taskfile.yml": "tasks:\n  clean:\n    cmds:\n      - rm -rf {victim}\n"}, "task clean"),
    ({"build.ninja": "rule r\n  command = rm -rf {victim}\nbuild x: r\n"}, "ninja"),
    ({"CMakeLists.txt": "execute_process(COMMAND rm -rf {victim})\n"}, "cmake ."),
    ({"x.py": PY}, "uv run x.py"),
    ({"x.py": PY}, "coverage run --branch x.py"),
    ({"x.py": PY}, "python3 -m cProfile -o out x.py"),
    ({"x.py": PY}, "python3 -m pdb -c c x.py"),
    ({"x.ts": JS}, "bun run x.ts"),
    ({"package.json": '{{"scripts": {{"clean": "rm -rf {victim}"}}}}'}, "bun run clean"),
    ({"app.py": PY}, "uvicorn app:app --port 1"),
    # git
    ({"h/pre-commit": f"#!/bin/sh\n{RM}\n"}, "git -c core.hooksPath=h commit -m x"),
    ({".git/config": "[alias]\n\tx = !rm -rf {victim}\n"}, "git x"),
]


def _write(terminal: Terminal, files: dict[str, str], victim: Path) -> None:
    """Have commands of this environment make the files."""
    for name, text in files.items():
        folder = name.rpartition("/")[0] or "."
        whole = text.format(victim=victim) if "{" in text else text
        terminal.run(f"mkdir -p {folder} && cat >{name} && chmod +x {name}", stdin=whole)


@pytest.mark.parametrize(("files", "command"), CASES, ids=[command for _, command in CASES])
def test_new_files_count_wherever_they_are_loaded(
    bash: Terminal, victim: Path, refused: Refused, files: dict[str, str], command: str
) -> None:
    _write(bash, files, victim)
    refused(lambda: bash.run(command.format(victim=victim)))


def test_a_module_in_a_zip(bash: Terminal, victim: Path, tmp_path: Path, refused: Refused) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("__main__.py", "import helper\n")
        archive.writestr("helper.py", PY.format(victim=victim))
    refused(lambda: bash.run("python3 a.zip"))


def test_text_with_a_zero_byte_is_still_text(bash: Terminal, victim: Path, tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "s").write_bytes(f"true\nrm -rf {victim}\n\0".encode())
    refused(lambda: bash.run("bash s"))


PYTEST = "/usr/bin/pytest -q || true"
HARMLESS: list[tuple[dict[str, str], str]] = [
    ({"y.sh": ". ./z.sh\necho $A\n", "z.sh": "A=1\n"}, "bash y.sh"),
    ({"z.sh": "echo one\n"}, "for f in *.sh; do bash $f; done"),
    ({"d/z.sh": "echo one\n"}, "find . -name '*.sh' -exec bash {} \\;"),
    ({"main.py": "import helper, json\nprint(helper.A, json.dumps(1))\n", "helper.py": "A = 1\n"}, "python3 main.py"),
    ({"p/__init__.py": "from . import m\n", "p/m.py": "X = 1\n", "p/__main__.py": "print(1)\n"}, "python3 -m p"),
    ({"a.py": "import b\n", "b.py": "import a\n"}, "python3 a.py"),
    ({"a.sh": '[ -n "$A" ] || A=1 . ./a.sh\n'}, "bash a.sh"),
    ({"t.awk": "{ print $1 }\n"}, "echo a | awk -f t.awk"),
    ({"rm -rf": "x"}, "ls | cat"),
    # Tests take away what they made, and what they are given.
    ({"test_x.py": "import shutil\ndef teardown(tmp_path, name):\n  shutil.rmtree(tmp_path / name)\n"}, PYTEST),
    ({f"d/test_{n}.py": "import h\n" for n in range(60)}, PYTEST),
    ({"test_x.py": "#" * 70_000}, PYTEST),
    ({".git/config": "[core]\n\tpager = cat\n[alias]\n\tx = !echo one\n"}, "git init -q; git x"),
]


@pytest.mark.parametrize(("files", "command"), HARMLESS, ids=[command for _, command in HARMLESS])
def test_what_is_harmless_runs_unasked(bash: Terminal, tmp_path: Path, files: dict[str, str], command: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert bash.run(command).exit_code == 0


def test_a_chain_that_is_too_long_is_a_finding(bash: Terminal, tmp_path: Path, refused: Refused) -> None:
    for number in range(12):
        (tmp_path / f"s{number}.sh").write_text(f". ./s{number + 1}.sh\n")
    (tmp_path / "s12.sh").write_text("true\n")
    error = refused(lambda: bash.run("bash s0.sh"))
    assert [finding.rule for finding in error.decision.findings] == ["unknown.new-files"]


def test_too_many_files_are_a_finding(bash: Terminal, tmp_path: Path, refused: Refused) -> None:
    for number in range(60):
        (tmp_path / f"s{number}.sh").write_text("true\n")
    error = refused(lambda: bash.run("for f in *.sh; do bash $f; done"))
    assert [finding.rule for finding in error.decision.findings] == ["unknown.new-files"]


def test_too_much_text_is_a_finding(bash: Terminal, tmp_path: Path, refused: Refused) -> None:
    for number in range(6):
        (tmp_path / f"s{number}.sh").write_text("true\n" * 12_000)
    error = refused(lambda: bash.run("for f in *.sh; do bash $f; done"))
    assert "unknown.new-files" in [finding.rule for finding in error.decision.findings]


def test_a_search_of_everything_is_not_walked(bash: Terminal, refused: Refused) -> None:
    error = refused(lambda: bash.run("find / -name no-such-file.sh -exec bash {} \\;"))
    assert [finding.rule for finding in error.decision.findings] == ["unknown.new-files"]


def test_old_files_are_not_read(victim: Path, tmp_path: Path) -> None:
    (tmp_path / "z.sh").write_text(f"rm -rf {victim}/none\n")
    (tmp_path / "main.py").write_text("import helper\n")
    (tmp_path / "helper.py").write_text(f"import shutil\nshutil.rmtree('{victim}/none', ignore_errors=True)\n")
    with Terminal("local", cwd=str(tmp_path)) as terminal:
        terminal._judge._places._since += 60
        assert terminal.run("bash *.sh").exit_code == 0
        assert terminal.run("python3 main.py").exit_code == 0


@pytest.mark.docker
@pytest.mark.parametrize("image", [IMAGE, BUSYBOX])
@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"y.sh": ". ./z.sh\n", "z.sh": "rm -rf /srv/data\n"}, "bash y.sh || sh y.sh"),
        ({"d/e/z.sh": "rm -rf /srv/data\n"}, "find . -name '*.sh' -exec sh {} \\;"),
        ({"it's.sh": "rm -rf /srv/data\n"}, "for f in *.sh; do sh ./$f; done"),
        ({"main.py": "import helper\n", "helper.py": "import shutil\nshutil.rmtree('/srv/data')\n"}, "python3 main.py"),
        ({"d/e/test_x.py": "import shutil\ndef test_a():\n  shutil.rmtree('/srv/data')\n"}, "pytest d"),
    ],
)
def test_new_files_in_a_container(image: str, files: dict[str, str], command: str) -> None:
    with Terminal("docker", image=image, pull="never", lease=60) as terminal:
        terminal.run("mkdir -p /srv/data/x /tmp/w/d/e")
        terminal.run("cd /tmp/w")
        for name, text in files.items():
            terminal.run(["sh", "-c", f'cat >"{name}"'], stdin=text)
        with pytest.raises(ApprovalDenied) as caught:
            terminal.run(command)
        assert "unknown.detector-failed" not in {finding.rule for finding in caught.value.decision.findings}
        assert terminal.run("ls /srv/data").stdout == "x\n"


@pytest.mark.docker
@pytest.mark.parametrize("image", [IMAGE])
def test_a_copy_of_a_program_in_a_container(image: str) -> None:
    with Terminal("docker", image=image, pull="never", lease=60) as terminal:
        terminal.run("mkdir -p /srv/data/x /tmp/w")
        terminal.run("cd /tmp/w; cat /bin/rm >tidy; echo >>tidy; chmod +x tidy")
        with pytest.raises(ApprovalDenied) as caught:
            terminal.run("./tidy -rf /srv/data")
        assert "files.rm-recursive" in {finding.rule for finding in caught.value.decision.findings}


@pytest.mark.docker
def test_one_round_trip_tells_of_all_files(monkeypatch: pytest.MonkeyPatch) -> None:
    from shellward.environments.control import Control

    asked: list[str] = []
    ask = Control.ask
    with Terminal("docker", image=IMAGE, pull="never", lease=60) as terminal:
        terminal.run("cd /tmp; for n in 1 2 3 4 5 6; do echo true >s$n.sh; done; true")
        monkeypatch.setattr(Control, "ask", lambda self, name, text: asked.append(name) or ask(self, name, text))
        terminal.run("ls -l; true; cat s1.sh")
        assert asked == []
        terminal.run("bash s1.sh; bash s2.sh; bash s3.sh; bash s4.sh")
        assert asked == ["look.sh"]


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no /dev/shm")
@pytest.mark.parametrize("command", ["sh s", "cd /; sh {0}/s", "bash {0}/*", "for f in *; do . ./$f; done", ". s*"])
def test_new_files_below_dev_shm_are_read(victim: Path, refused: Refused, command: str) -> None:
    """Files may be there, unlike elsewhere below /dev."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place, Terminal("local", cwd=place) as terminal:
        Path(place, "s").write_text(RM.format(victim=victim))
        refused(lambda: terminal.run(command.format(place)))
