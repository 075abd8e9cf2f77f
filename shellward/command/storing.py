"""Following assignments and redirections: what is kept in variables and files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.operands import cut
from shellward.command.running import Runner
from shellward.command.syntax import Text
from shellward.command.values import decimal, unknown

if TYPE_CHECKING:
    from shellward.command.syntax import Assign, Redirect, Span, Word

_SPECIAL_PATHS = ("/dev/tcp/", "/dev/udp/")
_COMMAND_VARIABLES = frozenset(
    [
        "PROMPT_COMMAND",
        "GIT_SSH_COMMAND",
        "GIT_SSH",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "GIT_EDITOR",
        "GIT_PAGER",
        "GIT_SEQUENCE_EDITOR",
        "MANPAGER",
        "BROWSER",
        "LESSOPEN",
        "GIT_EXTERNAL_DIFF",
        "GIT_PROXY_COMMAND",
        "GIT_ASKPASS",
        "SSH_ASKPASS",
        "SUDO_ASKPASS",
        "RSYNC_RSH",
        "SVN_SSH",
    ]
)


_RECORDS = frozenset(("HISTFILE", "HISTSIZE", "HISTFILESIZE"))
_SUBSCRIPT = re.compile(r"\s*[A-Za-z_]\w*\[(?:\$\(|`)")
_EXPORTED = re.compile(r"BASH_FUNC_([\w.-]+)(?:%%|\(\))")
"""How bash names a function in the environment: with ``%%`` since 4.3 patch 27, with ``()`` before."""


class Storer(Runner):
    """Follows what a command line stores, and where it would be read again."""

    def assign(self, assign: Assign) -> None:
        """Follow one assignment; substitutions in it run."""
        state = self.state
        if assign.array is not None:
            if any(self.head(word).startswith("[") for word in assign.array):
                self.assign_map(assign)
                return
            values = self.expander.fields(assign.array)[0]
            old = state.get(assign.name) if assign.append else None
            state.assign(assign.name, [*old, *values] if isinstance(old, list) else values)
            return
        value = self.expander.text(assign.value)
        if assign.index:
            self.subscript(f"a[{assign.index}]", assign.value.span if assign.value else (0, 0))
            self.assign_element(assign.name, self.expander_index(assign.index), value)
        elif assign.append:
            old = state.get(assign.name)
            state.assign(assign.name, cut((old if isinstance(old, str) else "") + value))
        else:
            state.assign(assign.name, value)
        if "$(" in value or "`" in value:
            self.subscript(value, assign.value.span if assign.value else (0, 0))
            if assign.name in {"PS0", "PS1", "PS2", "PS4"}:
                self.run_text(f'echo "{value}"', assign.value.span if assign.value else (0, 0))
        self.command_variable(assign.name, value, assign.value.span if assign.value else (0, 0))

        if assign.name in _RECORDS and value in {"", "0", "/dev/null"}:
            self.effect(["export", f"{assign.name}={value}"], assign.value.span if assign.value else (0, 0))

    def command_variable(self, name: str, value: str, span: Span) -> None:
        """Follow what stands in a variable whose value is run: ``GIT_SSH_COMMAND``, an exported function of bash."""
        if name in _COMMAND_VARIABLES and " " in value:
            self.run_text(value, span)
        function = _EXPORTED.fullmatch(name)
        if function and value.lstrip().startswith("()"):
            self.run_text(f"{function.group(1)} {value}", span)

    def subscript(self, text: str, span: Span) -> None:
        """Follow what arithmetic would run: the shell expands a subscript once more, ``a[$(cmd)]``."""
        if len(text) < 2000 and ("[$(" in text or "[`" in text) and _SUBSCRIPT.match(text):
            self.run_text(f'echo "{text}"', span)

    @staticmethod
    def head(word: Word) -> str:
        """Return the text that a word begins with, as far as it is constant."""
        if word.lit is not None:
            return word.lit
        return word.parts[0].value if word.parts and isinstance(word.parts[0], Text) else ""

    def expander_index(self, index: str) -> str:
        """Work out an array's subscript."""
        return self.state.text(index[1:]) if index.startswith("$") else index.strip("'\"")

    def assign_map(self, assign: Assign) -> None:
        """Follow ``name=([key]=value ..)``."""
        table: dict[str, str] = {}
        for word in assign.array or ():
            text = self.expander.text(word)
            key, equals, value = text.partition("]=")
            if equals:
                table[key.lstrip("[")] = value
        if all(map(str.isdecimal, table)):  # an array by number: its elements stand in that order
            table = dict(sorted(table.items(), key=lambda item: decimal(item[0])))
        self.state.assign(assign.name, table)

    def assign_element(self, name: str, index: str, value: str) -> None:
        """Follow ``name[index]=value``."""
        old = self.state.get(name)
        if isinstance(old, list) and index.isdecimal():
            new = [*old, *[""] * (decimal(index, 255) + 1 - len(old))]
            new[decimal(index, 255)] = value
            self.state.assign(name, new)
        elif index.isdecimal() and not isinstance(old, dict) and decimal(index) < 256:
            self.state.assign(name, [""] * decimal(index) + [value])
        else:
            self.state.assign(name, {**(old if isinstance(old, dict) else {}), index: value})

    def redirects(  # noqa: C901, PLR0912
        self, redirects: list[Redirect], stdin: str | None
    ) -> tuple[str | None, list[tuple[str, str]]]:
        """Follow redirections; return standard input and the files that get the output (path, operator)."""
        files: list[tuple[str, str]] = []
        for redirect in redirects:
            op = redirect.op
            other = redirect.fd not in {"", "0"}
            if op in {"<<", "<<-"}:
                given = self.expander.text(redirect.body)
                stdin = self.descriptor(redirect.fd, given, stdin) if other else given
                continue
            target = self.expander.text(redirect.target)
            if op == "<<<":
                stdin = self.descriptor(redirect.fd, target + "\n", stdin) if other else target + "\n"
            elif op == "<":
                given = self.contents(target, redirect.target.span)
                stdin = self.descriptor(redirect.fd, given, stdin) if other else given
            elif op == "<&":
                if not target.strip("-").isdecimal() and target != "-":
                    stdin = self.contents(target, redirect.target.span)
                elif target in self.state.fds:
                    stdin = self.contents(self.state.fds[target], redirect.target.span)
            elif op == ">&" and (target.strip("-").isdecimal() or target == "-"):
                if target in self.state.fds and redirect.fd in {"", "1"}:
                    files.append((self.state.fds[target], ">>"))
            else:
                path = self.state.opened(target)
                self.effect([">>" if op in {">>", "&>>"} else ">", path], redirect.target.span)
                if redirect.fd in {"", "1"} and op != "<>":
                    files.append((path, op))
                elif redirect.fd.strip("{}") not in {"", "2"}:
                    self.keep(redirect.fd, path)
                if op == "<>" and path.startswith(_SPECIAL_PATHS):
                    stdin = unknown("net", path)
        return stdin, files

    def descriptor(self, fd: str, text: str, stdin: str | None) -> str | None:
        """Note what a descriptor other than standard input would give; return standard input as it was."""
        path = f"/dev/fd/{fd.strip('{}')}"
        self.state.put(self.state.files, path, text)
        self.keep(fd, path)
        return stdin

    def keep(self, fd: str, path: str) -> None:
        """Note which file a descriptor leads to, by its number or by the name of ``{name}>file``."""
        name = fd.strip("{}")
        self.state.put(self.state.fds, name, path)
        if name != fd:
            self.state.assign(name, name)

    def contents(self, target: str, span: Span) -> str:
        """Return what reading a file would give."""
        path = self.state.opened(target)
        if path.startswith(_SPECIAL_PATHS):
            self.effect(["<", path], span)
            return unknown("net", "tcp")
        if path == "/dev/null":
            return ""
        known = self.state.files.get(path)
        return known if known is not None else unknown("file", path)

    def store(self, files: list[tuple[str, str]], printed: str) -> str:
        """Note what was written to which file; return what is left to print."""
        for path, op in files:
            if op in {">>", "&>>"}:
                self.write(path, cut(self.state.files.get(path, "") + printed))
            else:
                self.write(path, printed)
        return "" if files else printed

    def emptying(self, files: list[tuple[str, str]], span: Span, *, nothing: bool) -> None:
        """Note files that are emptied. What the line then writes into one of its own is as if it began with that."""
        for path, op in files:
            if nothing and op in {">", ">|"}:
                self.effect(["@empty", path], span)
                if self.state.own(path):
                    self.emptied[path] = self.invocations[-1]
            elif not nothing and op in {">>", "&>>"}:
                self.refill(path)

    def refill(self, path: str) -> None:
        """Note that what the line has emptied gets new content: then it was written anew, as ``>`` does."""
        effect = self.emptied.pop(path, None)
        if effect is not None:
            effect.name = effect.argv[0] = ">"

    def write(self, path: str, text: str) -> None:
        """Note a file's content."""
        self.work.left -= 3 + (len(text) >> 9)
        sink = self.sinks.get(path)
        if sink is not None and text:
            mark = self.state.mark()
            self.visit(sink, text)
            self.state.undo(mark)
        elif path != "/dev/null":
            self.state.put(self.state.files, path, text)
