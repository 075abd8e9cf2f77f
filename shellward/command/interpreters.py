"""Shells and interpreters: where their code is, and following it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command import decode
from shellward.command.loading import seek, texts
from shellward.command.modules import main_module, main_of_folder, preload, scripts_of, startup
from shellward.command.operands import operands, short_values
from shellward.command.testrunners import javascript_tests as node_tests
from shellward.command.trees import runs_from_tree
from shellward.command.values import known_part, labels, unknown
from shellward.command.wordreader import STDIN_PATHS
from shellward.command.wrappers import Wrap, find_inner

if TYPE_CHECKING:
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer

SHELLS = frozenset(
    [
        "sh",
        "bash",
        "dash",
        "zsh",
        "ksh",
        "ksh93",
        "mksh",
        "ash",
        "fish",
        "csh",
        "tcsh",
        "rbash",
        "rzsh",
        "yash",
        "oksh",
        "posh",
        "bash.exe",
        "sh.exe",
        "git-bash",
        "osh",
    ]
)

_DEBUGGER = re.compile(r"-[a-ce-zA-Z]*d[a-zA-Z]*(?:\W|\Z)|-de|-d[tE:]")
_MOST_TOLD = 400
"""So many lines that a debugger reads are followed."""

LANGUAGES: dict[str, tuple[str, str, str]] = {
    "python": ("python", "c", "WXQm"), "pypy": ("python", "c", "WXm"), "ipython": ("python", "c", "m"),
    "node": ("javascript", "ep", "r"), "nodejs": ("javascript", "ep", "r"), "bun": ("javascript", "ep", "r"),
    "deno": ("javascript", "", ""), "tsx": ("javascript", "ep", "r"), "ts-node": ("javascript", "ep", "r"),
    "ruby": ("ruby", "e", "rIC"), "jruby": ("ruby", "e", "rI"), "perl": ("perl", "eE", "IMm"), "raku": ("perl", "e", "IM"),
    "php": ("php", "rBR", "dcf"), "lua": ("lua", "e", "l"), "luajit": ("lua", "e", "l"), "rscript": ("r", "e", ""),
    "r": ("r", "e", ""), "littler": ("r", "e", ""), "julia": ("julia", "eE", "LJpCt"), "awk": ("awk", "", ""), "gawk": ("awk", "", ""), "mawk": ("awk", "", ""), "nawk": ("awk", "", ""),
    "tclsh": ("tcl", "", ""), "expect": ("tcl", "c", "f"), "osascript": ("osascript", "e", "l"), "elixir": ("elixir", "e", "r"), "nim": ("c", "", ""),
    "groovy": ("java", "e", ""), "scala": ("java", "e", ""), "jshell": ("java", "", ""), "guile": ("lisp", "c", "l"),
    "emacs": ("lisp", "", "l"), "sbcl": ("lisp", "", ""), "clisp": ("lisp", "x", ""), "stap": ("c", "e", "DpLo"), "bpftrace": ("c", "e", "pfBo"), "octave": ("python", "", ""),
    "pwsh": ("pwsh", "c", "f"), "powershell": ("pwsh", "c", "f"), "powershell.exe": ("pwsh", "c", "f"), "nu": ("sh", "c", ""),
    "elvish": ("sh", "c", ""), "swipl": ("prolog", "gt", "fsl"), "gprolog": ("prolog", "", ""), "ghc": ("haskell", "e", ""),
    "runghc": ("haskell", "e", ""), "runhaskell": ("haskell", "e", ""), "ocaml": ("ocaml", "e", ""), "m4": ("m4", "", ""),
    "dc": ("dc", "e", "f"), "gnuplot": ("gnuplot", "e", ""), "jrunscript": ("java", "e", "lf"), "kotlin": ("java", "e", ""),
    "bb": ("lisp", "e", "f"), "clojure": ("lisp", "e", ""), "clj": ("lisp", "e", ""), "racket": ("lisp", "e", ""),
    "csi": ("lisp", "e", ""), "newlisp": ("lisp", "e", ""), "ecl": ("lisp", "", ""), "hy": ("python", "c", ""),
    "micropython": ("python", "c", ""), "sage": ("python", "c", ""), "bpython": ("python", "c", ""), "coffee": ("javascript", "e", ""),
    "qjs": ("javascript", "e", ""), "zx": ("javascript", "", ""), "gp": ("python", "", ""), "maxima": ("python", "", ""),
    "matlab": ("python", "", ""), "blender": ("python", "", ""), "iex": ("elixir", "e", ""), "erl": ("elixir", "", ""),
    "wish": ("tcl", "", ""), "pdflatex": ("tex", "", ""), "latex": ("tex", "", ""), "lualatex": ("tex", "", ""), "xelatex": ("tex", "", ""),
    "swift": ("java", "e", ""), "irb": ("ruby", "e", "rI"), "pry": ("ruby", "e", "rI"), "psysh": ("php", "", ""), "xonsh": ("sh", "c", ""), "crystal": ("ruby", "", ""),
}  # fmt: skip
"""Interpreters by name: language, letters that introduce code, letters that take another value."""

_LONG_CODE = frozenset(
    (
        "--eval",
        "--print",
        "-eval",
        "--command",
        "-command",
        "-Command",
        "--exec",
        "--run",
        "-c",
        "--batch-eval",
        "--execute",
        "-batch",
        "--python-expr",
    )
)
_ENCODED = re.compile(r"(?i)-e(?:c|nc?|nco\w*)?")
"""PowerShell takes any beginning of ``-EncodedCommand``, and ``-ec``."""
_VALUED = re.compile(r"(?i)-(?:w\w*|ep|ex\w*|v\w*|psc\w*|inp\w*|of|outp\w*|if|config\w*|set\w*)")
"""Options of PowerShell that take a value and are no code."""
_VERSIONED = re.compile(r"([a-zA-Z]+?)[\d.]+t?(\.exe)?")


def language(name: str) -> str:
    """Name the language that a program interprets; empty text when it is none."""
    if name in SHELLS:
        return "sh"
    entry = interpreter(name)
    return entry[0] if entry else ""


def interpreter(name: str) -> tuple[str, str, str] | None:
    """Look up an interpreter; a version in its name does not matter."""
    entry = LANGUAGES.get(name)
    if entry is None and not name.islower():
        entry = LANGUAGES.get(name.lower())
    if entry is None and name[-1:].isdecimal():
        match = _VERSIONED.fullmatch(name)
        entry = LANGUAGES.get(match.group(1)) if match else None
    return entry


def shell(t: Tracer, inv: Invocation, want: bool) -> str | None:  # noqa: C901, PLR0911, PLR0912
    """``sh -c text``, ``sh script``, ``sh < text``."""
    argv = inv.argv
    i, code, reads = 1, False, False
    while i < len(argv) and argv[i][:1] in {"-", "+"} and len(argv[i]) > 1:
        word = argv[i]
        i += 1
        if word == "--":
            break
        if word.startswith("--"):
            if word in {"--version", "--help"}:
                return None
            name, equals, value = word.partition("=")
            if name == "--command" and equals:
                return t.run_code("sh", value, inv, argv[i:], want=want)
            if name in {"--rcfile", "--init-file"}:
                _start_file(t, inv, value if equals else argv[i] if i < len(argv) else "")
                i += not equals
            code = code or word == "--command"
            continue
        letters = word[1:]
        if "n" in letters and word[0] == "-":
            return ""
        if "i" in letters and inv.name not in {"bash", "zsh", "fish"}:
            _start_file(t, inv, inv.env.get("ENV") or t.state.text("ENV"))
        code = code or ("c" in letters and word[0] == "-")
        reads = reads or "s" in letters
        i += letters[-1:] in {"o", "O"}
    if code and i < len(argv):
        return _shell_code(t, inv, i, want=want)
    if not reads and i < len(argv) and argv[i] not in STDIN_PATHS:
        if found := texts(t.state, argv[i]):
            return "".join([t.run_file("sh", path, text, inv, argv[i + 1 :], want=want) for path, text in found])
        if labels(argv[i]) and not known_part(argv[i]) and any(label.startswith("net") for label in labels(argv[i])):
            t.effect(["@run", "sh", *labels(argv[i])], inv.span)
        elif t.state.trees:
            runs_from_tree(t, inv, argv[i])
        return None
    if inv.stdin:
        if labels(inv.stdin) and not known_part(inv.stdin).strip():
            t.effect(["@run", "sh", "piped", *labels(inv.stdin)[:6]], inv.span)
            return unknown("out", "sh") if want else None
        return t.run_code("sh", inv.stdin, inv, argv[i:], want=want)
    return None


def _start_file(t: Tracer, inv: Invocation, path: str) -> None:
    """A file that an interactive shell reads first: followed when this line wrote it."""
    content = seek(t.state, path) if path else None
    if content:
        t.run_code("sh", content, inv, [])


def _shell_code(t: Tracer, inv: Invocation, at: int, *, want: bool) -> str | None:
    """``sh -c code name words``: the name is ``$0``."""
    argv = inv.argv
    if at + 1 >= len(argv):
        return t.run_code("sh", argv[at], inv, [], stdin=inv.stdin, want=want)
    before = t.state.get("0")
    t.state.assign("0", argv[at + 1])
    printed = t.run_code("sh", argv[at], inv, argv[at + 2 :], stdin=inv.stdin, want=want)
    t.state.assign("0", before if isinstance(before, str) else "bash")
    return printed


def interpret(t: Tracer, inv: Invocation, want: bool) -> str | None:  # noqa: C901, PLR0911, PLR0912
    """``python -c code``, ``perl -e code``, ``node < code``, ``awk program``."""
    entry = interpreter(inv.name)
    if entry is None:
        return None
    lang, letters, valued = entry
    if lang == "awk":
        return _awk(t, inv, want)
    _loads_more(t, lang, inv)
    argv, codes, i = inv.argv, [], 1
    if inv.name in {"deno", "crystal"} or (inv.name == "bun" and argv[1:2] == ["run"]):
        if len(argv) > 2 and argv[1] == "eval":
            t.run_code(lang, next((w for w in argv[2:] if not w.startswith("-")), ""), inv, [])
            return None
        i = 2
    while i < len(argv) and argv[i].startswith("-") and len(argv[i]) > 1:
        word = argv[i]
        i += 1
        name, equals, value = word.partition("=")
        if word == "--":
            break
        if lang == "pwsh" and _VALUED.fullmatch(word):
            i += 1
        elif lang == "pwsh" and _ENCODED.fullmatch(word):
            text = (decode.from_base64(argv[i]) or "") if i < len(argv) else ""
            t.effect(["@run", "sh", "decoded"], inv.span)
            codes.append(text.replace("\0", ""))
            i += 1
        elif word == "-batch" and lang == "lisp":
            continue  # of emacs: without a screen
        elif name in _LONG_CODE or name.lower() == "-command":
            codes.append(value if equals else argv[i] if i < len(argv) else "")
            i += not equals
        elif not word.startswith("--"):
            taken = _cluster(word, letters, valued, argv, i, codes)
            if taken < 0:
                return _module(t, inv, word.partition("m")[2], i, want=want)
            i += taken
    if lang == "pwsh" and inv.name.startswith("powershell") and i < len(argv) and not codes and "." not in argv[i]:
        codes.append(" ".join(argv[i:]))
    if lang == "tex":
        codes += [word for word in argv[1:] if "\\" in word]
    if lang == "perl" and inv.stdin and any(_DEBUGGER.match(word) for word in argv[1:i]):
        _debugged(t, inv, inv.stdin)
    if codes and (lang, codes) != ("pwsh", ["-"]):  # that is standard input
        code = "\n".join(codes)
        printed = t.run_code(lang, code, inv, argv[i:], stdin=inv.stdin, want=want)
        if want and labels(printed):
            return _printed(lang, code) or printed
        return printed if want else None
    if i < len(argv) and argv[i] not in STDIN_PATHS:
        _program_file(t, inv, lang, i)
        return None
    if inv.stdin:
        return t.run_code(lang, inv.stdin, inv, [], want=want)
    if lang == "python":
        startup(t, inv)
    return None


def _loads_more(t: Tracer, lang: str, inv: Invocation) -> None:
    """Follow what an interpreter loads besides its program."""
    preload(t, lang, inv)
    if lang == "javascript" and "--test" in inv.argv[1:8]:
        node_tests(t, inv)
    if lang == "python" and "-i" in inv.argv[1:8]:
        startup(t, inv)


def _debugged(t: Tracer, inv: Invocation, stdin: str) -> None:
    """Follow the lines that Perl's debugger reads."""
    from shellward.command.consoles import debugger

    lines = dict.fromkeys(line for told in stdin.splitlines()[:_MOST_TOLD] for line in debugger(told).lines)
    for line in lines:
        t.run_text(line, inv.span, via=(*inv.via, inv.name))
    t.run_code("perl", stdin, inv, [], want=False)


def _program_file(t: Tracer, inv: Invocation, lang: str, at: int) -> None:
    """Follow the file that an interpreter is given as its program, with the words after it."""
    words = inv.argv[at:]
    found = texts(t.state, words[0])
    if not found and lang == "javascript":
        found = [one for path in scripts_of(words[0]) for one in texts(t.state, path)]
    for path, text in found:
        t.run_file(lang, path, text, inv, words[1:])
    if found:
        return
    if lang == "python":
        main_of_folder(t, inv, words[0])
    if t.state.trees:
        runs_from_tree(t, inv, words[0])
    _console(t, inv, lang, words)


_PRINTS = re.compile(
    r"\s*(?:print|puts|echo|say|console\.log|process\.stdout\.write|sys\.stdout\.write|io\.write|cat)\b\s*(.+?);?\s*",
    re.DOTALL,
)
_DECODES = re.compile(
    r"b64decode|decode_base64|base64_decode|Base64\.\w*decode|decode64|\batob\b|['\"]base64['\"]|fromhex|unhexlify|decompress|inflate|rot_?13"
)


def _printed(lang: str, code: str) -> str | None:
    """What a program prints, when all it does is to print a constant, or to decode."""
    from shellward.command.literals import Literals
    from shellward.command.purecalls import squeeze

    match = _PRINTS.fullmatch(code) if len(code) < 2000 else None
    if match:
        literals = Literals(match.group(1), lang)
        text = squeeze(literals.expression(0))
        if literals.i >= len(match.group(1).rstrip()) and not labels(text) and not literals.decoded:
            return text + "\n"
    return unknown("decoded") if _DECODES.search(code) else None


_CONSOLES = {
    "manage.py": "shell shell_plus dbshell",
    "artisan": "tinker db",
    "rails": "runner r dbconsole db",
    "gitlab-rails": "runner r dbconsole db",
    "console": "dbal:run-sql doctrine:query:sql",
}


def _console(t: Tracer, inv: Invocation, lang: str, words: list[str]) -> None:
    """``manage.py shell -c code``: a project's own console runs code."""
    subs = _CONSOLES.get(words[0].rpartition("/")[2], "").split()
    if len(words) < 2 or words[1] not in subs:
        return
    code = ""
    for at, word in enumerate(words[2:], 2):
        name, equals, value = word.partition("=")
        if name in {"-c", "--command", "--execute"}:
            code = value if equals else words[at + 1] if at + 1 < len(words) else ""
    if not code and len(words) > 2 and not words[2].startswith("-"):
        code = words[2]
    text = code or inv.stdin or ""
    if words[1].endswith(("sql", "dbshell", "db", "dbconsole")):
        t.effect(["@sql", words[0], text], inv.span)
    elif text:
        t.run_code(lang, text, inv, [])


def console(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``rails runner code``, ``flask shell``, ``./manage.py shell``."""
    lang = {"rails": "ruby", "gitlab-rails": "ruby", "artisan": "php"}.get(inv.name, "python")
    if inv.name == "flask" and inv.argv[1:2] == ["shell"] and inv.stdin:
        t.run_code(lang, inv.stdin, inv, [])
    elif inv.name != "flask":
        _console(t, inv, lang, inv.argv)
    return None


def _module(t: Tracer, inv: Invocation, module: str, i: int, *, want: bool) -> str | None:
    """``python -m module ..``: a module that is also a program runs what the program would."""
    from shellward.command import handlers

    if not module:
        module, i = (inv.argv[i] if i < len(inv.argv) else ""), i + 1
    if module in {"timeit", "code", "IPython"}:
        return _module_with_code(t, inv, module, i)
    main_module(t, inv, module)
    if module == "site" and want and any(word.startswith("--user-") for word in inv.argv[i:]):
        from shellward.command.purecalls import USER_SITE

        return f"{USER_SITE}\n"
    if handlers.find(module) is None and module not in t.names():
        return None
    return t.child(inv, [module, *inv.argv[i:]], 0, stdin=inv.stdin, want=want)


def _module_with_code(t: Tracer, inv: Invocation, module: str, i: int) -> str | None:
    """``python -m timeit -s setup statement``, and consoles that read code."""
    words = inv.argv[i:]
    if module != "timeit":
        return t.run_code("python", inv.stdin, inv, []) if inv.stdin and not operands(words) else None
    setups = [value for letter, value in short_values(["timeit", *words], "snru") if letter == "s"]
    t.run_code("python", "\n".join([*setups, *operands(["timeit", *words], "snru")]), inv, [])
    return None


def _cluster(word: str, letters: str, valued: str, argv: list[str], i: int, codes: list[str]) -> int:  # noqa: PLR0917
    """Read a cluster of short options; return how many further words it took, -1 for ``-m``."""
    for at, letter in enumerate(word[1:], 1):
        if letter in letters and word[at + 1 :] and letters == "ep" and not word[at + 1 :].strip("ep"):
            continue  # of node: -pe is -p and -e
        if letter in letters:
            codes.append(word[at + 1 :] or (argv[i] if i < len(argv) else ""))
            return 0 if word[at + 1 :] else 1
        if letter == "m" and "m" in valued:
            return -1
        if letter in valued:
            return 0 if word[at + 1 :] else 1
        if letter in "il0F" and at == 1 and "e" in letters and word[at + 1 :].lstrip(".~0123456789bakorig") == "":
            return 0
    return 0


def _awk(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    rest = operands(inv.argv, "Fvfei")
    programs = [inv.argv[at + 1] for at, word in enumerate(inv.argv[:-1]) if word in {"-e", "--source"}]
    for at, word in enumerate(inv.argv[:-1]):
        if word in {"-f", "--file"}:
            path = inv.argv[at + 1]
            programs.append((inv.stdin if path in STDIN_PATHS else seek(t.state, path)) or "")
    if not programs and rest:
        programs = rest[:1]
    values = [word[2:] or inv.argv[at + 1] for at, word in enumerate(inv.argv[:-1]) if word.startswith("-v")]
    given = "".join(f'{name}="{value}";' for name, equals, value in (v.partition("=") for v in values) if equals)
    for program in programs:
        t.run_code("awk", given + program, inv, rest[rest[:1] == programs :], stdin=inv.stdin)
        _awk_lines(t, inv, given + program)
    return None


_RUNS_LINES = re.compile(r"\bsystem\s*\(\s*\$0\s*\)|\$0\s*\|\s*getline|\{\s*print\s*\|")
_PRINTS_TO_SHELL = re.compile(r"(print\b(?:(?!print\b)[^|{};])*)\|\s*\"(?:\S*/)?(?:ba|z|da|k)?sh\b[^\"]*\"")


def _awk_lines(t: Tracer, inv: Invocation, program: str) -> None:
    """``awk '{system($0)}'``, ``awk '{print "rm " $1 | "sh"}'``: what is read, or made of it, is run."""
    from shellward.command.outputs import FILTERS

    if "$" not in program and "|" not in program:
        return
    if _RUNS_LINES.search(program) and inv.stdin:
        t.run_code("sh", inv.stdin, inv, [])
    for match in list(_PRINTS_TO_SHELL.finditer(program))[:5]:
        made = FILTERS["awk"]([inv.name, "{" + match.group(1).strip() + "}"], inv.stdin or "", t.state)
        if made.strip():
            t.run_code("sh", made, inv, [])


def loader(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """Follow ``ld.so program ..``."""
    inner = find_inner(inv.argv, Wrap(long=frozenset(("library-path", "preload", "argv0", "inhibit-rpath"))))
    return t.child(inv, inv.argv[inner.start :], inner.start, stdin=inv.stdin, want=want)
