"""Which approval settings a person has accepted: looser ones in the settings file wait until somebody says so.

What holds is kept whole, not as a digest, so that the difference can be shown; a file for each settings file, in the
state directory. It belongs to the path by which the settings are named: a link that is laid elsewhere does not make
other settings the first ones.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from shellward.config import paths
from shellward.config.loader import Loaded, approval_of
from shellward.config.schema import AllowEntry, ApprovalSection, Config
from shellward.config.strictness import Difference, looser, strictest
from shellward.config.wording import say_once
from shellward.core import files
from shellward.core.errors import ConfigError

_SHOWN: Final = 3
"""So many differences are named in the message; ``shellward config accept`` shows all."""


class _Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the file holds."""

    file: str
    approval: ApprovalSection


class Accepted:
    """The accepted approval settings of one settings file. Safe to share between threads and programs.

    Args:
        file: the settings file; it need not exist.
        directory: where it is kept what was accepted; None for the usual place.
    """

    def __init__(self, file: Path, directory: Path | None = None) -> None:
        self.file = file
        self._name = os.path.abspath(file)  # noqa: PTH100  # links are not followed, see above
        digest = sha256(os.fsencode(self._name)).hexdigest()[:32]
        self.path = (paths.accepted_dir() if directory is None else directory) / f"{digest}.json"
        self._last: ApprovalSection | None = None

    def hold(self) -> ApprovalSection:
        """Return the approval settings that hold, and keep them as accepted.

        What is looser in the file than what was accepted does not hold; that is said once. With nothing accepted
        yet, all of the file holds. Where nothing can be kept (a state directory that is read-only), that is said
        once, and it holds for this program alone.

        Raises:
            ConfigError: the settings file is not valid, or what was accepted cannot be read.
        """
        try:
            with self._lock():
                wanted, before, held = self._compare()
                if held != self._read():
                    self._keep(held)
        except OSError as error:
            say_once(f"{self.path}: accepted settings cannot be kept: {error.strerror or error}")
            wanted, before, held = self._compare()
        self._last = held
        if before is not None and (waiting := looser(before, wanted)):
            say_once(self._message(waiting))
        return held

    def _compare(self) -> tuple[ApprovalSection, ApprovalSection | None, ApprovalSection]:
        """Return what the file says, what was accepted before, and what holds."""
        wanted, kept = approval_of(self.file), self._read()
        before = self._last if kept is None else kept
        return wanted, before, wanted if before is None else strictest(before, wanted)

    def waiting(self) -> tuple[ApprovalSection, ApprovalSection]:
        """Return what holds, and what the file says.

        Raises:
            ConfigError: as ``hold``.
        """
        return self.hold(), approval_of(self.file)

    def accept(self, section: ApprovalSection) -> None:
        """Keep a section as accepted: a person has said so.

        Raises:
            ConfigError: it cannot be kept.
        """
        with self._locked():
            self._keep(section)

    @contextlib.contextmanager
    def allowing(self, entries: Sequence[dict[str, object]]) -> Iterator[None]:
        """Accept entries of ``command_allowlist``, which a person has just approved, while they are written down.

        Raises:
            ConfigError: they cannot be kept.
        """
        new = [msgspec.convert(entry, AllowEntry) for entry in entries]
        with self._locked():
            yield
            held = self._read() or self._last or approval_of(self.file)
            listed = held.command_allowlist
            listed = (*listed, *(entry for entry in new if entry not in listed))
            self._keep(msgspec.structs.replace(held, command_allowlist=listed))

    def applied(self, loaded: Loaded) -> Config:
        """Return settings with what holds in place of what the file says; variables and arguments stay.

        Raises:
            ConfigError: as ``hold``.
        """
        held, said = self.hold(), approval_of(self.file)
        return (
            loaded.config if held == said else msgspec.structs.replace(loaded.config, approval=_put(loaded, held, said))
        )

    # -- the file ---------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with files.locked(self.path.with_suffix(".lock")):
            yield

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with self._lock():
                yield
        except OSError as error:
            raise ConfigError(f"{self.path}: what was accepted cannot be kept: {error.strerror or error}") from error

    def _read(self) -> ApprovalSection | None:
        try:
            kept = msgspec.json.decode(self.path.read_bytes(), type=_Kept)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ConfigError(f"{self.path}: what was accepted cannot be read: {error.strerror or error}") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"{self.path}: what was accepted of {self.file} cannot be read ({error}); "
                "compare the settings with what you want, and remove this file"
            ) from None
        if kept.file != self._name:
            raise ConfigError(f"{self.path}: belongs to {kept.file}, not to {self._name}; remove it")
        return kept.approval

    def _keep(self, section: ApprovalSection) -> None:
        files.replace(self.path, msgspec.json.encode(_Kept(file=self._name, approval=section)))
        self._last = section

    def _message(self, waiting: Sequence[Difference]) -> str:
        from shellward.approval.show import safe

        named = "; ".join(safe(str(each))[:200] for each in waiting[:_SHOWN])
        more = f"; and {len(waiting) - _SHOWN} more" if len(waiting) > _SHOWN else ""
        return (
            f"{safe(str(self.file))} lets more pass than what was accepted, so that part of it does not hold yet: "
            f"{named}{more}. A person can take it over at a terminal: shellward config accept"
        )


def _put(loaded: Loaded, held: ApprovalSection, said: ApprovalSection) -> ApprovalSection:
    """Put what holds in the place of what the file says; what a variable, an argument or a project said stays."""

    def given(key: str) -> bool:
        source = loaded.sources.get(key, "default")
        return source == "argument" or source.startswith("$")

    now = loaded.config.approval
    values: dict[str, Any] = {}
    for name in ApprovalSection.__struct_fields__:
        key = f"approval.{name}"
        if name == "rules" and not given(key):
            values[name] = (*held.rules, *(rule for rule in now.rules if rule not in said.rules))
        elif name == "reviewer":
            mine = {each: given(f"{key}.{each}") for each in now.reviewer.__struct_fields__}
            chosen = {each: getattr(now.reviewer if own else held.reviewer, each) for each, own in mine.items()}
            values[name] = type(now.reviewer)(**chosen)
        else:
            values[name] = getattr(now if given(key) else held, name)
    return ApprovalSection(**values)
