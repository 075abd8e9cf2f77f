"""``python -m shellward``: the command line."""

from shellward.cli.main import main

if __name__ == "__main__":
    main()
