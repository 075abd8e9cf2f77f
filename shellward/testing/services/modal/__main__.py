"""``python -m shellward.testing.services.modal``: a loopback Modal in the foreground."""

import argparse
import asyncio
import contextlib
import signal
from pathlib import Path


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m shellward.testing.services.modal",
        description="A loopback Modal: speaks the SDK's protocol, runs commands in isolated sandboxes on this machine.",
        epilog="Then: MODAL_SERVER_URL=<the address it prints> MODAL_TOKEN_ID=ak-x MODAL_TOKEN_SECRET=as-x",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the SDK takes plain http from this machine alone")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--advertise", default="", help="address of a worker that clients are told, if another")
    parser.add_argument("--token-life", type=float, default=3600.0, help="seconds for which a token is good")
    parser.add_argument("--control", type=Path, help="socket for a test; it then ends with its standard input")
    return parser.parse_args()


def main() -> None:
    """Run it until Ctrl-C."""
    asked = _arguments()
    from shellward.testing.services.modal.server import run

    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(asked.host, asked.port, asked.advertise, asked.token_life, asked.control))


if __name__ == "__main__":
    main()
