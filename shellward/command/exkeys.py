"""Keys typed into vi and its kin, and what their Ex commands run outside of the editor. Pure.

Commands that stay inside are listed; what is not listed may be anything, so a command that vi learns later is asked
about. The mode is followed from line to line. Where it is not certain that text is inserted, it is read as commands.
"""

import re
from dataclasses import dataclass, field
from typing import Final

INSERT: Final = "insert"
VISUAL: Final = "visual"
MOST_TEXT: Final = 4096
"""Keys of one line that are read; what is longer is not known."""
MOST_LINES: Final = 64


@dataclass(frozen=True, slots=True)
class Ways:
    """What a typed line runs outside of its program.

    Attributes:
        lines: shell lines that do the same.
        unknown: it may be anything.
        mode: what the program takes the next line for; empty: for commands.
    """

    lines: tuple[str, ...] = ()
    unknown: bool = False
    mode: str = ""


def quoted(text: str) -> str:
    """Return a text as one word of a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def filtering(command: str) -> str:
    """Return the line that gives a command a text to read that is not known."""
    return f"cat buffer | {command}"


def writing(path: str) -> str:
    """Return the line that writes a file, whose name is as the program would have it expand."""
    return f"cat buffer >{path if re.fullmatch(r'[~$]?[-+@:,./_A-Za-z0-9]+', path) else quoted(path)}"


# -- Ex commands ----------------------------------------------------------------------------------------


def spelled(text: str) -> frozenset[str]:
    """Spell ``w[rite]`` out: every length that is enough."""
    found = set()
    for name in text.split():
        short, _, rest = name.partition("[")
        rest = rest.removesuffix("]")
        found |= {short + rest[:end] for end in range(len(rest) + 1)}
    return frozenset(found)


_INSIDE: Final = spelled(
    " q[uit] qa[ll] quita[ll] cq[uit] on[ly] clo[se] hid[e] bd[elete] bw[ipeout] bun[load] b[uffer] bn[ext]"
    " bp[revious] bN[ext] br[ewind]"
    " bl[ast] bf[irst] bm[odified] ls buffers files ba[ll] un[hide] prev[ious] N[ext] rew[ind] fir[st] la[st]"
    " wn[ext] wN[ext] wp[revious]"
    " tabn[ext] tabp[revious] tabN[ext] tabc[lose] tabo[nly] tabfir[st] tabl[ast] tabm[ove] tabs winc[md] res[ize]"
    " d[elete] y[ank] p[rint] P[rint] nu[mber] l[ist] m[ove] co[py] t j[oin] k ma[rk] marks delm[arks] ju[mps]"
    " changes z"
    " u[ndo] red[o] undol[ist] ea[rlier] lat[er] noh[lsearch] ret[ab] ce[nter] ri[ght] le[ft] reg[isters] di[splay]"
    " his[tory]"
    " sor[t] h[elp] helpc[lose] ve[rsion] as[cii] f[ile] pw[d] fo[ld] foldo[pen] foldc[lose] cl[ist] cn[ext]"
    " cp[revious] cN[ext] cc cope[n]"
    " ccl[ose] cw[indow] lop[en] lcl[ose] ln[ext] lp[revious] ll lli[st] sy[ntax] filet[ype] setf[iletype]"
    " colo[rscheme] hi[ghlight]"
    " mes[sages] redr[aw] redraws[tatus] w[rite] wa[ll] wq wqa[ll] xa[ll] x[it] exi[t] up[date] pc[lose] ta[g]"
    " tn[ext] tp[revious]"
    " tags po[p] ts[elect] sus[pend] st[op] sh[ell] fini[sh] end endi[f] en[dif] ene[w] sl[eep] g[oto] go[to]"
    " di[splay] spellr[epall]"
    " diffg[et] diffpu[t] difft[his] diffo[ff] diffu[pdate] checkt[ime] swapn[ame] pre[serve] scrip[tnames]"
    " Ex[plore] Sex[plore] Vex[plore]"
)  # fmt: skip
"""Commands that stay inside when their words are harmless."""
_WRITES: Final = spelled(
    " w[rite] wq x[it] exi[t] up[date] wn[ext] wN[ext] wp[revious] sav[eas] mk[exrc] mks[ession] mkv[imrc] mkvie[w]"
    " mksp[ell] wv[iminfo]"
    " wund[o] ha[rdcopy] prof[ile]"
)
_OPENS: Final = spelled(
    " e[dit] vi[sual] o[pen] sp[lit] vs[plit] new vne[w] sv[iew] vie[w] tabe[dit] tabnew tabf[ind] fin[d] sf[ind]"
    " ped[it] n[ext] ar[gs]"
    " arga[dd] arge[dit] bad[d] diffs[plit] dr[op] tab fi[le] r[ead]"
)
_ALWAYS_WRITES: Final = spelled("mk[exrc] mks[ession] mkv[imrc] wv[iminfo] wund[o]")
_SUBSTITUTES: Final = spelled("s[ubstitute] sm[agic] sno[magic]")
_GLOBAL: Final = spelled("g[lobal] v[global]")
_FOR_ALL: Final = spelled("argdo bufdo windo tabd[o] cdo cfdo ld[o] lfdo foldd[oopen] folddoc[losed]")
_MODIFIES: Final = spelled(
    " sil[ent] noa[utocmd] keepj[umps] keepa[lt] kee[pmarks] keepp[atterns] loc[kmarks] vert[ical] hor[izontal] tab"
    " abo[veleft]"
    " bel[owright] bo[tright] to[pleft] lefta[bove] rightb[elow] hid[e] conf[irm] bro[wse] nos[wapfile] uns[ilent]"
    " san[dbox] verb[ose]"
    " noswapfile deb[ug]"
)
_SHOWS: Final = spelled("ec[ho] echom[sg] echoe[rr]") | {"echon"}
_SETS: Final = spelled("se[t] setl[ocal] setg[lobal]")
_BUILDS: Final = spelled("mak[e] lmak[e] gr[ep] lgr[ep] grepa[dd] lgrepa[dd]")
_TERMINAL: Final = spelled("te[rminal]") | {"ter", "term"}
_PROGRAMS: Final = {
    **dict.fromkeys(spelled("py[thon] py3 python3 pyx pythonx pyd[o] py3d[o] pyxd[o]"), "python3 -c"),
    **dict.fromkeys(spelled("pe[rl] perld[o]"), "perl -e"),
    **dict.fromkeys(spelled("rub[y] rubyd[o]"), "ruby -e"),
    **dict.fromkeys(spelled("lua luad[o]"), "lua -e"),
}
_OPTIONS: Final = frozenset(
    [
        "number",
        "nu",
        "relativenumber",
        "rnu",
        "paste",
        "autoindent",
        "ai",
        "smartindent",
        "si",
        "cindent",
        "cin",
        "expandtab",
        "et",
        "shiftwidth",
        "sw",
        "tabstop",
        "ts",
        "softtabstop",
        "sts",
        "shiftround",
        "sr",
        "smarttab",
        "sta",
        "hlsearch",
        "hls",
        "incsearch",
        "is",
        "ignorecase",
        "ic",
        "smartcase",
        "scs",
        "wrapscan",
        "ws",
        "wrap",
        "linebreak",
        "lbr",
        "list",
        "listchars",
        "lcs",
        "fileformat",
        "ff",
        "fileencoding",
        "fenc",
        "filetype",
        "ft",
        "syntax",
        "syn",
        "textwidth",
        "tw",
        "wrapmargin",
        "wm",
        "scrolloff",
        "so",
        "sidescrolloff",
        "siso",
        "ruler",
        "ru",
        "showcmd",
        "sc",
        "showmode",
        "smd",
        "showmatch",
        "sm",
        "mouse",
        "background",
        "bg",
        "cursorline",
        "cul",
        "cursorcolumn",
        "cuc",
        "colorcolumn",
        "cc",
        "spell",
        "spelllang",
        "spl",
        "modified",
        "mod",
        "readonly",
        "ro",
        "binary",
        "bin",
        "endofline",
        "eol",
        "fixendofline",
        "fixeol",
        "hidden",
        "hid",
        "history",
        "hi",
        "wildmenu",
        "wmnu",
        "backspace",
        "bs",
        "lazyredraw",
        "lz",
        "joinspaces",
        "js",
        "report",
        "more",
        "gdefault",
        "gd",
        "magic",
        "ttyfast",
        "tf",
        "foldmethod",
        "fdm",
        "foldlevel",
        "fdl",
        "foldenable",
        "fen",
        "laststatus",
        "ls",
        "shortmess",
        "shm",
        "bomb",
        "encoding",
        "enc",
        "formatoptions",
        "fo",
        "matchpairs",
        "mps",
        "splitbelow",
        "sb",
        "splitright",
        "spr",
        "swapfile",
        "swf",
        "undolevels",
        "ul",
        "timeout",
        "to",
        "timeoutlen",
        "tm",
        "ttimeoutlen",
        "ttm",
        "termguicolors",
        "tgc",
        "signcolumn",
        "scl",
        "conceallevel",
        "cole",
        "compatible",
        "cp",
        "nrformats",
        "nf",
        "iskeyword",
        "isk",
        "virtualedit",
        "ve",
        "scroll",
        "scr",
        "all",
    ]
)
"""Options of set whose values name no program, file or expression."""
_RANGE: Final = re.compile(
    r"(?:[\s:]|[%.$\d,;+*-]|'[\w<>\[\]^.'`\"(){}]|/(?:[^\\/]|\\.){0,200}/|\?(?:[^\\?]|\\.){0,200}\?|\\[/?&])*"
)
_NAME: Final = re.compile(r"[A-Za-z]+(?:3[a-z]*)?")
_EXPANDS: Final = re.compile(r"(?<!\\)(?:[%#]|<[a-z]+>)")
"""Stands for a name that only the editor knows."""
_BARS: Final = re.compile(r"(?<![\\\x16])\|")
_NUMBERS: Final = re.compile(r"[\d\s.+*/%()-]*\Z")
_SIMPLE: Final = re.compile(r"(?:[\w\s.,+*/%<>=?:&@-]|'[^']*'|\"[^\"\\$`]*\")*\Z")
"""An expression that calls nothing."""
_MOST_DEPTH: Final = 6


@dataclass
class _Found:
    lines: list[str] = field(default_factory=list)
    unknown: bool = False


def ex_command(text: str) -> Ways:
    """Say what a line of Ex commands runs.

    Args:
        text: behind the colon.
    """
    found = _Found()
    if len(text) > MOST_TEXT:
        return Ways(unknown=True)
    _ex(text, found, 0)
    return Ways(tuple(found.lines[:MOST_LINES]), found.unknown or len(found.lines) > MOST_LINES)


def _ex(text: str, found: _Found, depth: int) -> None:
    if depth > _MOST_DEPTH or len(found.lines) > MOST_LINES:
        found.unknown = True
        return
    end = _RANGE.match(text)
    at = end.end() if end else 0
    ranged = bool(text[:at].strip(" \t:"))
    rest = text[at:]
    if not rest or rest[0] == '"':
        return
    if rest[0] == "!":
        _shell(rest[1:], found, ranged=ranged)
    elif rest[0] == "|":
        _ex(rest[1:], found, depth + 1)
    elif rest[0] in "<>=&~#":
        _ex(rest[1:].lstrip("<>=&~#rgicnpl 0123456789"), found, depth + 1)
    elif (name := _NAME.match(rest)) is None:
        found.unknown = True  # @ and * run a register
    else:
        _named(name[0], rest[name.end() :], found, depth)


def _named(name: str, rest: str, found: _Found, depth: int) -> None:  # noqa: C901  # a table
    words = rest[1:] if rest[:1] == "!" else rest
    if name in _MODIFIES and words.strip() and not (name in _INSIDE and words.lstrip()[:1] == "|"):
        _ex(words.lstrip(" \t0123456789"), found, depth + 1)
    elif name in _FOR_ALL:
        _ex(words, found, depth + 1)
    elif name in _GLOBAL:
        _each(words, found, depth)
    elif name in _SUBSTITUTES or _SUBSTITUTE_ALONE.match(name + rest):
        _substitute((name + rest)[1:] if name not in _SUBSTITUTES else rest, found, depth)
    elif (name in _WRITES or name in _OPENS) and (command := _piped(name, rest)) is not None:
        _shell(command, found, ranged=name not in spelled("r[ead]"))
    elif name in _TERMINAL:
        found.unknown = True  # it reads lines itself; what is typed is the editor's no more
        if words.strip(" +"):
            found.lines.append(words.strip())
    elif name in _BUILDS:
        found.lines += [f"make {words}" if "mak" in name else f"grep {words}"]
        found.unknown = found.unknown or _EXPANDS.search(words) is not None
    elif name in _PROGRAMS:
        if words.lstrip().startswith("<<") or not words.strip():
            found.unknown = True
        found.lines.append(f"{_PROGRAMS[name]} {quoted(words.strip())}")
    else:
        first, *others = _BARS.split(words, maxsplit=1)
        _simple(name, first.strip(), found)
        if others:
            _ex(others[0], found, depth + 1)


_SUBSTITUTE_ALONE: Final = re.compile(r"s[^\w\s\"|]")


def _simple(name: str, words: str, found: _Found) -> None:
    """One command that ends at a bar."""
    if "`" in words:
        inner = re.findall(r"`([^`]*)`", words)
        found.lines += inner
        found.unknown = found.unknown or not inner or any(each.startswith("=") for each in inner)
    if name in _WRITES and (words or name in _ALWAYS_WRITES):
        path = re.sub(r"\A(?:\+\+\S+\s+|>>\s*|>\s*|start\s+)*", "", words)
        found.unknown = found.unknown or _EXPANDS.search(path) is not None or not path
        found.lines.append(writing(path or "file"))
    elif name in _OPENS:
        path = re.sub(r"\A(?:\+\+\S+\s+)*", "", words)
        if given := re.match(r"\+((?:\\.|\S)*)\s*", path, re.DOTALL):
            path = path[given.end() :]
            _ex(given[1].replace("\\ ", " "), found, _MOST_DEPTH - 1)
        if path and name not in spelled("r[ead]"):
            found.lines.append(f"vim {path}")
    elif name in _SETS:
        for word in re.split(r"(?<!\\)\s+", words):
            option = re.match(r"(?:no|inv)?([a-z]*)(?:[!?&<].*|[+^-]?[=:].*)?\Z", word, re.DOTALL)
            known = option is not None and (option[1] in _OPTIONS or word.removeprefix("no") in _OPTIONS or not word)
            found.unknown = found.unknown or not known
    elif name in _SHOWS:
        found.unknown = found.unknown or _SIMPLE.match(words) is None
    elif name not in _INSIDE or (name.startswith("sy") and words.startswith("inc")):
        found.unknown = True


def _piped(name: str, rest: str) -> str | None:
    """Return what is behind ``:w !`` and ``:r !``; ``:w! x`` is a file."""
    if name in spelled("r[ead] w[rite]"):
        match = re.match(r"\s*(?:\+\+\S+\s+)*!(.*)", rest, re.DOTALL)
        if match and (name in spelled("r[ead]") or rest[:1] != "!"):
            return match[1]
    return None


def _shell(command: str, found: _Found, *, ranged: bool) -> None:
    command = command.strip()
    if not command:
        return  # a shell, which is seen in the foreground
    found.unknown = found.unknown or _EXPANDS.search(command) is not None or re.search(r"(?<!\\)!", command) is not None
    found.lines.append(filtering(command) if ranged else command)


def _each(words: str, found: _Found, depth: int) -> None:
    words = words.lstrip()
    if len(words) < 2:  # a mark and a pattern
        return
    pieces = _cut(words[1:], words[0], 1)
    _ex(pieces[1] if len(pieces) > 1 else "", found, depth + 1)


def _substitute(words: str, found: _Found, depth: int) -> None:
    words = words.lstrip()
    if not words or words[0].isalnum() or words[0] in '"|& \t':  # the last one again
        found.unknown = found.unknown or _BARS.search(words) is not None
        return
    pieces = _cut(words[1:], words[0], 2)
    if len(pieces) > 1 and pieces[1].startswith("\\="):
        found.unknown = found.unknown or _SIMPLE.match(pieces[1][2:]) is None
    _, *others = _BARS.split(pieces[2] if len(pieces) > 2 else "", maxsplit=1)
    if others:
        _ex(others[0], found, depth + 1)


def _cut(text: str, mark: str, most: int) -> list[str]:
    """Split at a mark that no backslash stands before."""
    found: list[str] = []
    start, at = 0, 0
    while at < len(text) and len(found) < most:
        if text[at] == "\\":
            at += 1
        elif text[at] == mark:
            found.append(text[start:at])
            start = at + 1
        at += 1
    return [*found, text[start:]]


# -- keys -----------------------------------------------------------------------------------------------

_TAKES_ONE: Final = frozenset("m'`rfFtTzZ[]\x17")
_OPERATORS: Final = frozenset("dyc<>=")
_INSERTS: Final = frozenset("iIaAoOsSCR")
_ESCAPES: Final = frozenset("\x1b\x03")


class _Keys:
    """Keys since the last Enter, taken one by one."""

    def __init__(self, text: str, mode: str) -> None:
        self.text = text
        self.at = 0
        self.mode = mode
        self.found = _Found()
        self.inserted: list[str] = []

    def run(self) -> Ways:
        while self.at < len(self.text) and not self.found.unknown:
            self._key(self._next())
        return Ways(
            tuple(self.found.lines[:MOST_LINES]), self.found.unknown or len(self.found.lines) > MOST_LINES, self.mode
        )

    def _next(self) -> str:
        key = self.text[self.at : self.at + 1]
        self.at += 1
        return key

    def _key(self, key: str) -> None:  # noqa: C901, PLR0912  # a table
        if key in _ESCAPES:
            self.mode = ""
        elif self.mode == INSERT:
            self._insert(key)
        elif key == "\0":
            pass  # a cursor or a function key moves
        elif key == ":":
            self._command("")
        elif key in "/?":
            self._command(key)
        elif key == "!":
            self._filter()
        elif key == "@" or key in {"Q", "*"}:
            self.found.unknown = key != "*"  # a register, or Ex mode
        elif key == '"':
            self.found.unknown = self._next() == "="
        elif key == "q":
            self.found.unknown = self._next() in {":", "/", "?"}  # the window of commands
        elif key == "g":
            self._behind_g()
        elif key in _TAKES_ONE:
            self._next()
        elif key in _OPERATORS and self.mode != VISUAL:
            self._operator(key)
        elif key in "vV\x16":
            self.mode = "" if self.mode == VISUAL else VISUAL
        elif key in _INSERTS or key == "c":
            if self.mode == VISUAL and key in "ia":
                self._next()
            elif not (self.mode == VISUAL and key in "oO"):
                self.mode = INSERT

    def _insert(self, key: str) -> None:
        if key in "\x16\x11":
            self._next()
        elif key == "\x0b":
            self.at += 2
        elif key == "\x12":
            after = self._next()
            if after in {"\x12", "\x0f", "\x10"}:
                after = self._next()
            if after == "=":
                self._expression()
        elif key == "\x0f":
            self.mode = ""  # for one command: what comes is read as commands
        elif key == "\0":
            self.mode = ""  # what is not known as a key's sequence is Escape, and commands
        else:
            self.inserted.append(key)

    def _expression(self) -> None:
        rest = self.text[self.at :]
        self.found.unknown = _NUMBERS.match(rest) is None
        self.at = len(self.text)

    def _behind_g(self) -> None:
        key = self._next()
        if key in {"i", "I", "R"}:
            self.mode = INSERT
        elif key == "Q":
            self.found.unknown = True
        elif key == "r":
            self._next()

    def _operator(self, operator: str) -> None:
        key = self._next()
        while key.isdecimal():
            key = self._next()
        if key in {"i", "a", "g", "f", "F", "t", "T", "'", "`"} and key:
            self._next()
        elif key and key in "/?":
            self._command(key)
        elif key and key in _ESCAPES:
            return
        if operator == "c":
            self.mode = INSERT

    def _filter(self) -> None:
        rest = self.text[self.at :]
        self.at = len(self.text)
        if self.mode == VISUAL:
            self.mode = ""
            _shell(_plain(rest), self.found, ranged=True)
            return
        motion = re.match(r"\d*(?:!|[ia].|[fFtT'`].|g.|[\[\]].|.)", rest, re.DOTALL)
        end = motion.end() if motion else 0
        command = _plain(rest[end:])
        if re.search(r"[/?]\Z", rest[:end]) or _unseen(rest):
            self.found.unknown = True
        _shell(command, self.found, ranged=True)

    def _command(self, kind: str) -> None:
        """A line behind ``:``, ``/`` or ``?``, to Enter or to where it is given up."""
        line: list[str] = []
        self.mode = ""
        unseen = False
        while self.at < len(self.text):
            key = self._next()
            if key in _ESCAPES:
                return
            if key in "\x7f\b":
                if not line:
                    return
                line.pop()
            elif key == "\x15":
                line.clear()
            elif key in "\x16\x11":
                line.append(self._next())
            elif key < " ":
                unseen = True  # an arrow, a register, completion, the window of commands
            else:
                line.append(key)
        text = "".join(line)
        if unseen:
            self.found.unknown = True
        elif not kind:
            _ex(text, self.found, 0)


def _plain(text: str) -> str:
    line: list[str] = []
    for key in text:
        if key in "\x7f\b":
            del line[-1:]
        elif key == "\x15":
            line.clear()
        elif key >= " ":
            line.append(key)
    return "".join(line)


def _unseen(text: str) -> bool:
    return re.search(r"[\x00-\x07\x09-\x14\x16-\x1f]", text) is not None


def vi_keys(text: str, mode: str) -> tuple[Ways, str]:
    """Follow what was typed since the last Enter.

    Args:
        text: keys; NUL stands for an arrow's or a function key's sequence.
        mode: what the editor was in before.

    Returns:
        What it runs, and what was inserted, as far as that is certain.
    """
    if len(text) > MOST_TEXT and mode != INSERT:
        return Ways(unknown=True, mode=mode), ""
    keys = _Keys(text, mode)
    return keys.run(), "".join(keys.inserted)
