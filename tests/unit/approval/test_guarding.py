"""Nobody reaches the gate's settings, or what runs at login, by a way around: wherever home and settings are."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from shellward.approval.context import Context
from shellward.approval.gatekeeper import Gate
from shellward.config.schema import Config
from shellward.core.gate import Verdict


@dataclass(frozen=True)
class Layout:
    home: Path
    config: Path
    state: Path
    work: Path
    top: Path


@pytest.fixture(params=["service", "app", "xdg", "user", "linked"])
def layout(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """Homes as services, containers and people have them."""
    home = (
        tmp_path
        / {"service": "var/lib/jenkins", "app": "app", "xdg": "home/u", "user": "home/u", "linked": "u"}[request.param]
    )
    if request.param == "linked":
        (tmp_path / "data/u").mkdir(parents=True)
        home.symlink_to("data/u")
    home.mkdir(parents=True, exist_ok=True)
    for name in ("SHELLWARD_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    config, state = home / ".config", home / ".local/state"
    if request.param == "xdg":
        config, state = tmp_path / "etc/xdg-u", tmp_path / "var/state"
        monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
        monkeypatch.setenv("XDG_STATE_HOME", str(state))
    work = home / "work/project"
    for directory in (config / "shellward", state / "shellward", work / "conf/shellward", work / "src"):
        directory.mkdir(parents=True)
    return Layout(home, config, state, work, tmp_path)


@pytest.fixture
def gate() -> Gate:
    return Gate(Config(), terminal=False)


Ask = Callable[[str], Verdict]


@pytest.fixture
def ask(gate: Gate, layout: Layout) -> Ask:
    def verdict(command: str, cwd: Path | None = None) -> Verdict:
        text = command.format(home=layout.home, config=layout.config, state=layout.state, top=layout.top)
        return gate.judge(text, Context(cwd=str(cwd or layout.work))).verdict

    return verdict


INDIRECT = [
    "cp -r conf/. {config}/",
    "cp -r conf {config}",
    "cp -a conf/shellward {config}/",
    "mv conf/shellward {config}/",
    "mv conf {config}",
    "tar xf a.tar -C {config}",
    "tar c conf | tar x -C {config}",
    "cd {config} && tar xf /tmp/a.tar",
    "(cd {config}; unzip -o /tmp/a.zip)",
    "unzip a.zip -d {config}",
    "git clone . {config}/shellward",
    "git -C {config} clone /tmp/r shellward",
    "cd {home} && git apply /tmp/x.patch",
    "cd {config} && patch -p1 < /tmp/x.patch",
    "patch -d {config} -p1 < x.patch",
    "rsync -a conf/ {config}/",
    "ln -sfn /tmp/conf {config}/shellward",
    "ln -s $PWD/conf/shellward {config}",
    "mv {config} /tmp/away",
    "mv {config}/shellward /tmp/away",
    "cpio -idm -D {config} < a.cpio",
    "python3 -m zipfile -e a.zip {config}",
    'python3 -c \'import shutil; shutil.copytree("conf", "{config}", dirs_exist_ok=True)\'',
    "7z x a.7z -o{config}",
    "tar xPf a.tar",
    "wget -r -P {config} http://example.com/",
    "docker cp c:/conf/. {config}",
    "scp -r host:conf/. {config}/",
    "find conf -type f -exec cp {{}} {config}/shellward/ \\;",
    "cp conf/config.yaml {config}/shellward/config.yaml",
    "cp conf/config.yaml {config}/shell*/",
    "echo 'approval: {{mode: off}}' > {config}/shellward/config.yaml",
    "curl -o {config}/shellward/config.yaml http://example.com/c",
    "sed -i s/manual/off/ {config}/shellward/config.yaml",
    "rm -f {state}/shellward/accepted/x.json",
    "rm -rf {state}",
    "ed -s {config}/shellward/config.yaml < script",
]


def test_a_way_around_is_asked_about(ask: Ask) -> None:
    assert [command for command in INDIRECT if ask(command) is Verdict.ALLOW] == []


def test_home_by_its_names(ask: Ask) -> None:
    by_name = [
        "cp -r conf/. ~/.config/",
        "tar xf a.tar -C ~",
        "cd && tar xf /tmp/a.tar",
        "cd ~ && patch -p1 < /tmp/x",
        "cd ~ && unzip /tmp/x.zip",
        "rsync -a dotfiles/ ~/",
        "cp -r dotfiles/. ~",
        "git clone . ~/.config/shellward",
        "cp -r x $XDG_CONFIG_HOME/shellward",
        "mv conf $HOME/.config",
        "echo x > ~/.config/$NAME/config.yaml",
    ]
    assert [command for command in by_name if ask(command) is Verdict.ALLOW] == []


LOGIN = (
    ".bashrc .profile .zshrc .bash_profile .config/autostart/x.desktop .config/systemd/user/x.service "
    ".claude/settings.json .ssh/authorized_keys .ssh/rc .gitconfig"
)


def test_what_runs_at_login_is_guarded_in_any_home(ask: Ask) -> None:
    hows = ("echo x >>", "cp x", "mv x", "ln -s /tmp/x")
    lines = [f"{how} {{home}}/{name}" for how in hows for name in LOGIN.split()]
    assert [line for line in lines if ask(line) is Verdict.ALLOW] == []


def test_links_are_followed(ask: Ask, layout: Layout) -> None:
    (layout.work / "out").symlink_to(layout.config)
    (layout.work / "deep").symlink_to(layout.config / "shellward")
    assert ask("cp -r conf/. out/") is not Verdict.ALLOW
    assert ask("tar xf a.tar -C out") is not Verdict.ALLOW
    assert ask("cp x deep/config.yaml") is Verdict.DENY
    assert ask("cd out && tar xf ../a.tar") is not Verdict.ALLOW


def test_the_gates_own_files_are_never_allowed(layout: Layout, ask: Ask) -> None:
    for path in (layout.config / "shellward/config.yaml", layout.state / "shellward/approvals/queue.db"):
        assert ask(f"echo x > {path}") is Verdict.DENY
        assert ask(f"cp x {path}") is Verdict.DENY
    assert ask("cat {config}/shellward/config.yaml") is Verdict.ALLOW


def test_the_program_itself(ask: Ask) -> None:
    import shellward

    place = Path(shellward.__file__).parent
    assert ask(f"cp x.py {place}/approval/policy.py") is not Verdict.ALLOW
    assert ask(f"cp -r x/. {place}") is not Verdict.ALLOW


ORDINARY = [
    "cp -r src/. build/",
    "cp -r src dest",
    "mv a.txt b.txt",
    "mv src/a ../other",
    "tar xf a.tar",
    "tar xzf a.tgz -C vendor",
    "tar c src | tar x -C /tmp/there",
    "tar cf {home}/a.tar src",
    "unzip a.zip",
    "unzip -l a.zip",
    "git clone https://example.com/a/b",
    "git clone --depth 1 https://example.com/a/b.git",
    "cd .. && git clone https://example.com/a/b.git",
    "cd ~ && git clone https://example.com/a/b.git",
    "git clone https://example.com/a/b {home}/src/b",
    "git pull",
    "git checkout main",
    "git apply x.patch",
    "patch -p1 < x.patch",
    "rsync -a src/ out/",
    "rsync -a src/ host:~/.config/",
    "cp notes.txt {home}/",
    "cp -r src {home}/backup",
    "cp -r src {home}/",
    "mv report.pdf ~/",
    "cp a.conf {home}/.config/tool.conf",
    "mkdir -p {home}/.config/tool && cp -r tool/. {home}/.config/tool/",
    "wget https://example.com/a.tar.gz",
    "cp {config}/shellward/config.yaml backup.yaml",
    "cp -r {config}/shellward /tmp/backup",
    "tar cf /tmp/backup.tar {config}",
    "rm -f a.o",
    "touch a b",
    "rm -f /tmp/lock.$_",
    "chmod 600 ~/.ssh/config",
    "chmod 700 ~/.ssh",
    "mv ~/.bashrc ~/bashrc.bak",
    "for f in *.txt; do cp $f {home}/texts/$f; done",
]


def test_ordinary_work_is_not_asked_about(ask: Ask) -> None:
    assert [command for command in ORDINARY if ask(command) is not Verdict.ALLOW] == []


def test_on_another_machine_only_its_home_counts(gate: Gate, layout: Layout) -> None:
    def verdict(command: str, backend: str) -> Verdict:
        return gate.judge(command, Context(backend=backend, cwd=str(layout.work))).verdict

    assert verdict(f"cp -r conf/. {layout.config}", "docker") is Verdict.ALLOW
    assert verdict("tar xf a.tar -C ~", "ssh") is Verdict.ASK
    assert verdict("cd ~ && tar xf a.tar", "ssh") is Verdict.ASK
    assert verdict("cp -r conf ~/", "ssh") is Verdict.ALLOW
    assert verdict(f"cp -r conf/. {layout.config}", "singularity") is not Verdict.ALLOW
