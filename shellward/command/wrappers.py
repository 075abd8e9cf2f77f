"""Commands that run another command: how to find it in their words. Data and one small option reader.

Each entry says which options take a value, how many operands come before the inner command, and whether what is left
is words or text for a shell. What needs more than that is in handlers.py.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wrap:
    """How one wrapper is written.

    Attributes:
        short: letters that take a value.
        long: long options that take a value in the next word.
        skip: operands before the inner command.
        env: assignments may stand before the inner command.
        join: the rest is joined and given to a shell.
        code: options whose value is shell text.
        dash: the inner command comes after ``--`` only.
        words: options after which everything is the inner command.
    """

    short: str = ""
    long: frozenset[str] = frozenset()
    skip: int = 0
    env: bool = False
    join: bool = False
    code: frozenset[str] = frozenset()
    dash: bool = False
    words: frozenset[str] = frozenset()


def _wrap(text: str) -> Wrap:
    fields: dict[str, str] = dict(item.partition("=")[::2] for item in text.split())

    def names(key: str) -> frozenset[str]:
        return frozenset(filter(None, fields.get(key, "").split(",")))

    return Wrap(
        fields.get("short", ""), names("long"), int(fields.get("skip", "0")), "env" in fields, "join" in fields,
        names("code"), "dash" in fields, names("words"),
    )  # fmt: skip


_TEXT = """
sudo: short=ugpCTRDrtUhca long=user,group,host,prompt,close-from,chdir,chroot,role,type,other-user,command-timeout env
sudo-rs: short=ugpCTRDrtUh long=user,group,prompt,chdir,chroot env
doas: short=uCa
pkexec: long=user
run0: short=ugD long=user,group,chdir,setenv,property,unit
please: short=ugae long=user,group,dir
gosu: skip=1
su-exec: skip=1
setuidgid: skip=1
chpst: short=uUbedoptfcrmPn/
nohup:
setsid: short=
flock: short=wE long=wait,timeout,conflict-exit-code skip=1 code=-c,--command
lockf: short=t skip=1
setlock: skip=1
softlimit: short=acdflmoprst
timelimit: short=tTsS
logsave: skip=1
aa-exec: short=pn long=profile,namespace
runcon: short=turl long=type,user,role,range
minijail0: short=ugcPbkSv
nsjail: words=--
capsh: words=--
trickle: short=udtlws
retry: short=tdm long=times,delay
mpirun: short=nH long=np,host,hostfile
mpiexec: short=nf
srun: short=nNpctAJDoe long=ntasks,nodes,partition,time,cpus-per-task,mem,gres,account
tsp: short=LDE
ts: short=LDE
ssh-agent: short=at
xinit:
startx:
winpty:
ccache:
sem: short=j long=id,jobs
numad:
dotnet-exec:
arch-nspawn: skip=1
mock-chroot:
schroot: short=cud long=chroot,user,directory
time: short=of long=output,format
timeout: short=ks long=kill-after,signal skip=1
gtimeout: short=ks long=kill-after,signal skip=1
nice: short=n long=adjustment
ionice: short=cnpPu long=class,classdata,pid
chrt: short=TPD long=sched-runtime,sched-period,sched-deadline skip=1
taskset: skip=1
numactl: short=icpmCNP long=interleave,cpunodebind,physcpubind,membind,preferred
prlimit: short=po long=pid,output
stdbuf: short=ioe long=input,output,error
unbuffer:
rlwrap: short=abcCDefghHlLmnpPqrsSwz
strace: short=eoPpsSuabEIX long=trace,output,user,attach
ltrace: short=eopsuaADFnxl
valgrind:
perf: skip=1 short=eopCFcGtg
heaptrack: short=o
catchsegv:
fakeroot: short=lifbs long=lib,faked
fakechroot: short=ecbd
fakeroot-ng: short=pl
proot: short=rbwq0k long=rootfs,bind,pwd,cwd,qemu
chroot: long=userspec,groups skip=1
arch-chroot: short=u skip=1
systemd-nspawn: short=DiMubpxE long=directory,image,machine,user,bind,bind-ro,tmpfs,setenv
unshare: short=RSGwl long=root,wd,setuid,setgid,map-user,map-group
nsenter: short=tSGRw long=target,setuid,setgid
firejail: long=name
bwrap: words=--
systemd-run: short=pEuHMtdrGS long=property,setenv,unit,slice,description,uid,gid,nice,working-directory,host,machine,on-active,on-boot,on-calendar,service-type
systemd-inhibit: long=what,who,why,mode
systemd-cat: short=tp long=identifier,priority
dbus-run-session: long=config-file,dbus-daemon
dbus-launch:
xvfb-run: short=nsefpw long=server-num,server-args,auth-file,error-file
proxychains: short=f
proxychains4: short=f
torsocks: short=uPap
torify:
tsocks:
cgexec: short=g
cpulimit: short=lpe long=limit
ifne:
chronic:
eatmydata:
faketime: short=f skip=1
linux32:
linux64:
setarch: skip=1
i386:
x86_64:
setpriv: long=reuid,regid,groups,ruid,rgid,euid,egid,inh-caps,ambient-caps,bounding-set,securebits
captest: long=text
script: short=EBIOTmo code=-c,--command skip=1
su: short=gGswC long=group,shell,whitelist-environment code=-c,--command skip=99
runuser: short=gGwsu long=group,shell,user code=-c,--command
sg: skip=1 join code=-c
newgrp: skip=1
watch: short=nq long=interval,equexit join
hyperfine: short=wrmMPDLSscCn long=warmup,runs,export-json,shell join
entr: short=
reflex: short=rRgG
nodemon: short=ewx long=exec code=-x,--exec
watchexec: short=ewifs
when-changed: skip=1
inotifywait: short=etm dash
dtach: short=eErz skip=1
abduco: short=e skip=1
screen: short=SschpTtXe
daemonize: short=acelopuE
daemon: short=nuD long=name,user
start-stop-daemon: short=xpunkadgNPIcrs long=exec,startas,pidfile,user,name,chuid,chdir words=--
busybox:
toybox:
ld.so:
command:
builtin:
exec: short=a
rtk:
noglob:
nocorrect:
caffeinate: short=tw
sandbox-exec: short=pfnD
arch: short=d
uv: dash
npx: short=pc long=package code=-c,--call
bunx:
pnpx:
direnv: skip=2
nix-shell: short=pIA code=--run,--command dash
nix: code=-c,--command words=-c,--command
guix: dash
flatpak-spawn: long=directory,env
distrobox: dash
toolbox: skip=1 short=c long=container
lxc: dash
incus: dash
machinectl: skip=2
mosh: short=p long=ssh,port,server,client skip=1
mise: dash
asdf: skip=1
op: dash
doppler: dash code=--command
infisical: dash
chamber: dash
aws-vault: dash
teller: dash
envchain: skip=1
dotenv: short=fe dash
dotenvx: dash
envdir: skip=1
with-contenv:
s6-setuidgid: skip=1
tini: short=pew dash
dumb-init: short=r
wsl: short=du long=distribution,user words=--exec,-e,--
wine:
qemu-x86_64: short=LE
parallel-ssh: short=hHlptoe long=hosts,host,user,par join
pssh: short=hHlptoe long=hosts,host,user,par join
pdsh: short=wxlutf join
clush: short=wgxlu join
dsh: short=mgf join
sshpass: short=pfPd
autossh: short=M
ssh: short=bcDEeFIiJLlmOopQRSWwB skip=1 join
slogin: short=bcDEeFIiJLlmOopQRSWw skip=1 join
rsh: short=l skip=1 join
tsh: skip=2 join
"""

WRAPPERS: dict[str, Wrap] = {
    name: _wrap(spec) for name, _, spec in (line.partition(":") for line in _TEXT.strip().splitlines())
}
"""Wrappers by command name."""


@dataclass(frozen=True, slots=True)
class Inner:
    """Where the inner command is: from which word, and which option values are shell text (word, offset)."""

    start: int
    code: tuple[tuple[int, int], ...]
    options: tuple[str, ...]


def find_inner(argv: list[str], wrap: Wrap) -> Inner:
    """Find the inner command among a wrapper's words.

    Args:
        argv: the wrapper and its words.
        wrap: how it is written.

    Returns:
        The index of the first inner word (``len(argv)`` when there is none) and the shell texts.
    """
    code: list[tuple[int, int]] = []
    options: list[str] = []
    skip = wrap.skip
    i = 1
    size = len(argv)
    while i < size:
        word = argv[i]
        if word == "--" or word in wrap.words:
            i += 1
            if skip <= 1 or wrap.dash:
                i += skip if not wrap.dash else 0
            return Inner(min(i, size), tuple(code), tuple(options))
        if word.startswith("-") and len(word) > 1:
            options.append(word)
            i = _option(argv, i, wrap, code)
            continue
        if word.startswith("+") and i == 1:
            i += 1
            continue
        if wrap.env and "=" in word and word.partition("=")[0].isidentifier():
            i += 1
            continue
        if wrap.dash:
            i += 1
            continue
        if skip:
            skip -= 1
            i += 1
            continue
        return Inner(i, tuple(code), tuple(options))
    return Inner(size, tuple(code), tuple(options))


def _option(argv: list[str], i: int, wrap: Wrap, code: list[tuple[int, int]]) -> int:
    """Step over one option; note its value when that is shell text."""
    word = argv[i]
    name, equals, _ = word.partition("=")
    if word.startswith("--"):
        if name in wrap.code:
            code.append((i, len(name) + 1) if equals else (i + 1, 0))
            return i + (1 if equals else 2)
        return i + (2 if not equals and name[2:] in wrap.long else 1)
    for at, letter in enumerate(word[1:], 1):
        if f"-{letter}" in wrap.code:
            code.append((i, at + 1) if at + 1 < len(word) else (i + 1, 0))
            return i + (1 if at + 1 < len(word) else 2)
        if letter in wrap.short:
            return i + (2 if at + 1 == len(word) else 1)
    return i + 1
