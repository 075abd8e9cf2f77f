"""Python is the judge of what a followed program makes: what counts as known is what the program would print."""

import contextlib
import io
from pathlib import Path

import pytest

from shellward.approval import detect_dangerous_command
from shellward.command.follow.program import follow
from shellward.command.follow.things import Given
from shellward.command.values import labels

PROGRAMS = Path(__file__).with_name("python_programs.txt").read_text(encoding="utf-8").rstrip().split("\n---\n")
KNOWN = 380
"""Of the programs, those whose text is worked out; less would be a step back."""
RUN = "rm -rf /srv/x"


def printed(code):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<program>", "exec"), {"__name__": "__main__"})  # ours, and harmless
    return out.getvalue()


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_what_counts_as_known_is_what_python_prints(program):
    code = f"{program}\nprint(c)"
    found = follow("python", code, Given()).printed
    assert found is None or labels(found) or found == printed(code)


def test_most_of_it_is_known():
    found = [follow("python", f"{program}\nprint(c)", Given()).printed for program in PROGRAMS]
    assert sum(text is not None and not labels(text) for text in found) >= KNOWN


DATA = "import os\nfrom dataclasses import dataclass\n@dataclass\nclass J:\n"
DANGEROUS = [
    "import shutil; shutil.rmtree(path='/srv/x')",
    "import shutil; o = {'path': '/srv/x'}; shutil.rmtree(**o)",
    "import subprocess; o = {'args': ['rm', '-rf', '/srv/x']}; subprocess.run(**o)",
    "import subprocess\ndef run(*a, **k): return subprocess.run(*a, **k)\nrun(['rm', '-rf', '/srv/x'], check=True)",
    "import shutil\ndef rm(**k): shutil.rmtree(**k)\nrm(path='/srv/x')",
    "import os; os.rename(src='/etc', dst='/tmp/x')",
    "import os; os.chmod(path='/srv', mode=0o777)",
    "import os\nc = 'true'\ndef f():\n    global c\n    c = 'rm -rf /srv/x'\nf()\nos.system(c)",
    "import os\nc = 'rm -rf /srv/x'\nfor i in range(3):\n    if i < 5: continue\n    c = 'true'\nos.system(c)",
    "import os\nfor c in ['rm -rf /srv/x', 'true']:\n    if c.startswith('rm'): break\nos.system(c)",
    "import os\nclass A: c = lambda s: 'rm -rf '\nclass B(A): c = lambda s: super().c() + '/srv'\nos.system(B().c())",
    f"{DATA}    p: str\n    c: str = 'rm -rf '\n    def run(self): os.system(self.c + self.p)\nJ('/srv/x').run()",
    "import os\nclass A:\n    def __call__(self, p): os.system('rm -rf ' + p)\nA()('/srv/x')",
    "import os\nmatch ['go', '/srv/x']:\n    case ['go', p]: os.system('rm -rf ' + p)",
    "import os\ndef f():\n    if os.getenv('X'): return 'rm -rf /srv/x'\n    return 'true'\nos.system(f())",
    "import os\nif os.getenv('X'): c = 'rm -rf /srv/x'\nelse: c = 'true'\nos.system(c)",
    "import os, shutil\np = '/etc'\nif os.getenv('X'): p = '/tmp/x'\nshutil.rmtree(p)",
    "import subprocess as s\np = '/srv' if input() else '/tmp/x'\ns.run(['rm', '-rf', p])",
    "import os; os.system('sn -sg /tsw/y'.translate({ord(a): b for a, b in zip('sngtwy', 'rmfsvx')}))",
    "import os; os.system('{c} {p}'.format_map({'c': 'rm -rf', 'p': '/srv/x'}))",
    "import os\ndef deco(f): return lambda p: f('rm -rf ' + p)\n@deco\ndef run(c): os.system(c)\nrun('/srv/x')",
]
HARMLESS = [
    "import subprocess; o = {'args': ['ls', '/srv/x']}; subprocess.run(**o)",
    "import os\nc = 'rm -rf /srv/x'\ndef f():\n    global c\n    c = 'true'\nf()\nos.system(c)",
    "import os\nclass A:\n    c = 'rm -rf /srv/x'\nclass B(A):\n    c = 'true'\nos.system(B().c)",
    f"{DATA}    c: str = 'rm -rf /srv/x'\nos.system(J(c='true').c)",
    "import os\nclass A:\n    def system(self, c): return c\nA().system('rm -rf /srv/x')",
    "import os\ndef deco(f): return lambda c: 'true'\n@deco\ndef made(c): return c\nos.system(made('rm -rf /srv/x'))",
    "import os, shutil\np = '/tmp/y'\nif os.getenv('X'): p = '/tmp/x'\nshutil.rmtree(p)",
    "import os; os.system('echo rm'.replace('rm', 'all', 1))",
]


@pytest.mark.parametrize("code", DANGEROUS)
def test_what_is_done_is_found(code):
    assert detect_dangerous_command(f"python3 - <<'E'\n{code}\nE")


@pytest.mark.parametrize("code", HARMLESS)
def test_what_is_not_done_is_not_found(code):
    assert not detect_dangerous_command(f"python3 - <<'E'\n{code}\nE")


@pytest.mark.parametrize(
    "code",
    [
        "while True:\n    try: x += 1\n    except Exception: continue",
        "def f():\n    raise ValueError\nfor i in range(300):\n    try: f()\n    except ValueError: pass",
        "'{:>99999999}'.format('a')",
        "f'{1:{9**9}}'",
        "'%99999999d' % 1",
        "'a'.center(10**9)",
        "'{' * 20000",
        "('{:' * 3000).format(1)",
        "class A:\n    def __getattr__(self, n): return getattr(self, n + 'x')\nA().y",
        "class A:\n    def __str__(self): return str(self)\nprint(A())",
        "class A:\n    def __call__(self): return self()\nA()()",
        "".join(f"class C{at}({f'C{at - 1}' if at else ''}): pass\n" for at in range(600)),
        "def f(**k): return f(**k)\nf(a=1)",
        "x = set()\nfor i in range(300): x.add(str(i)); x = x | {i}",
        "a = ['a']\nfor i in range(300): a.remove('b'); a.extend(a[:50])",
        "break",
        "continue",
        "nonlocal x",
        "def f():\n    global f\n    f()\nf()",
        "match 1:\n" + "".join(f"    case x if x > {at}: pass\n" for at in range(400)),
    ],
    ids=str.__len__,
)
def test_nothing_takes_long_or_raises(code):
    follow("python", code, Given())


RUBY = [
    f'alias run system; run "{RUN}"',
    f'alias :run :system\nrun "{RUN}"',
    f'class Object; alias_method :run, :system; end\nrun "{RUN}"',
    f'class A\n def go(c); system(c); end\n alias_method :run, :go\nend\nA.new.run("{RUN}")',
    f'class A\n define_method(:go) do |c|\n system(c)\n end\nend\nA.new.go "{RUN}"',
    f'define_method(:go) {{ |c| system c }}\ngo "{RUN}"',
    f'Object.send(:define_method, :go) {{ |c| system c }}\ngo "{RUN}"',
    f'send(:system, "{RUN}")',
    f'Object.new.public_send("sys" + "tem", "{RUN}")',
    f'x = "system"; send x, "{RUN}"',
    f'method(:system).call("{RUN}")',
    f'method("sys" + "tem").to_proc.call("{RUN}")',
    f'Kernel.method(:system).unbind.bind(self).call("{RUN}")',
    f'class A\n def method_missing(n, *a); system(a[0]); end\nend\nA.new.go("{RUN}")',
    f'A = Struct.new(:c)\nx = A.new("{RUN}")\nsystem(x.c)',
]
RUBY_HARMLESS = [
    f'alias say puts; say "{RUN}"',
    f'def go(c); puts c; end\nalias system go\nsystem "{RUN}"',
    f'define_method(:system) {{ |c| puts c }}\nsystem "{RUN}"',
    f'class A\n def go(c); puts(c); end\n alias_method :system, :go\nend\nA.new.system("{RUN}")',
    f'method(:puts).call("{RUN}")',
    f'send(:puts, "{RUN}")',
    "alias_method = 3; puts alias_method",
]


@pytest.mark.parametrize("code", RUBY)
def test_ruby_by_other_names(code):
    outcome = follow("ruby", code, Given())
    assert outcome.complete
    assert RUN in [action.text for action in outcome.actions]


@pytest.mark.parametrize("code", RUBY_HARMLESS)
def test_ruby_that_only_prints(code):
    assert not follow("ruby", code, Given()).actions
