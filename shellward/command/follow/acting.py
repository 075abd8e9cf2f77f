"""What a program does to the world: a call that matters becomes the command that does the same."""

from __future__ import annotations

import re
from dataclasses import replace

from shellward.command.actions import Action
from shellward.command.doing import OTHER_DATABASE, call_kind, command, files, process, send, words_of
from shellward.command.follow.pythonic import written
from shellward.command.follow.things import Func, Given, Ref, text
from shellward.command.follow.things import plain as plainly
from shellward.command.purecalls import Value, squeeze
from shellward.command.values import CUT, known_part, labels, unknown

_MODES = frozenset(("r", "w", "r+", "w+", "re", "rb", "wb", "rt", "wt"))
_INPUTS = ("input", "stdin_data", "stdin")
_FOREIGN = frozenset(("net", "decoded", "encoded", "cut"))
"""Where text comes from that nobody should run unread."""


_FIRST = ("path", "src", "command", "cmd", "name", "file", "top", "pid", "source", "filename")
_SECOND = ("dst", "mode", "sig", "destination", "uid")
"""Names of the first and the second parameter of Python's functions that matter."""


def _in_order(args: list[object], named: dict[str, object]) -> list[object]:
    """Put the first two arguments in front that are given by name."""
    for at, names in enumerate((_FIRST, _SECOND)):
        given = next((named[name] for name in names if name in named), None)
        if len(args) == at and given is not None:
            args = [*args, given]
    return args


class Acting:
    """Notes what is done.

    Args:
        language: the program's language.
        code: its text.
        given: what it is started with.
    """

    def __init__(self, language: str, code: str, given: Given) -> None:
        self.language = language
        self.code = code
        self.start = given
        self.actions: list[Action] = []
        self.printed: list[str] = []
        self.decoded: list[str] = []
        self.instead: dict[str, list[str]] = {}
        """Texts that may stand where another one is taken for known."""

    def kind(self, path: str) -> str | None:
        """Say what kind of call a name is; None when it does not matter."""
        if "Mock()" in path:
            return None
        return call_kind(self.language, path) or (
            call_kind("php", path.lower())
            if self.language == "php"
            else None  # which takes small letters for large ones
        )

    def act(self, action: Action) -> None:
        """Note an action, once; and what may be done in its place."""
        if action not in self.actions[-20:]:
            self.actions.append(action)
            if self.instead:
                self.actions += self._others(action)

    def _others(self, action: Action) -> list[Action]:
        """List what may be done in place of an action."""
        if action.kind == "shell":
            return [replace(action, text=other) for other in self.instead.get(action.text, ())]
        words = action.argv if action.kind == "argv" else ()
        changed = [(at, other) for at, word in enumerate(words[:50]) for other in self.instead.get(word, ())][:8]
        return [replace(action, argv=(*words[:at], other, *words[at + 1 :])) for at, other in changed]

    def may_be(self, value: str, other: str) -> None:
        """Note that one text may stand where another one is taken for known."""
        found = self.instead.setdefault(value, [])
        if other and other not in found and len(found) < 4:
            found.append(other)

    def judged(self, text_run: str) -> None:
        """Note that text is run which was fetched, decoded or is not known to its end."""
        foreign = [label for label in labels(text_run) if label.partition(":")[0] in _FOREIGN]
        if foreign:
            self.act(Action("argv", argv=("@run", self.language, *foreign[:3])))
        elif any(piece and piece in text_run for piece in self.decoded[-8:]):
            self.act(Action("argv", argv=("@run", self.language, "decoded")))

    def prints(self, name: str, args: list[object], named: dict[str, object], *, ends: bool) -> None:
        """Note what is printed."""
        if name == "printf" and args:
            from shellward.command.follow.methods import formatted

            self.printed.append(formatted(text(args[0]), args[1:]))
            return
        joint = text(named.get("sep", " ")) if self.language in {"python", "javascript", "lua", "awk"} else ""
        joint = "\n" if name == "puts" else "\t" if self.language == "lua" and name == "print" else joint
        if self.language == "python":
            args = [written(arg) for arg in args]
        parts = [
            text(leaf)
            for arg in args
            for leaf in (arg if isinstance(arg, list) and self.language != "python" else [arg])
        ]
        end = text(named["end"]) if "end" in named else "\n" if ends and self.language not in {"perl", "php"} else ""
        end = "\n" if name in {"say", "puts"} else end
        self.printed.append(joint.join(parts) + end)

    def written(self, ref: Ref, args: list[object]) -> object:
        """What is written to a command that was started."""
        ref.pieces.append("".join(text(arg) for arg in args if not isinstance(arg, dict)))
        if ref.file and len(ref.pieces) <= 20:
            self.actions.append(Action("file", "".join(ref.pieces), (ref.file,)))
        for action in ref.opened:
            if len(ref.pieces) <= 20:
                self.act(Action(action.kind, action.text, action.argv, "\n".join(ref.pieces) + "\n"))
        return ref

    def perform(self, kind: str, ref: Ref, args: list[object], named: dict[str, object]) -> object:  # noqa: C901
        """Note what a call does; return what it gives back."""
        path = ref.path
        name = re.split(r"\.|::|->|\\", path)[-1]
        if self.language == "python":
            args = _in_order(args, named)
        given = [format(arg, "o") if kind == "chmod" and isinstance(arg, int) else arg for arg in args]
        values = [plainly(arg) for arg in given if not isinstance(arg, dict | Func)]
        words: dict[str, Value] = {key: plainly(value) for key, value in named.items()}
        for arg in args:
            if isinstance(arg, dict):
                words.update({text(key): plainly(value) for key, value in arg.items()})
        made = self._actions(kind, path, name, values, words)
        stdin = next(
            (
                squeeze(words[key])
                for key in _INPUTS
                if (key in words and known_part(squeeze(words[key])) != "")
                or (key in words and labels(squeeze(words[key])))
            ),
            None,
        )
        if stdin and kind in {"process", "spawn"}:
            made = [Action(action.kind, action.text, action.argv, stdin) for action in made]
        for action in made:
            self.act(action)
        if kind == "process" and made and made[0].argv[:1] in {(">",), (">>",)}:
            return Ref("open()", file=made[0].argv[1])
        if kind in {"process", "spawn", "exec-list"}:
            return Ref(
                f"{path}()", unknown("out", made[0].argv[0] if made and made[0].argv else "command"), tuple(made), []
            )
        if kind in {"write", "put"}:
            target = squeeze(values[0]) if values else ""
            if kind == "put" and len(values) > 1 and target:
                self.actions.append(Action("file", squeeze(values[1]), (target,)))
            return Ref("open()", unknown("file", target) if target else "", file=target if made else "")
        if kind == "send" and name == "file_get_contents" and values and "://" not in squeeze(values[0]):
            return Ref("open()", unknown("file", squeeze(values[0])))
        if kind == "send":
            return Ref(f"{path}()", unknown("net", name))
        return Ref(f"{path}()", "".join(f"{unknown(label)}" for label in labels(squeeze(values))[:2]))

    def _actions(  # noqa: C901, PLR0911, PLR0912
        self, kind: str, path: str, name: str, values: list[Value], named: dict[str, Value]
    ) -> list[Action]:
        if (
            name == "exec"
            and self.language == "javascript"
            and "child_process" not in path
            and "child_process" not in self.code
        ):
            return []  # a regular expression's method
        if kind == "run-net":
            return [Action("argv", argv=("@run", self.language, "net:package"))]
        if kind == "process":
            if name.startswith("popen") and len(values) > 1 and squeeze(values[1]) in _MODES:
                values = values[:1]
            self.judged(squeeze(values))
            if values and isinstance(values[0], str) and not known_part(values[0]).strip():
                given = [label for label in labels(values[0]) if re.match(r"var:|in\b", label)]
                if given:
                    return [Action("argv", argv=("@run", self.language, *given[:3]))]
            if name == "open" and self.language == "perl" and values and squeeze(values[0]).startswith("\ue000"):
                values = ["", *values[1:]]
            return process(self.language, name, values, named)
        if kind in {"exec-list", "exec-mode"}:
            return words_of(kind, values)
        if kind == "spawn":
            return self._spawned(values, named)
        if kind == "sql":
            if not values or (":memory:" in self.code and not OTHER_DATABASE.search(self.code)):
                return []
            return [Action("argv", argv=("@sql", self.language, squeeze(values[0])))]
        if kind == "send":
            return send(path, values, named)
        if kind in {"method-rm", "method-write"}:
            return []
        return files(kind, values, named, self.language)

    def _spawned(self, values: list[Value], named: dict[str, Value]) -> list[Action]:
        if not values:
            values = [named["cmd"]] if "cmd" in named else []
        if not values:
            return []
        self.judged(squeeze(values))
        if isinstance(values[0], list):
            return command(tuple(map(squeeze, values[0])))
        rest = values[1] if len(values) > 1 and isinstance(values[1], list) else values[1:]
        if "args" in named:
            more = named["args"]
            rest = [*rest, *(more if isinstance(more, list) else [more])]
        if "shell" in named and not rest:
            return process(self.language, "exec", values, {})
        return command((squeeze(values[0]), *map(squeeze, rest)))

    def path_action(self, path: str, name: str, args: list[object]) -> object:
        """Note what a method of a path does to it."""
        if name in {"unlink", "delete", "rmdir"}:
            self._note(files("rmdir" if name == "rmdir" else "rm", [path], {}))
        elif name in {"rmtree", "deleteDir", "rm_rf"}:
            self._note(files("rm-r", [path], {}))
        elif name in {"rename", "replace", "rename_to"} and args:
            self._note(files("mv", [path, text(args[0])], {}))
        elif name == "chmod" and args:
            mode = args[0]
            self._note(files("chmod", [path, format(mode, "o") if isinstance(mode, int) else text(mode)], {}))
        elif name in {"write_text", "write_bytes", "write"}:
            self._note(files("put", [path], {}))
            self.actions.append(Action("file", text(args[0]) if args else "", (path,)))
        elif name == "open":
            mode = text(args[0]) if args else "r"
            self._note(files("write", [path, mode], {}))
            return Ref("open()", unknown("file", path), file=path if mode[:1] in {"w", "a", "x"} else "")
        return Ref(f"path.{name}()", CUT if CUT in path else "")

    def _note(self, actions: list[Action]) -> None:
        for action in actions:
            self.act(action)
