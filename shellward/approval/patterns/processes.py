"""Processes and load: killing many, fork bombs, filling memory and disks."""

from shellward.approval import checks
from shellward.approval.paths import Kind, classify
from shellward.approval.rule import Rule
from shellward.core.gate import Severity

_H, _M, _L = Severity.HIGH, Severity.MEDIUM, Severity.LOW

RULES: tuple[Rule, ...] = (
    Rule("processes.fork-bomb", "@fork-bomb", "", "starts processes without end", Severity.CRITICAL, "The machine stops answering.", (":(){ :|:& };:", "f() { f & f; }; f", "perl -e 'fork while fork'"), ("f() { f; }; echo", "f(){ ls | wc; }; f"), never_allow=True),
    Rule("processes.kill-all", "kill", "", "signals every process, or init", _H, "Everything of the user, or the machine, goes down.", ("kill -9 -1", "kill -1", "kill -s KILL -1", "kill -TERM 1", "kill -KILL -1"), ("kill -0 1", "kill -l", "kill -1 4242", "kill 123"), checks.kill_all),
    Rule("processes.kill-listed", "kill", "", "kills whatever a listing names", _H, "Unrelated processes may be among them.", ("ps aux | awk '{print $2}' | xargs kill -9",), ("kill $!", "kill $(cat app.pid)", "kill 42"), checks.kill_listed),
    Rule("processes.kill", "kill", "", "kills a process", _L, "Unsaved work of it is lost.", ("kill 42", "kill -9 $pid"), ("kill -0 42", "kill -l"), checks.kill_one),
    Rule(
        "processes.pkill-wide", "pkill killall skill slay snice", r" (?:--(?:euid|uid|user|group|terminal|older-than|younger-than|inverse|session|parent|pgroup|ns)(?:=|\b)|-u\b|-t\b)|-- (?:\.\*?|init|systemd|sshd|dockerd|containerd|kubelet|dbus-daemon|Xorg|gnome-shell|launchd|bash|sh|zsh|login|NetworkManager|postgres|mysqld|nginx|redis-server|mongod|crond?|rsyslogd|syslogd|syslog-ng|auditd|systemd-journald|fail2ban-server|osqueryd|ossec-\w+|falcon-sensor|clamd|udevd)?$",
        "kills processes widely", _H, "Other people's work or the system's services stop.", ("killall -9 -u root", "pkill -KILL -u alice", "pkill -9 sshd", "killall -u bob"), ("pkill -f app.py", "killall -l", "pkill --help"), unless=r" --list\b",
    ),
    Rule("processes.kill9-name", "pkill killall", r" -(?:9|KILL|SIGKILL|k|K)\b| --signal=(?:9|KILL|SIGKILL)\b", "kills all processes of a name at once", _M, "They cannot save or clean up.", ("pkill -9 node", "killall -9 python"), ("pkill node",), unless=r" --list\b"),
    Rule("processes.pkill", "pkill killall xkill fkill", "", "kills processes by name", _L, "Unrelated processes may have that name.", ("pkill -f app.py",), ("pkill --help", "killall -l", "pkill -0 x"), unless=r" --list\b| -l\b| -0\b"),
    Rule("processes.fuser", "fuser", r"^fuser (?:.* )?-\w*k", "kills whatever uses a file or port", _M, "Unrelated processes may use it.", ("fuser -k 8080/tcp", "fuser -km /home"), ("fuser 8080/tcp",)),
    Rule("processes.fill", "yes cat dd tee", "", "fills a disk", _H, "Other programs cannot write any more.", ("yes > /var/fill", "yes | tee /home/fill"), ("yes | head", "yes | apt-get install x", "yes > /dev/null"),
         when=lambda call: (call.inv.stdin == "y\n" and bool(checks.outside(call))) if call.name == "tee" else call.name != "dd" and (call.name == "yes" or any(w in {"/dev/zero", "/dev/urandom"} for w in call.argv)) and any(classify(p) not in {Kind.SINK, Kind.SCRATCH, Kind.DEVICE} for p in call.inv.into)),
    Rule("processes.stress", "stress stress-ng fio sysbench hashcat xmrig minerd cpuminer ethminer nbminer t-rex", r"^(?:xmrig|minerd|cpuminer|ethminer|nbminer|t-rex)|^stress(?:-ng)? .*(?:--vm|--hdd|-m |-d |--all)", "takes the machine's power", _M, "Everything else on it slows down or stops.", ("xmrig -o pool:3333", "stress-ng --all 0"), ("stress --version",)),
    Rule("processes.limits", "ulimit prlimit swapoff oomctl", r"^swapoff (?:.* )?-a|^prlimit .*--(?:nproc|as|nofile)=\d+ ", "takes memory or limits away", _M, "Processes may be killed.", ("swapoff -a",), ("ulimit -n", "swapon --show")),
    Rule("processes.ipcrm", "ipcrm", r" (?:-a|--all)\b", "removes shared memory in use", _M, "Databases that use it crash.", ("ipcrm -a",), ("ipcs",)),
    Rule("processes.sessions", "tmux screen zellij byobu xkill wmctrl", r"^tmux (?:.* )?kill-server\b|^screen .*-X=? ?quit|^zellij (?:kill|delete)-all-sessions|^byobu kill-server|^xkill .*-all\b", "ends all terminal sessions or windows", _M, "Whatever runs in them ends.", ("tmux kill-server", "screen -S w -X quit", "xkill -all"), ("tmux ls", "screen -ls", "tmux kill-session -t dev")),
    Rule("processes.trace", "gcore gdb", r"^gcore|^gdb (?:.* )?(?:-p|--pid|attach)\b(?=.*(?:call|system|dlopen|generate-core|dump memory))|^gdb (?=.*(?:call|system|dlopen|generate-core|dump memory)).*(?:-p|--pid|attach)[= ]", "reads a process's memory", _M, "Secrets in memory are written out.", ("gcore 123", "gdb -p 1 -batch -ex 'call system(1)'"), ("gcore --help", "gdb -p 123 -batch -ex bt")),
    Rule("processes.kill-service", "kill", "", "kills the processes of a program by force", _M, "They cannot save or clean up, and unrelated ones may be among them.", ("kill -KILL $(pidof sshd)", "kill -9 $(pgrep nginx)", "kill -9 $(lsof -t -i:5432)", "for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done"), ("kill $(pgrep -f app.py)", "kill -9 $!", "kill -9 123", "kill -0 $(pidof sshd)", "kill $(cat app.pid)"), checks.kill_found),
    Rule("processes.other", "slay xkill renice forkstat", r"^slay\b|^xkill .*-(?:a|all)\b|^renice .*-(?:n=?)?-?\d+.*(?:-p=?1|-u)\b", "ends or slows processes widely", _M, "Other people's work stops.", ("slay bob", "xkill -a", "renice -20 -p 1"), ("renice 10 -p 4242",)),
    Rule("processes.allocate", "fallocate truncate", r"(?:-l|--length|--size)=(?:\d{3,}[Gg]i?[Bb]?|\d+[TtPp]i?[Bb]?|\d{12,})(?= |$)", "takes a disk's space", _M, "Other programs cannot write any more.", ("fallocate -l 500G /srv/fill",), ("fallocate -l 1G swapfile", "truncate -s 10G disk.img", "fallocate -l 500G /tmp/x"), when=lambda call: call.name == "fallocate" and bool(checks.outside(call))),
)  # fmt: skip
