"""Decisions as records of the audit log: what is written, secrets masked, and what if it cannot be."""

import functools
import getpass
import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from shellward.config.schema import AuditSection
from shellward.core.gate import Decision, Step, Verdict
from shellward.telemetry.audit import AuditLog, encode_fields
from shellward.telemetry.masking import mask

_SHORT: Final = 256
_MOST_USUAL: Final = 512
"""So many records are kept encoded."""
_MAX_TEXT: Final = 16 * 1024
"""Characters of a command that are kept; the hash of the whole is kept as well when it is longer."""


class Journal:
    """Records decisions and outcomes. Safe to share between threads.

    Args:
        settings: the audit section.
        path: where the log is when the settings do not say.
    """

    def __init__(self, settings: AuditSection, path: Path) -> None:
        self._settings = settings
        self._log = AuditLog(Path(settings.path).expanduser() if settings.path else path, max_bytes=settings.max_bytes)
        self._who = {"pid": os.getpid(), "user": _user()}
        self._usual: dict[int, tuple[Decision, int, bytes]] = {}

    def decision(self, decision: Decision) -> Decision:
        """Record a decision.

        Returns:
            It, with the record's id in its context; or a refusal when it cannot be recorded and the settings
            say that nothing runs unrecorded.
        """
        if not self._settings.enabled:
            return decision
        encoded = self._encoded(decision)
        name = secrets.token_hex(8)
        decision = replace(decision, context={"id": name, **decision.context})
        sync = self._settings.fsync
        try:
            self._log.append(
                "decision",
                {"id": name},
                encoded=encoded,
                sync=sync == "always" or (sync == "findings" and bool(decision.findings)),
            )
        except OSError as error:
            if self._settings.on_error == "ignore" or decision.verdict is Verdict.DENY:
                return decision
            reason = f"not run: the decision cannot be recorded ({error}); see audit.on_error in the settings"
            steps = (*decision.steps, Step("audit", Verdict.DENY, reason))
            return replace(decision, verdict=Verdict.DENY, decided_by="audit", reason=reason, steps=steps)
        return decision

    def outcome(self, decision: Decision, exit_code: int, duration: float) -> None:
        """Record how a command ended; its decision is in the log already, so failing here changes nothing."""
        if not self._settings.enabled or "id" not in decision.context:
            return
        fields = {"id": decision.context["id"], "exit_code": exit_code, "duration": round(duration, 6)}
        try:
            self._log.append("outcome", fields, sync=self._settings.fsync == "always")
        except OSError:
            return

    def close(self) -> None:
        """Close the log's files."""
        self._log.close()

    def _encoded(self, decision: Decision) -> bytes:
        """Return what is recorded of a decision; the gate returns the same one again for what needs no answer."""
        if decision.findings:
            return encode_fields(self._fields(decision))
        known = self._usual.get(id(decision))
        if known is not None and known[0] is decision and known[1] == os.getpid():
            return known[2]
        encoded = encode_fields(self._fields(decision))
        if len(self._usual) >= _MOST_USUAL:
            self._usual.clear()
        self._usual[id(decision)] = (decision, os.getpid(), encoded)
        return encoded

    def _fields(self, decision: Decision) -> dict[str, Any]:
        context = {name: _text(value) if isinstance(value, str) else value for name, value in decision.context.items()}
        fields: dict[str, Any] = {
            "verdict": decision.verdict.value,
            "by": decision.decided_by,
            "command": _clipped(decision.command),
            "reason": _text(decision.reason),
            "context": context,
            "program": self._who | {"pid": os.getpid()},
        }
        if decision.normalized != decision.command:
            fields["normalized"] = _clipped(decision.normalized)
        if decision.findings:
            fields["findings"] = [
                {
                    "rule": f.rule,
                    "severity": f.severity.name.lower(),
                    "inner": _clipped(f.inner),
                    "via": f.via,
                    "affects": [_text(target) for target in f.affects],
                }
                for f in decision.findings
            ]
        if len(decision.steps) > 1:
            fields["steps"] = [
                {"by": step.by, "verdict": step.verdict and step.verdict.value, "reason": _text(step.reason)}
                for step in decision.steps
            ]
        return fields


def _text(text: str) -> str:
    """Mask secrets, and write what UTF-8 cannot hold (lone surrogates) as codes."""
    return _short_text(text) if len(text) <= _SHORT else _any_text(text)


def _any_text(text: str) -> str:
    masked = mask(text)
    return masked if masked.isascii() else masked.encode("utf-8", "backslashreplace").decode()


_short_text = functools.lru_cache(maxsize=1024)(_any_text)
"""Directories, names of containers and usual commands come again and again."""


def _clipped(text: str) -> str:
    masked = _text(text)
    if len(masked) <= _MAX_TEXT:
        return masked
    from hashlib import sha256

    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    half = _MAX_TEXT // 2
    return f"{masked[:half]} <{len(masked) - _MAX_TEXT} characters left out, sha256 {digest}> {masked[-half:]}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
