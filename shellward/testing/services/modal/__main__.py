"""``python -m shellward.testing.services.modal``: a loopback Modal in the foreground. It prints its address first."""

import argparse
import asyncio
import contextlib
import signal
from pathlib import Path

from shellward.core.errors import MissingDependency


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m shellward.testing.services.modal",
        description="A loopback Modal: speaks the SDK's protocol, runs commands in isolated boxes of this machine.",
        epilog="Then: MODAL_SERVER_URL=<the address it prints> MODAL_TOKEN_ID=ak-x MODAL_TOKEN_SECRET=as-x",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the SDK takes plain http from this machine alone")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--rootfs", type=Path, help="a directory with a file system, in place of every image")
    parser.add_argument("--advertise", default="", help="address of a worker that clients are told, if another")
    parser.add_argument("--token-life", type=float, default=3600.0, help="seconds for which a token is good")
    parser.add_argument("--control", type=Path, help="a socket for faults and questions: docs/modal.md")
    parser.add_argument("--until-eof", action="store_true", help="end with the standard input: with who started it")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="CALL=KIND[,times=N][,after=N][,seconds=S]",
        help="what goes wrong from the start, at a call of the protocol or at any (*): unavailable, expired, "
        "unauthenticated, quota, forbidden, slow, cut, lost",
    )
    return parser


def main() -> None:
    """Run it until Ctrl-C."""
    parser = _parser()
    asked = parser.parse_args()
    try:
        from shellward.testing.services.modal.faults import parse
        from shellward.testing.services.modal.server import Program
    except ModuleNotFoundError as error:
        raise SystemExit(f"{MissingDependency('the loopback Modal', 'modal')} ({error})") from error
    try:
        faults = [parse(each) for each in asked.fault]
    except ValueError as error:
        parser.error(str(error))
    program = Program(asked.host, asked.port, asked.advertise, asked.token_life, asked.rootfs)
    program.state.record.faults += faults
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(program.run(asked.control, until_eof=asked.until_eof))


if __name__ == "__main__":
    main()
