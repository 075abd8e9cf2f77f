"""Reading blanks, redirections and here-documents."""

from __future__ import annotations

import re

from shellward.command.syntax import (
    Redirect,
    Text,
)
from shellward.command.wordreader import WordReader

_BLANK = re.compile(r"(?:[ \t]|\\\n)*")
_SPACE = re.compile(r"(?:[ \t\n]|\\\n)*+")
_REDIRECT = re.compile(r"(\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<>|<&|>>|>&|>\||&>>|&>|<|>)")


class RedirectReader(WordReader):
    """Reads what stands between the words of commands."""

    pending: list[tuple[Redirect, str, bool, bool]]
    """Here-documents whose bodies are still to come: redirection, delimiter, literal, tabs stripped."""

    def blanks(self) -> None:
        """Skip blanks, line continuations and a comment."""
        s, i = self.s, self.i
        if i >= self.n or s[i] not in " \t\\#":
            return
        match = _BLANK.match(s, i, self.n)
        if match:
            self.i = match.end()
        if self.i < self.n and s[self.i] == "#":
            end = self.s.find("\n", self.i, self.n)
            self.i = end if end >= 0 else self.n

    def newlines(self) -> None:
        """Skip blanks, comments and newlines; here-documents that were announced begin at a newline."""
        while self.i < self.n and self.s[self.i] in " \t\n\\#":
            before = self.i
            if not self.pending:
                match = _SPACE.match(self.s, before, self.n)
                self.i = match.end() if match else before
            self.blanks()
            if self.i < self.n and self.s[self.i] == "\n":
                self.i += 1
                if self.pending:
                    self.heredocs()
            elif self.i == before:
                return

    def redirect(self) -> Redirect | None:
        """Read one redirection; None when there is none."""
        s = self.s
        match = _REDIRECT.match(s, self.i, self.n)
        if not match:
            return None
        fd, op = match.groups()
        if op in {"<", ">"} and s.startswith("(", match.end()) and not fd:
            return None
        if op.startswith("&") and fd:
            return None
        self.i = match.end()
        self.work.left -= 2
        self.blanks()
        start = self.i
        target = self.word()
        redirect = Redirect(op, fd or "", target)
        if op in {"<<", "<<-"}:
            raw = s[start : self.i]
            literal = any(c in raw for c in "'\"\\")
            delimiter = (
                "".join(p.value for p in target.parts if isinstance(p, Text)) if target.lit is None else target.lit
            )
            if target.lit is None and not all(isinstance(p, Text) for p in target.parts):
                delimiter = raw
            self.pending.append((redirect, delimiter, literal, op == "<<-"))
        return redirect

    def heredocs(self) -> None:
        """Read the bodies of the announced here-documents, in order, at the start of a line."""
        pending, self.pending = self.pending, []
        for redirect, delimiter, literal, strip in pending:
            s, n, size = self.s, self.n, len(delimiter)
            start = at = self.i
            end = after = n
            while at < n:
                here = at
                while strip and here < n and s[here] == "\t":
                    here += 1
                if s.startswith(delimiter, here) and (here + size >= n or s[here + size] == "\n"):
                    end, after = at, min(here + size + 1, n)
                    break
                at = self.next_line(at, delimiter)
            redirect.body = self.body(start, end, literal=literal, strip=strip)
            self.i = after

    def next_line(self, at: int, delimiter: str) -> int:
        """Find the start of the next line that may hold the delimiter."""
        if delimiter:
            found = self.s.find(delimiter, at + 1, self.n)
            if found < 0:
                return self.n
            line = self.s.rfind("\n", at, found)
            if line >= 0 and line + 1 > at:
                return line + 1
            end = self.s.find("\n", found, self.n)
            return end + 1 if end >= 0 else self.n
        end = self.s.find("\n", at, self.n)
        return end + 1 if end >= 0 else self.n
