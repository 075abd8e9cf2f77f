"""What hides a call from whoever follows a program: the call is found, or it is said that not all was followed."""

import pytest

from shellward.command.follow.program import follow
from shellward.command.follow.things import Given
from shellward.command.values import labels

RUN = "os.system('rm -rf /srv/x')"
NODE = "require('child_process').execSync('rm -rf /srv/x')"
CALL = "system('rm -rf /srv/x')"
TEXT = 'system("rm -rf /srv/x")'
LUA = 'os.execute("rm -rf /srv/x")'
LONG = ",".join(str(ord(c)) for c in "echo " + "a" * 320 + "; rm -rf /srv/x")
HIDDEN = {
    "python": [
        f"import os\ndef f(x={RUN}): pass\nf(1)",
        f"import os\n(lambda x={RUN}: 0)(1)",
        f"import os\nclass A({RUN} or object): pass",
        f"import os\nclass A(metaclass=lambda *a: {RUN}): pass",
        "import os\n@(lambda c: os.system('rm -rf /srv/x'))\nclass A: pass",
        f"import os\n1 < 2 < {RUN}",
        f"import os\ndel {{}}[{RUN}]",
        f"import os\nx[{RUN}:1, 2]",
        f"import os\nassert 0, {RUN}",
        f"import os\nraise E from {RUN}",
        f"import os\nmatch 1:\n case _ if {RUN}: pass",
        f"import os\nx: {RUN}",
        f"import os\ndef f(x: {RUN}): pass",
        f"import os\ndef f() -> {RUN}: pass",
        f"import os\ntry: 1/0\nexcept {RUN}: pass",
        f"import os\nf'{{1:{{{RUN}}}}}'",
        f"import os\ndef f():\n try:\n  return 1\n finally:\n  {RUN}\nf()",
        f"import os\ndef f():\n dry = False\n if a(): dry = True\n if dry: return\n {RUN}\nf()",
        f"import os\ndry = False\nif a(): dry = True\n0 if dry else {RUN}",
        f"import os\ndef a(): b()\ndef b(): c()\ndef c(): d()\ndef d():\n if input(): {RUN}\n else: print(1)\na()",
        "import os\n" + "".join(f"def f{at}(): pass\n" for at in range(45)) + f"def last(): {RUN}\n",
        f"try:\n import os\nexcept ImportError:\n os = None\n{RUN}",
        f"import os\nif 0: os = 0\n{RUN}",
        "from os import system\nif 0:\n def system(x): pass\nsystem('rm -rf /srv/x')",
        "import os\nos.system('x/vrs/ fr- mr'[::-1])\nexec('(')",
        f"import os\nos.system(''.join(chr(x) for x in [{LONG}]))",
        f"import os\nos.system(''.join(map(chr, [{LONG}])))",
        f"import os\nfor x in []: {RUN}",
        f"import os\n{RUN} if 1.5 > 1.2 else 0",
        "import os\ns='';i=0\nwhile 1:\n s+='rm -rf /srv/x'[i]; i+=1\n if i==13: break\nos.system(s)",
        "import os\nc='rm -rf /srv/x'\ntry: pass\nexcept Exception: c='true'\nos.system(c)",
        "import os\nclass A:\n def go(self,c): os.system(c)\nclass B(A): pass\nB().go('rm -rf /srv/x')",
    ],
    "javascript": [
        f"[] ? {NODE} : 0",
        f"class A {{ static {{ {NODE} }} }}",
        f"class A extends ({NODE},Object) {{}}",
        f"class A {{ [{NODE}]() {{}} }}",
        f"switch({NODE}){{}}",
        f"switch(1){{case {NODE}: 0}}",
        f"try{{}}catch({{a={NODE}}}){{}}",
        "const c = require('child_process'); if (0) { var c = 0 } c.execSync('rm -rf /srv/x')",
        f"//\u2028{NODE}",
        f"//\r{NODE}",
        f"`${{{'1+' * 2000}{NODE}}}`",
        "eval(\"class A extends (require('child_process').execSync('rm -rf /srv/x')) {}\")",
    ],
    "ruby": [
        f"{TEXT} if 0",
        f"0 ? {TEXT} : 1",
        f':"#{{{TEXT}}}"',
        f"%r{{#{{{TEXT}}}}}",
        f"x =~ /#{{{TEXT}}}/",
        f"%I(#{{{TEXT}}} a)",
        f"def system(x); end if false\n{TEXT}",
    ],
    "perl": [
        f"sort {{ {CALL} }} 1,2;",
        f"package A {{ {CALL} }}",
        f"use constant A => {CALL};",
        f'print "${{\\({CALL})}}";',
        f'print "@{{ [{CALL}] }}";',
        f"$x =~ m{{@{{[{CALL}]}}}};",
    ],
    "php": [
        "SYSTEM('rm -rf /srv/x');",
        f"namespace A {{ {CALL}; }}",
        f'echo "${{{CALL}}}";',
        f"// ?><?php {CALL};",
        f"'0' ? 0 : {CALL};",
    ],
    "lua": [f"repeat until {LUA}", f"--[==[ ]] ]==] {LUA}", f"if false then os = nil end {LUA}", f"--\r{LUA}"],
    "r": ['system(r"(rm -rf /srv/x)")', f"a[1, {CALL}]"],
}


@pytest.mark.parametrize(("language", "code"), [(each, code) for each, codes in HIDDEN.items() for code in codes])
def test_no_call_is_hidden(language, code):
    outcome = follow(language, code, Given())
    told = [action.text or " ".join(action.argv) for action in outcome.actions]
    assert any("rm -rf /srv/x" in each or labels(each) for each in told) or not outcome.complete


def test_what_was_come_to_counts_whatever_follows():
    code = "import os\nos.system('x/vrs/ fr- mr'[::-1])\nexec('(')"
    assert [action.text for action in follow("python", code, Given()).actions] == ["rm -rf /srv/x"]
