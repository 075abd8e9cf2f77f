"""``python -m shellward.testing.services.daytona``: a loopback Daytona in the foreground. It prints its URL first."""

import argparse
from pathlib import Path

from shellward.core.errors import MissingDependency
from shellward.testing.services.daytona.faults import KEY, Faults
from shellward.testing.services.images import NoSuchImage, cache, rootfs


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m shellward.testing.services.daytona",
        description="A loopback Daytona: speaks the SDK's protocol, runs commands in isolated boxes of this machine.",
        epilog=f"Then: DAYTONA_API_URL=<the address it prints>/api DAYTONA_API_KEY={KEY}",
    )
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--image", default="shellward/sandbox:latest", help="of this machine's Docker Engine")
    parser.add_argument("--rootfs", type=Path, help="a directory with a file system, in place of an image")
    parser.add_argument("--minute", type=float, default=60.0, help="seconds that a minute of an interval takes")
    parser.add_argument("--cache", type=Path, help="where images are kept, laid out")
    parser.add_argument("--until-eof", action="store_true", help="end with the standard input: with who started it")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help=f"what goes wrong from the start: {', '.join(vars(Faults()))}; later: POST /_service/faults",
    )
    given = parser.parse_args()
    faults = Faults()
    try:
        for each in given.fault:
            faults.parse(each)
    except ValueError as error:
        parser.error(str(error))
    given.faults = vars(faults)
    return given


def main() -> None:
    """Run it until Ctrl-C."""
    given = _arguments()
    try:
        from shellward.testing.services.daytona.service import run

        image = given.rootfs or Path(rootfs(given.image, given.cache or cache()).directory)
        run(image, given.port, given.minute, given.faults, until_eof=given.until_eof)
    except ModuleNotFoundError as error:
        raise SystemExit(f"{MissingDependency('the loopback Daytona', 'daytona')} ({error})") from error
    except (NoSuchImage, OSError) as error:
        raise SystemExit(f"python -m shellward.testing.services.daytona: {error}") from error


if __name__ == "__main__":
    main()
