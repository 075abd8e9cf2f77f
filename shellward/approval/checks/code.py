"""Checks of code and SQL that would run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.values import known_part

if TYPE_CHECKING:
    from shellward.approval.rule import Call, Check


_GENERATORS = re.compile(
    r"out:(?:direnv|starship|zoxide|brew|pyenv|rbenv|nodenv|goenv|jenv|nvm|fnm|mise|rtx|asdf|ssh-agent|gpg-agent|dircolors|gdircolors|lesspipe|lesspipe.sh|thefuck|fasd|hub|kubectl|helm|docker|npm|pip|pip3|poetry|conda|mamba|opam|"
    r"luarocks|perl|minikube|gh|oc|k3s|register-python-argcomplete\d?|keychain|resize|tset|locale|stack|atuin|fzf|navi|pipx|rustup|cargo|just|task|uv|uvx|pixi|pdm|hatch|tmuxifier|plenv|scmpuff|pkgx|devbox|nix|guix|"
    r"vault|op|aws-vault|chamber|assume|granted|micromamba|activate-global-python-argcomplete|complete|_\w+|carapace|zellij|oh-my-posh|sheldon|antibody|anyenv|shadowenv|lorri|grunt|gulp|bootctl|xdg-user-dir|systemctl|cat|chezmoi|"
    r"setup|env|printenv|declare|typeset|export|set|alias|compgen|trap|sed|getopt|stty|tput|jq|yq|date|python3?-m)(?:-(?:hook|init|completion|completions|shellenv|env|export|activate|config|shell-completion|zsh|bash|shell|generate-shell-completion|sh|s|c|k|a|integration|setup|print|gen-completions|docker-env|load|stdlib|[\w.-]*))*$"
)


_NAMED_TOOLS = re.compile(
    r"var:(?:CC|CXX|CPP|LD|AR|AS|NM|STRIP|RANLIB|OBJDUMP|OBJCOPY|PYTHON\d*|PY|PIP\d*|RUBY|PERL|NODE|NPM|YARN|MAKE|CMAKE|NINJA|GO|CARGO|RUSTC|JAVA|JAVAC|MVN|GRADLE|EDITOR|VISUAL|PAGER|BROWSER|TERMINAL|SUDO\w*|DOCKER\w*|COMPOSE\w*|KUBECTL|HELM|"
    r"GIT|SED|AWK|GREP|FIND|TAR|CURL|WGET|SSH|SCP|RSYNC|ECHO|CAT|LS|MKDIR|CP|INSTALL|DIFF|TIME|NICE|SHELL|TERRAFORM|PSQL|MYSQL|JQ|OPENSSL|BASH|VENV\w*|\w*_(?:BIN|CMD|COMMAND|EXE|EXECUTABLE|TOOL|PROGRAM|RUNNER|PATH|DIR|HOME|ROOT|BINARY)|BIN\w*|EXE|CMD|COMMAND|TOOL|RUNNER|\w+_PYTHON|PREFIX\w*|WRAPPER|DRY_RUN|RUN|TEST\w*|CROSS\w*|[a-z_]*(?:cmd|command|bin|tool|exe|binary|script|prog|program|python|runner))$"
)


_SETTINGS = re.compile(r"file:(?:[\w./-]*/)?(?:\.env(?:\.[\w.-]+)?|[\w-]+\.env|\.envrc)$")
"""A project's own settings: what people source into their shell anyway."""


_OWN = re.compile(r"find|mktemp|exe|read")


def unknown_name(call: Call) -> bool:
    """The name of the command cannot be known, and nothing says that it is a tool's usual variable."""
    split = call.argv.index("--") if "--" in call.argv else len(call.argv)
    origins, rest = call.argv[1:split], call.argv[split + 1 :]
    if any(re.match(r"net|decoded|encoded|var:(?:BASH_COMMAND|READLINE_LINE)$", origin) for origin in origins):
        return True
    if all(_NAMED_TOOLS.match(origin) for origin in origins) and not re.match(r"-r?f?r?$", rest[0] if rest else ""):
        return False
    if all(
        re.match(
            r"out:(?:which|command|type|realpath|readlink|brew|pyenv|npm|yarn|go|rustup|xcrun|asdf|mise|python|ruby|gem|pip|poetry|nix|dirname|git)",
            origin,
        )
        for origin in origins
    ):
        return False
    risky = any(
        re.match(
            r"-[a-zA-Z]*[rRf][a-zA-Z]*$|--(?:force|recursive|no-preserve-root)|/$|/\*|~|/(?:etc|home|usr|var|dev|boot|srv|root)\b",
            word,
        )
        for word in rest
    )
    return risky or any(
        re.match(r"var:[\d@*]|out:|in:|file:|var:(?:x|cmd|c|payload|code)$", origin) for origin in origins
    )


def unknown_run(call: Call) -> bool:
    """Code of unknown content that a shell or an interpreter runs."""
    origins = call.argv[2:]
    if any(re.match(r"net|decoded|encoded", origin) for origin in origins):
        return False
    if origins[:1] == ["piped"]:  # settings for this shell are printed for eval, never for a pipe
        return not all(re.match(r"mktemp|exe|read", origin) for origin in origins[1:])
    harmless = (_GENERATORS, _SETTINGS, _NAMED_TOOLS, _OWN)
    return not all(any(pattern.match(origin) for pattern in harmless) for origin in origins)


_DELETING = re.compile(
    r"\bmutation\b.{0,4000}?\b(?:delete|remove|archive|transfer|destroy|purge|drop|unlink)\w*\s*\(", re.DOTALL
)


def graphql_deletes(call: Call) -> bool:
    """A GraphQL mutation that deletes is sent to another machine."""
    text = " ".join(call.argv)
    if "mutation" not in text or "graphql" not in text.lower():
        return False
    return bool(_DELETING.search(text)) and not re.search(r"https?://(?:localhost|127\.|\[::1\])", text)


_AT_CONSOLE = re.compile(
    r"(?i)\b(?:delete (?:noprompt|force|archivelog|backup\w*|copy|obsolete|expired)|drop (?:database|schema|table|user)"
    r"|unregister database|(?:recover|restore) database|remove (?:configuration|database)|failover to|purge -"
    r"|stop (?:database|cluster|crs|has|listener|instance|service)|table_exists_action=(?:replace|truncate))\b"
    r"|\brm (?:-\S+ )*\+"
)


def drops_at_console(call: Call) -> bool:
    """Tell whether a console of a database is told to drop, stop or overwrite something."""
    given = " ".join(call.argv[1:])
    if call.name == "lsnrctl" and call.argv[1:2] == ["stop"]:
        return True
    return bool(_AT_CONSOLE.search(given) or _AT_CONSOLE.search(call.inv.stdin or ""))


def run_origin(pattern: str) -> Check:
    """Make a check: code comes from such a place."""
    compiled = re.compile(pattern)

    def check(call: Call) -> bool:
        return any(compiled.match(origin) for origin in call.argv[1:])

    return check


def sql(*wanted: str) -> Check:
    """Make a check: the SQL does one of these."""

    def check(call: Call) -> bool:
        from shellward.approval.sql import judge

        text = call.argv[-1]
        return bool(set(judge(known_part(text))) & set(wanted))

    return check
