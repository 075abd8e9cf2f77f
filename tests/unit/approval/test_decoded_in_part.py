"""Text that comes out of a decoder and is longer than what is worked out. Nothing is run here."""

import base64
import bz2
import gzip
import lzma
from collections.abc import Callable

import pytest

from shellward.approval.context import Context
from shellward.approval.detect import Detection, detect_dangerous_command
from shellward.approval.policy import Case, decide
from shellward.approval.rules import Rules
from shellward.command.values import LIMIT
from shellward.config.schema import RuleSpec
from shellward.core.gate import Verdict

QUIET = "echo fine\n"
HIDDEN = QUIET * (2 * LIMIT // len(QUIET)) + "git push origin main\n"
DENY = {"action": "deny", "glob": "git push *"}


def piped(text: str, packed: Callable[[bytes], bytes], *programs: str) -> Detection:
    said = base64.b64encode(packed(text.encode())).decode()
    return detect_dangerous_command(" | ".join([f"echo {said}", "base64 -d", *programs, "sh"]))


def verdict(detection: Detection, **rule: str) -> Verdict:
    rules = Rules([RuleSpec(**rule)])  # type: ignore[arg-type]
    return decide(Case(detected=detection, context=Context(cwd="/a"), rules=rules)).decision.verdict


WAYS = pytest.mark.parametrize(
    ("packed", "programs"),
    [(bytes, ()), (gzip.compress, ("gunzip",)), (bz2.compress, ("bunzip2",)), (lzma.compress, ("xz -d",))],
    ids=["base64", "gzip", "bzip2", "xz"],
)


@WAYS
def test_its_end_is_not_taken_for_harmless(packed: Callable[[bytes], bytes], programs: tuple[str, ...]) -> None:
    found = piped(HIDDEN, packed, *programs)
    assert any(each.argv[:1] == ("@run",) and "cut" in each.argv for each in found.findings)
    assert verdict(found, **DENY) is Verdict.DENY
    assert verdict(found, action="allow", glob="git push *") is Verdict.ASK


@WAYS
def test_what_was_worked_out_to_its_end_is_judged_by_that(
    packed: Callable[[bytes], bytes], programs: tuple[str, ...]
) -> None:
    found = piped(QUIET * 10, packed, *programs)
    assert not any("cut" in each.argv for each in found.findings)
    assert verdict(found, **DENY) is not Verdict.DENY
    assert verdict(piped("git push origin main\n", packed, *programs), **DENY) is Verdict.DENY
