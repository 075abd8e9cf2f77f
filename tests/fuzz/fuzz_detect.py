"""Throw mutated shell text at the gate's detection: no text may raise, loop, or cost more than a second.

Usage: python tests/fuzz/fuzz_detect.py [--seconds 60] [--engine mutate|hypothesis|atheris] [--seed N] [--crashes DIR]

Seeds are the commands of tests/corpus. What fails is written to DIR (or printed); exit status 1. ``atheris`` must be
installed for its engine (it watches which code an input reaches); the others need nothing more than the tests do.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

CORPUS = Path(__file__).parents[1] / "corpus"
SLOW = 1.0
"""Most seconds of the processor for one text."""
HANG = 20.0
"""Seconds of the processor after which a text is given up."""
LONGEST = 16_384

FRAGMENTS = [
    *("$(", "$((", "))", ")", "(", "`", "'", '"', "$'", '$"', "${", "}", "{", "[", "]", "[[ ", " ]]", "((", "$[", "${!", "${#", "${x:", "${x//"),
    *("${x[", "${x@", "${x^^}", "${x:0:1}", "{a,b}", "{1..9}", "{,", "..", "<<E\n", "<<-E\n", "<<'E'\n", "\nE\n", "<<<", "<(", ">(", ">", ">>", "<>"),
    *("&>", "2>&1", ">|", "{fd}>", "<&", ">&-", "|", "||", "|&", "&", "&&", ";", ";;", ";&", ";;&", "\n", "\\\n", "\\", " ", "\t", "\r", "\0", "#", "!"),
    *("if ", "then ", "elif ", "else ", "fi", "while ", "until ", "for x in ", "for((;;))", "select x in ", "do ", "done", "case x in ", "esac", "in "),
    *("function f ", "f() ", "time ", "time -p ", "coproc ", "x=", "x+=", "x=(", "x[1]=", "declare -n r=", "declare -A m=(", "[k]=v ", "local ", "export "),
    *("eval ", "exec ", "source ", ". ", "trap 'a' EXIT;", "set -- ", "shift ", "read x ", "printf -v x ", "alias a=", "unset ", "cd ", "cd -", "pushd "),
    *("sudo ", "env ", "env -S ", "xargs ", "xargs -I{} ", "find . -exec ", " {} +", " \\;", "ssh h ", "sh -c ", "bash -c ", "python3 -c ", "perl -e "),
    *("awk ", "sed ", "tee ", "base64 -d", "xxd -r -p", "rev", "tr a b", "cut -c1-2", "head -n1", "printf ", "echo ", "echo -e ", "cat ", "gzip -d", "$0"),
    *("$1", "$@", "$*", "$#", "$?", "$$", "$!", "$x", "$IFS", "$RANDOM", "~", "*", "?", "[a-z]", "@(a|b)", "!(x)", "rm -rf ", "/", "/srv", "-rf", "--", "-"),
    *("git ", "docker run ", "kubectl ", "psql -c ", "DROP TABLE t", "curl x", "| sh", "crontab ", "dd of=/dev/sda", "make -f -", "vim -c ", "tar ", "ed "),
    *("\ue000", "\ue001", "\ue000var:x\ue001", "\ue010", "\ud800", "\udcff", "é", "あ", "\u2028", "\u202e", "\x1b[31m", "\x7f", "9" * 30, "9" * 5000, "²", "٣", "0x", "1e9", "-1"),
    *("%s", "%b", "%d", "%*s", "%x", "\\x41", "\\101", "\\u0041", "\\c", "%%", "{}", "{{", "}}", "=", ":", ",", "@", "^", "!!", "!$", "&&&", ">>>", "<<<<"),
]  # fmt: skip
"""Pieces that mean something to the reader, the tracer or the text filters."""


class Hang(BaseException):
    """One text takes far too long; a BaseException, so that nothing inside takes it for its own."""


def seeds() -> list[str]:
    """Read the commands of every corpus."""
    return [
        json.loads(line)["command"]
        for path in sorted(CORPUS.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def mutate(rng: random.Random, corpus: list[str]) -> str:
    """Make one text: out of fragments alone, or of commands that are cut, joined, repeated, wrapped and littered."""
    if rng.random() < 0.15:
        return "".join(rng.choices(FRAGMENTS, k=rng.randint(1, 60)))
    text = rng.choice(corpus)
    for _ in range(rng.randint(1, 8)):
        at, to = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        kind = rng.randrange(9)
        if kind == 0:
            text = text[:at] + text[to:]
        elif kind == 1:
            text = text[:to] + text[at:to] * rng.choice((1, 2, 3, 30)) + text[to:]
        elif kind in {2, 3, 4}:
            text = text[:at] + rng.choice(FRAGMENTS) + text[at:]
        elif kind == 5:
            other = rng.choice(corpus)
            text = text[:at] + other[rng.randint(0, len(other)) :] + text[to:]
        elif kind == 6:
            text = rng.choice(FRAGMENTS) + text + rng.choice(FRAGMENTS)
        elif kind == 7:
            text = text[:at] + rng.choice(FRAGMENTS) * rng.choice((2, 10, 200)) + text[at:]
        else:
            text = text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0x11000)))) + text[to:]
        text = text[:LONGEST]
    return text


class Checker:
    """Tries texts and keeps what failed.

    Args:
        crashes: directory for what failed; None to print it.
    """

    def __init__(self, crashes: Path | None) -> None:
        from shellward.approval import detect_dangerous_command

        self.detect: Callable[..., object] = detect_dangerous_command
        self.crashes = crashes
        self.tried = 0
        self.failed: list[str] = []
        self.slowest = (0.0, "")
        signal.signal(signal.SIGVTALRM, self.hang)

    @staticmethod
    def hang(_number: int, _frame: object) -> None:
        """Stop a text that does not end."""
        raise Hang

    def one(self, text: str) -> None:
        """Try one text."""
        self.tried += 1
        start = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, HANG)
        try:
            found = self.detect(text, cwd="/srv/app" if self.tried % 2 else None)
            found.explain()
            assert isinstance(found.normalized, str)
            for finding in found.findings:
                assert 0 <= finding.span[0] <= finding.span[1] <= len(text), finding
        except (Exception, Hang):
            self.fail(text, traceback.format_exc(limit=-4))
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        took = time.process_time() - start
        self.slowest = max(self.slowest, (took, text))
        if took > SLOW:
            self.fail(text, f"took {took:.1f} s")

    def fail(self, text: str, why: str) -> None:
        """Keep what failed."""
        self.failed.append(text)
        if self.crashes is None:
            print(f"{why}\n{text!r}\n", flush=True)
            return
        self.crashes.mkdir(parents=True, exist_ok=True)
        path = self.crashes / f"{len(self.failed):04}.json"
        path.write_text(json.dumps({"text": text, "why": why}, indent=1), encoding="utf-8")


def run_mutations(checker: Checker, seconds: float, seed: int) -> None:
    """Mutate at random."""
    rng, corpus, end = random.Random(seed), seeds(), time.monotonic() + seconds
    while time.monotonic() < end:
        checker.one(mutate(rng, corpus))


def run_hypothesis(checker: Checker, seconds: float, seed: int) -> None:
    """Let hypothesis compose texts."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis import seed as seeded
    from hypothesis import strategies as st

    piece = st.sampled_from(FRAGMENTS) | st.sampled_from(seeds()) | st.text(max_size=8)
    end = time.monotonic() + seconds

    while time.monotonic() < end:

        @seeded(seed)
        @settings(max_examples=500, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(st.lists(piece, max_size=40).map("".join))
        def one(text: str) -> None:
            if time.monotonic() < end:
                checker.one(text)

        one()
        seed += 1


def run_atheris(checker: Checker, seconds: float, seed: int) -> None:
    """Let atheris choose, by the code that an input reaches (it ends the process)."""
    import atheris

    corpus, end = seeds(), time.monotonic() + seconds

    def one(data: bytes) -> None:
        provider = atheris.FuzzedDataProvider(data)
        if provider.ConsumeBool():
            text = provider.ConsumeUnicode(LONGEST)
        else:
            pieces: list[str] = []
            while provider.remaining_bytes() > 0 and len(pieces) < 80:
                kind = provider.ConsumeIntInRange(0, 5)
                if kind == 0:
                    pieces.append(corpus[provider.ConsumeIntInRange(0, len(corpus) - 1)])
                elif kind == 1:
                    pieces.append(provider.ConsumeUnicodeNoSurrogates(4))
                else:
                    pieces.append(FRAGMENTS[provider.ConsumeIntInRange(0, len(FRAGMENTS) - 1)])
            text = "".join(pieces)[:LONGEST]
        checker.one(text)
        if time.monotonic() > end:
            report(checker)
            os._exit(1 if checker.failed else 0)  # libFuzzer would end the process without a word

    arguments = [
        sys.argv[0],
        f"-max_total_time={int(seconds) + 30}",
        f"-seed={seed + 1}",
        "-max_len=512",
        "-verbosity=0",
    ]
    atheris.Setup(arguments, one)
    atheris.Fuzz()


def main() -> int:
    """Run one engine for a time and say what failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--engine", choices=("mutate", "hypothesis", "atheris"), default="mutate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--crashes", type=Path)
    arguments = parser.parse_args()
    if arguments.engine == "atheris":
        import atheris

        with atheris.instrument_imports(include=["shellward"]):
            checker = Checker(arguments.crashes)
        run_atheris(checker, arguments.seconds, arguments.seed)
    else:
        checker = Checker(arguments.crashes)
        run = run_mutations if arguments.engine == "mutate" else run_hypothesis
        run(checker, arguments.seconds, arguments.seed)
        report(checker)
    return 1 if checker.failed else 0


def report(checker: Checker) -> None:
    """Print what was tried."""
    took, text = checker.slowest
    print(
        f"{checker.tried} texts, {len(checker.failed)} failed; slowest {took * 1e3:.0f} ms: {text[:120]!r}", flush=True
    )


if __name__ == "__main__":
    sys.exit(main())
