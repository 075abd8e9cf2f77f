"""The settings themselves: one struct per section of ``config.yaml``. Values only, no reading, no deciding.

The docstrings are what ``docs/configuration.md`` says; a test compares the two.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct

Seconds: TypeAlias = Annotated[float, Meta(gt=0, le=86_400)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Port: TypeAlias = Annotated[int, Meta(ge=1, le=65_535)]
Name: TypeAlias = Annotated[str, Meta(min_length=1)]

KINDS: Final = ("local", "docker", "ssh", "singularity", "modal", "daytona")
"""Kinds of environment: those of ``environments.registry``, which stands above this room. A test compares the two."""


class RuleSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One rule of the user. Every matcher that is given must match (they are joined by *and*).

    Attributes:
        action: allow, ask or deny.
        glob: shell pattern for one simple command, as it would run (``git push * origin feature/*``).
        regex: regular expression; an allow rule must match a whole simple command, others match
            anywhere.
        argv: the first words of a simple command, exactly.
        rule: id of a finding (``git.push-force``) or a whole pack (``git.*``).
        backend: kinds of environment it holds for; empty means all.
        task: ids of tasks (glob) it holds for; empty means all.
        note: why it is there; shown when it decides.
    """

    action: Literal["allow", "ask", "deny"]
    glob: Name | None = None
    regex: Name | None = None
    argv: Annotated[tuple[str, ...], Meta(min_length=1)] | None = None
    rule: Name | None = None
    backend: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    note: str = ""


class AllowEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One remembered approval in ``command_allowlist``, as the gate writes it.

    Attributes:
        command: the normalised command, exactly; or with ``part``, one resolved inner command, exactly.
        part: True when it covers that inner command inside any line, False when it is the whole line.
        rules: the findings that were shown; a finding that is not among them is not covered.
        affects: with ``part``: the targets that were shown.
        backend: where it was approved.
        target: the host, image or container it was approved for.
        cwd: the working directory it was approved in (with ``part``, the inner command's); None holds anywhere.
        reach: what that environment could touch; an environment that can touch more is not covered.
        added: when, as an ISO 8601 date and time.
    """

    command: Name
    part: bool = False
    rules: tuple[str, ...] | None = None
    affects: tuple[str, ...] = ()
    backend: str | None = None
    target: str | None = None
    cwd: str | None = None
    reach: tuple[str, ...] | None = None
    added: str = ""


class ReviewerSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The smart reviewer: any OpenAI-compatible endpoint (used in mode ``smart``).

    Attributes:
        base_url: where ``/chat/completions`` lives (``https://api.example.com/v1``).
        model: name of the model.
        api_key_env: name of the environment variable that holds the key; empty for endpoints without one.
        timeout: seconds for the whole answer; later means: ask a person.
        max_severity: the worst finding it may approve; worse goes to a person.
        response_format: what is asked of the endpoint (``none`` for servers that know neither).
        max_tokens: cap on the answer's length, in tokens.
        cache_seconds: how long a verdict holds for the same command in the same context.
    """

    base_url: str = ""
    model: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    timeout: Seconds = 15.0
    max_severity: Literal["low", "medium", "high", "critical"] = "high"
    response_format: Literal["json_object", "none"] = "json_object"
    max_tokens: Annotated[int, Meta(ge=50, le=100_000)] = 1_000
    cache_seconds: Annotated[float, Meta(ge=0)] = 600.0


class ApprovalSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What may run, and who is asked.

    Attributes:
        mode: ``manual`` asks a person, ``smart`` asks the reviewer first, ``off`` asks nobody. The
            never-allow list, deny rules and ask rules hold in every mode.
        command_allowlist: remembered approvals: a string is exactly one normalised command, anywhere.
        rules: the user's own rules.
        packs: files with rules of the user's own that find dangers (see docs/approval.md); relative to
            ``config.yaml``.
        low_severity: what to do with findings of severity low.
        contained: the worst severity that a sandbox may take by itself when its reach contains the harm
            (see docs/approval.md, the table of reach).
        timeout: seconds a person has to answer; later means deny.
        queue: whether a person in another terminal may answer: ``auto`` when one is watching, ``on`` always
            waits, ``off`` never.
        reviewer: the smart reviewer.
    """

    mode: Literal["manual", "smart", "off"] = "manual"
    command_allowlist: tuple[Name | AllowEntry, ...] = ()
    rules: tuple[RuleSpec, ...] = ()
    packs: tuple[Name, ...] = ()
    low_severity: Literal["allow", "ask", "deny"] = "allow"
    contained: Literal["none", "low", "medium", "high"] = "medium"
    timeout: Seconds = 300.0
    queue: Literal["auto", "on", "off"] = "auto"
    reviewer: ReviewerSection = ReviewerSection()


class AuditSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The audit log.

    Attributes:
        enabled: whether decisions are recorded.
        path: the log file; empty means the state directory.
        max_bytes: size at which the file is put aside and a new one begins; 0 for never.
        fsync: when a record is forced to disk: ``findings`` for commands that had any, ``always``, ``never``.
            Without it a record survives a crash of the program, not a loss of power.
        on_error: what happens to a command whose decision cannot be recorded.
    """

    enabled: bool = True
    path: str = ""
    max_bytes: Count = 64 * 2**20
    fsync: Literal["findings", "always", "never"] = "findings"
    on_error: Literal["deny", "ignore"] = "deny"


class SshSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where ``ssh`` environments connect to when nothing else is said.

    Attributes:
        host: name, address or alias of the SSH configuration.
        user: login name; empty leaves it to the SSH configuration.
        port: TCP port; None leaves it to the SSH configuration.
        key: identity file.
    """

    host: str = ""
    user: str = ""
    port: Port | None = None
    key: str = ""


class TerminalSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where commands run when the caller does not say, and what each kind of environment is made from.

    Attributes:
        env: kind of environment, or a name in ``environments``.
        cwd: working directory to start in, of the environment that ``env`` says; empty means its own.
        timeout: seconds for a command in the foreground; one that takes longer goes on in the background.
        idle: seconds after which a task's environment that nobody uses is closed, unless a process runs; 0 for never.
        docker_image: image of ``docker`` environments.
        docker_volumes: what of this machine ``docker`` environments see, as ``/here:/there`` or ``/here:/there:ro``.
        singularity_image: image of ``singularity`` environments.
        modal_image: image of ``modal`` environments.
        daytona_image: image of ``daytona`` environments; empty means a snapshot.
        cpus: processors that a ``docker``, ``singularity``, ``modal`` or ``daytona`` environment may use; 0 means no
            limit of ours, None leaves it to the environment.
        memory: mebibytes that it may use, likewise.
        ssh: the host of ``ssh`` environments.
    """

    env: Name = "local"
    cwd: str = ""
    timeout: Seconds = 180.0
    idle: Annotated[float, Meta(ge=0)] = 300.0
    docker_image: str = ""
    docker_volumes: tuple[Name, ...] = ()
    singularity_image: str = ""
    modal_image: str = ""
    daytona_image: str = ""
    cpus: Annotated[float, Meta(ge=0)] | None = None
    memory: Count | None = None
    ssh: SshSection = SshSection()


class ToolSearchSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Tool search: what stands in for the tools of MCP servers and plugins when they are many.

    Attributes:
        enabled: ``auto`` when their schemas would take too much of the context, ``on`` whenever there are any,
            ``off`` never. ``true`` is ``on`` and ``false`` is ``off``.
        threshold_pct: with ``auto``: how much is too much, in percent of the context window.
        context_window: size of the model's context, in tokens; a host that knows better says so itself.
        search_default_limit: how many tools a search returns.
        max_search_limit: how many it may be asked for.
    """

    enabled: Literal["auto", "on", "off"] = "auto"
    threshold_pct: Annotated[float, Meta(ge=0, le=100)] = 10.0
    context_window: Annotated[int, Meta(ge=1)] = 200_000
    search_default_limit: Annotated[int, Meta(ge=1, le=100)] = 5
    max_search_limit: Annotated[int, Meta(ge=1, le=100)] = 20


class ToolsSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The tools that models are given.

    Attributes:
        plugins: whether packages that offer tools (entry points ``shellward.tools``) are loaded.
        user_folder: whether the files in ``tools/`` beside ``config.yaml`` are loaded.
        project_folder: whether the files in ``.shellward/tools/`` of the current project are loaded.
        max_result_chars: longer results go to a file, which the model can read in parts.
        tool_search: tool search.
    """

    plugins: bool = True
    user_folder: bool = False
    project_folder: bool = False
    max_result_chars: Annotated[int, Meta(ge=1_000)] = 100_000
    tool_search: ToolSearchSection = ToolSearchSection()


class McpServer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One MCP server whose tools models are given: a program to start (``command``), or an address (``url``).

    Attributes:
        command: the program; a name is looked for in ``PATH``.
        args: its arguments.
        env: variables that it gets besides ``HOME``, ``LOGNAME``, ``PATH``, ``SHELL``, ``TERM`` and ``USER``;
            ``${NAME}`` in a value stands for the variable of the program that starts it.
        cwd: the directory that it starts in; empty means the current one.
        url: where it listens (streamable HTTP).
        headers: what each request carries; ``${NAME}`` in a value stands for a variable, likewise.
        enabled: whether it is used.
        timeout: seconds that a call may take.
        connect_timeout: seconds until it must have answered with its tools.
        calls: which calls need an answer of the gate: ``hints`` all but those of tools that the server itself calls
            harmless, ``ask`` all, ``allow`` none. Commands in arguments are judged in each case.
        include: which of its tools are taken, by their names there (glob); empty means all.
        exclude: which are not.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    enabled: bool = True
    timeout: Seconds = 60.0
    connect_timeout: Seconds = 30.0
    calls: Literal["hints", "ask", "allow"] = "hints"
    include: tuple[Name, ...] = ()
    exclude: tuple[Name, ...] = ()


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """All settings.

    Attributes:
        approval: what may run, and who is asked.
        audit: the audit log.
        terminal: where commands run.
        tools: the tools that models are given.
        mcp_servers: MCP servers whose tools models are given, by name.
        environments: environments by a name of your own: ``kind``, and any option of that kind.
        project_files: whether ``.shellward.yaml`` of a project is read; it can only make things stricter.
    """

    approval: ApprovalSection = ApprovalSection()
    audit: AuditSection = AuditSection()
    terminal: TerminalSection = TerminalSection()
    tools: ToolsSection = ToolsSection()
    mcp_servers: dict[str, McpServer] = {}
    environments: dict[str, dict[str, Any]] = {}
    project_files: bool = False
