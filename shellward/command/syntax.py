"""The syntax tree of a shell command line. Plain values; how text becomes a tree is reader.py's."""

from __future__ import annotations

from dataclasses import dataclass, field

Span = tuple[int, int]


@dataclass(slots=True)
class Text:
    """Characters as they stand. ``quoted`` text takes no part in splitting, globs, braces or tildes."""

    value: str
    quoted: bool = False


@dataclass(slots=True)
class Param:
    """``$name`` or ``${name<op>arg}``.

    Attributes:
        name: variable, positional number or special character.
        op: ``""``, ``:-``, ``#``, ``//``, ``:`` (slice), ``@``, ``length``, ``!`` (indirect), ...
        arg: the word after the operator.
        replacement: the second word of ``${x/a/b}``.
        index: subscript of an array element, as text.
        quoted: inside double quotes.
    """

    name: str
    op: str = ""
    arg: Word | None = None
    replacement: Word | None = None
    index: str = ""
    quoted: bool = False


@dataclass(slots=True)
class Substitution:
    """``$(..)``, backticks, ``<(..)`` or ``>(..)``; ``kind`` is ``$``, ``<`` or ``>``."""

    script: Script
    kind: str = "$"
    quoted: bool = False


@dataclass(slots=True)
class Arithmetic:
    """``$((..))``: the parts of its text."""

    parts: list[Part]
    quoted: bool = False


Part = Text | Param | Substitution | Arithmetic


@dataclass(slots=True)
class Word:
    """One shell word.

    Attributes:
        span: where it stands in the submitted text.
        parts: its pieces, when it is more than a constant.
        lit: its text when it is a constant that nothing can change (no expansion, glob, brace, tilde).
        bare: written without any quoting, so that it can be a reserved word or an alias.
    """

    span: Span
    parts: list[Part] = field(default_factory=list)
    lit: str | None = None
    bare: bool = False


@dataclass(slots=True)
class Assign:
    """``name=value``, ``name+=value``, ``name[i]=value`` or ``name=(values)``."""

    name: str
    value: Word | None
    array: list[Word] | None = None
    append: bool = False
    index: str = ""


@dataclass(slots=True)
class Redirect:
    """One redirection; ``body`` is the here-document's text as a word."""

    op: str
    fd: str
    target: Word
    body: Word | None = None


@dataclass(slots=True)
class Simple:
    """A simple command: assignments, words, redirections."""

    span: Span
    assigns: list[Assign]
    words: list[Word]
    redirects: list[Redirect]
    plain: list[str] | None = None
    """The words themselves when all are bare constants and there is nothing else: the fast path."""


@dataclass(slots=True)
class Compound:
    """A compound command.

    Attributes:
        kind: ``group subshell if while until for select case function test arith coproc``.
        span: where it stands.
        bodies: its scripts in the order they would run (condition first).
        name: loop variable, or name of the function or coprocess.
        words: what a loop runs over, the subject of a case, the words of a test.
        redirects: of the whole.
    """

    kind: str
    span: Span
    bodies: list[Script] = field(default_factory=list)
    name: str = ""
    words: list[Word] | None = None
    redirects: list[Redirect] = field(default_factory=list)


Command = Simple | Compound


@dataclass(slots=True)
class Pipeline:
    """Commands joined by pipes; ``end`` is what follows: ``;``, ``&``, ``&&``, ``||``, newline or nothing."""

    commands: list[Command]
    end: str = ""


@dataclass(slots=True)
class Problem:
    """Something that is not proper shell syntax, and where: ``unterminated``, ``unexpected``, ``too-deep``."""

    kind: str
    span: Span
    what: str = ""


@dataclass(slots=True)
class Script:
    """A list of pipelines."""

    span: Span
    items: list[Pipeline] = field(default_factory=list)
