"""Tools without a rule of their own: what the words of their path say that they do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shellward.approval.rule import Call

_VERB = "delete|destroy|purge|erase|wipe|terminate|decommission|obliterate|nuke|undeploy|revoke"
_DESTROYS = re.compile(
    rf"(?:{_VERB})(?:-(?!protection)[a-z-]+)?|(?:[a-z]+[-:.])+(?:{_VERB})|(?:{_VERB})[A-Z][A-Za-z]*"
    r"|(?:Delete|Destroy|Terminate|Purge)[A-Z][A-Za-z]*|--(?:delete|purge|erase|wipe)-all(?:-[a-z]+)?"
)
"""A word of a path that takes something away for good: ``delete``, ``vm-destroy``, ``app:purge``, ``deleteClient``."""
_HINT = re.compile(rf"(?i){_VERB}").search
"""Looked for first: most commands have none of them."""
_ALL = 600
_LONGEST = 60
"""Characters of the longest word that is looked at."""
_DEPTH = 3
"""So many words of a path are looked at: what stands behind is the name of something."""
_TEXT_AND_NAMES = """
    echo printf print grep egrep fgrep zgrep rg ag ack pgrep type which whereis whatis apropos info man tldr cheat
    look help expr test [ [[ true false : seq yes let export declare local readonly typeset unset alias unalias hash
    set shift return exit read printenv basename dirname realpath readlink cd pushd popd mkdir touch ls ll dir tree
    stat file cat bat head tail less more wc sort uniq cut paste tr rev tac nl od xxd strings diff cmp comm join fold
    fmt pytest jest vitest mocha rspec phpunit ctest pylint flake8 black isort mypy ruff eslint prettier shellcheck
    code vim nvim vi nano emacs subl open start xdg-open figlet say cowsay notify-send logger wall tput make scrapy
    cookiecutter jq yq fzf z j zoxide run task just invoke inv rake ant poe nox tox hatch dirs wait trap jobs awk gawk
    python python2 python3 pypy pypy3 node nodejs ruby perl php lua java tsx ts-node bun deno Rscript julia bash sh zsh
    rails bundle npm npx yarn pnpm mvn gradle gradlew sbt git hg svn docker podman psql mysql sqlite3 crontab tmux
    sed cp mv ln rm rmdir install tee find xargs tar zip unzip gzip ssh scp rsync curl wget dd chmod chown kill
"""
_ABOUT_WORDS = frozenset(_TEXT_AND_NAMES.split())
"""Programs whose words are text, files or names that a project gave."""
_OTHERS = """
    get list ls show describe logs log info status create new init add search find view inspect edit explain watch tail
    diff plan test run build help start serve lint check validate completion version download pull export fetch
"""
_OTHER_DEEDS = frozenset(_OTHERS.split())
"""Words that say what is done, so that what follows is the name of something."""
_SWITCHES = frozenset(("-f", "-y", "-q", "-v", "--force", "--yes", "--quiet", "--verbose", "--debug"))


def destroys(argv: list[str]) -> bool:
    """Tell whether one of the first words of a command takes something away for good.

    Args:
        argv: the command; a script of the project itself and a program that is given words or names never do.
    """
    program = argv[0]
    name = program.rpartition("/")[2]
    if name in _ABOUT_WORDS or "." in name or (name != program and program[0] not in "/~"):
        return False
    return _HINT(" ".join(argv[1:10])[:_ALL]) is not None and _by_path(argv)


def _by_path(argv: list[str]) -> bool:
    words = 0
    before = ""
    for word in argv[1:10]:
        if word == "--" or len(word) > _LONGEST:
            return False
        if word[:1] == "-":
            before = word
            if _DESTROYS.fullmatch(word):
                return True
            continue
        value = before and "=" not in before and before not in _SWITCHES and not (before == "-n" and not words)
        before = ""
        if _DESTROYS.fullmatch(word):
            return not value
        words += not value
        if words == _DEPTH or (not value and word in _OTHER_DEEDS):
            return False
    return False


def takes_away(call: Call) -> bool:
    """Tell whether a tool without rules is told to take something away for good."""
    return destroys(call.argv)
