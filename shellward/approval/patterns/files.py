"""Deleting, overwriting, moving away, opening up: files and directories."""

import re

from shellward.approval import checks
from shellward.approval.paths import Kind
from shellward.approval.rule import Rule
from shellward.command.values import labels
from shellward.core.gate import Severity

_LOST = "Deleted files do not come back."
_RM = "rm grm srm wipe"

RULES: tuple[Rule, ...] = (
    Rule(
        "files.rm-system", _RM, r"^\S+ (?:.* )?(?:--recursive|-r|-R)\b", "deletes the whole system or all of a home", Severity.CRITICAL,
        "Nothing would be left to work with.",
        ("rm -rf /", "rm -rf /*", "rm -fr --no-preserve-root /", "rm -rf ~", "rm -r -f /etc", "cd /; rm -rf ./*", "rm -rf /tmp/../usr", "sudo rm -rf /var"),
        ("echo rm -rf /", "rm -rf /tmp/x", "rm -rf /srv/old", "rm -f /", "grep 'rm -rf /' notes"), checks.catastrophic, never_allow=True,
    ),
    Rule(
        "files.rm-recursive", _RM, "", "deletes a directory tree outside the working directory", Severity.HIGH, _LOST,
        ("rm -rf /srv/data", "rm -r ../other", "rm -R ~/work", "podman exec --latest rm -rf /var/lib/mysql", "podman exec -itl rm -rf /data", "rm --recurs --forc /srv", "rm /opt/x -rf", "rm -rf $TMPDIR/../escape", "rm -rf /tmp", "rm -rf /tmp/*", "rm -rf /tmp/* /srv/a"),
        ("rm -rf /tmp/build", "rm -rf /var/lib/apt/lists/* /tmp/* /var/tmp/*", "rm -rf node_modules", 'd=$(mktemp -d); rm -rf "$d"', "rm -rf $TMPDIR/junk", "rm --help"), checks.rm_worse,
    ),
    Rule(
        "files.rm-worktree", _RM, "", "deletes everything in the working directory", Severity.HIGH, _LOST,
        ("rm -rf .", "rm -rf *", "cd /src && rm -rf /src/*", "cd /srv/app; rm -rf /srv/app"), ("rm -rf src", "cd /tmp/x && rm -rf *", "rm -rf /srv/data"), checks.rm_worktree,
    ),
    Rule(
        "files.rm-tree", _RM, "", "deletes a directory tree", Severity.MEDIUM, _LOST,
        ("rm -rf src", 'rm -rf "$DIR"', "rm -r docs/old"), ("rm -rf build", "rm -rf /tmp/x", "rm notes.txt"), checks.rm_tree,
    ),
    Rule(
        "files.rm-build", _RM, "", "deletes what a build makes again", Severity.LOW, "It takes a build to bring it back.",
        ("rm -rf node_modules dist", "rm -rf ./target __pycache__"), ("rm -rf src", "rm -rf /tmp/x"), checks.rm_build,
    ),
    Rule(
        "files.rm-files", _RM + " unlink rmdir", "", "deletes files outside the working directory, or whatever is listed", Severity.MEDIUM, _LOST,
        ("rm -f /srv/a.db", "rm *", "find . -mtime +9 | xargs rm", "rm ~/notes.txt", "xargs -a list rm", "find . -mtime +9 | xargs sh -c 'rm \"$@\"' _"), ("rm a.txt", "rm -f *.o", "rm /tmp/x", "rm -i"), checks.rm_files,
    ),
    Rule(
        "files.rm-found", _RM + " unlink", "", "deletes whatever a search finds", Severity.HIGH, _LOST,
        ("find . -name '*.py' -exec rm {} \\;", "find . -name '*.c' | xargs rm -f", 'find src | while read -r f; do rm "$f"; done', "rm $(find . -name '*.py')"),
        ("find . -name '*.pyc' -exec rm {} +", "find . -name '*.orig' | xargs rm", "find /tmp/x -type f | xargs rm", "rm a.py"), checks.rm_found,
    ),
    Rule(
        "files.rm-one", _RM + " unlink rmdir", "", "deletes a file of the working directory", Severity.LOW, _LOST,
        ("rm a.txt", "rm -f *.o", "rmdir empty"), ("rm -rf x", "rm /tmp/x"), checks.rm_one,
    ),
    Rule(
        "files.find-delete-system", "find gfind", "", "deletes everything below the whole system", Severity.CRITICAL,
        "Nothing would be left to work with.", ("find / -delete", "find /usr -delete"), ("find / -name core -delete", "find /tmp/x -delete"), checks.find_all, never_allow=True,
    ),
    Rule(
        "files.find-delete", "find gfind", "", "deletes whatever a search finds", Severity.HIGH, _LOST,
        ("find . -mtime +7 -delete", "find /home -name '*.log' -delete", "find -delete"), ("find . -name '*.pyc' -delete", "find /tmp/x -delete", "find . -name delete"), checks.find_deletes,
    ),
    Rule(
        "files.shred", "shred gshred", "", "overwrites files so that nothing can bring them back", Severity.HIGH, "Shredded files cannot be recovered.",
        ("shred -u key.pem", "shred -n 10 secret.txt"), ("shred --help", "shred -u /tmp/k"), checks.outside,
    ),
    Rule(
        "files.truncate", "truncate gtruncate", r"--size=(?:0+[A-Za-z]*|-\d\S*|<\S+)(?= )", "cuts files off", Severity.MEDIUM, "What is cut off is lost.",
        ("truncate -s 0 app.db", "truncate --size=0 /var/log/app.log"), ("truncate -s 10G /tmp/disk.img", "truncate -s +1M x"), checks.outside,
    ),
    Rule(
        "files.rsync-delete", "rsync openrsync", r" --(?:delete\S*|remove-source-files)\b", "mirrors and deletes what the source does not have", Severity.HIGH,
        "Whatever is only in the target is deleted.", ("rsync -avz --delete src/ dest/", "rsync -a --del /tmp/empty/ ~/", "rsync --delete-excluded src/ host:dest/"),
        ("rsync -avz src/ dest/", "rsync -an --delete a/ b/", "rsync -a --delete a/ /tmp/b/"), checks.rsync_target,
    ),
    Rule(
        "files.mv-null", "mv gmv", "", "moves files into nothing", Severity.HIGH, _LOST, ("mv a /dev/null", "mv -f x y /dev/null"), ("mv a b",), checks.into_nothing,
    ),
    Rule(
        "files.mv-system", "mv gmv", "", "moves the system's files away", Severity.HIGH, "Programs that need them stop working.",
        ("mv /etc/passwd /tmp/p", "mv /usr/lib /x"), ("mv a.txt b.txt", "mv /tmp/a b"), checks.moved_away,
    ),
    Rule(
        "files.empty", "@empty", "", "empties a file", Severity.MEDIUM, "What was in it is lost.", ("> app.db", ": > data.csv", "cat /dev/null > app.log", "> app.db < /dev/null", ": < a > app.db"),
        ("echo x > a", "> /tmp/x", ": > build/stamp", "< a.txt > b.txt"), checks.outside,
    ),
    Rule(
        "files.overwrite", "@over", "", "writes over a part of a file", Severity.MEDIUM, "What was there is lost.", ("dd if=/dev/zero of=/home/me/vault.img bs=1M count=100 conv=notrunc", "dd if=patch.bin of=/srv/vm/a.raw seek=100 conv=fsync,notrunc"),
        ("dd if=/dev/zero of=/srv/disk.img bs=1M count=100", "dd if=boot.bin of=disk.img conv=notrunc", "dd if=a of=/tmp/x.img conv=notrunc", "dd if=/dev/zero of=/mnt/a/testfile bs=1M count=100 conv=notrunc"), checks.far,
    ),
    Rule(
        "files.chmod-wide", "chmod gchmod", "", "lets everybody write", Severity.HIGH, "Any user or process could change these files.",
        ("chmod -R 777 .", "chmod 777 /etc/passwd", "chmod -R a+rwX /home", "chmod o+w /etc/sudoers", "m=777; chmod -R $m /opt"),
        ("chmod 755 a", "chmod +x run.sh", "chmod 777 run.sh", "chmod -R 777 /tmp/x", "chmod 644 README.md", "chmod a-w x"), checks.chmod_wide,
    ),
    Rule(
        "files.chmod-wide-one", "chmod gchmod", "", "lets everybody write a file", Severity.MEDIUM, "Any user or process could change it.", ("chmod 777 run.sh",), ("chmod 755 run.sh",), checks.chmod_one,
    ),
    Rule(
        "files.chmod-system", "chmod gchmod", "", "changes permissions of the system, recursively", Severity.HIGH, "Programs and logins may stop working.",
        ("chmod -R 755 /", "chmod -R 000 /etc", "sudo find / -perm -4000 -exec chmod u-s {} \\;", "find /usr -type f | xargs chmod 644"), ("chmod -R 755 src", "chmod -R u+w /tmp/x", "find . -type d -exec chmod 755 {} +", "find /var/www -type f -exec chmod 644 {} +", "find ~ -name '*.sh' -exec chmod +x {} +", "chmod 755 /usr/local/bin/x"), checks.chmod_far,
    ),
    Rule(
        "files.edit-empties", "sed gsed perl", "", "empties files in place", Severity.MEDIUM, _LOST,
        ("sed -i d notes.txt", "sed -i '' -e d a.txt", "sed -i '1,$d' a.txt", "sed -i 's/.*//' a.txt", "perl -i -ne '' a.txt", "perl -n -i -e '1' a.txt"),
        ("sed -i 5d a.txt", "sed -i '/^#/d' a.txt", "sed -i d /tmp/x", "sed d a.txt", "perl -i -ne 'print if /x/' a.txt", "perl -i -pe 's/a/b/' a.txt", "perl -i.bak -ne '' a.txt", "sed -i.bak d a.txt"), checks.edit_empties,
    ),
    Rule(
        "files.chmod-closed", "chmod gchmod", "", "closes a tree for everybody", Severity.MEDIUM, "Nothing in it can be read any more, and what the permissions were is lost.",
        ("chmod -R 000 src", "chmod -R a-rwx .", "chmod -R 0 /srv/x"), ("chmod 000 x", "chmod -R 700 src", "chmod -R 000 /tmp/x", "chmod -R o-rwx src"), checks.chmod_closed,
    ),
    Rule(
        "files.chmod-setuid", "chmod gchmod install ginstall", "", "makes programs run with their owner's rights", Severity.HIGH, "Whoever runs it becomes its owner.",
        ("chmod u+s /bin/bash", "chmod 4755 x", "chmod ug+s x", "install -m 4755 sh /usr/local/bin/x"), ("install -m 755 a b", "chmod 0755 x", "chmod +x x", "chmod 644 x"), checks.chmod_setuid,
    ),
    Rule(
        "files.chmod-sensitive", "chmod gchmod", "", "loosens permissions of the system's own files", Severity.HIGH, "Secrets become readable or programs unusable.",
        ("chmod 644 /etc/shadow", "chmod -x /bin/ls", "chmod 666 /dev/sda"), ("chmod 600 ~/.ssh/id_ed25519", "chmod 600 /etc/ssh/key", "chmod 644 a", "chmod +x /dev/shm/x/a.sh", "cd /dev/shm/x && chmod +x a.sh"), checks.chmod_sensitive,
    ),
    Rule(
        "files.chown", "chown gchown chgrp", "", "changes the owner of the system's or somebody's files", Severity.HIGH, "Services and users lose access.",
        ("chown -R nobody /", "chown -R me ~/x", "chown root /etc/passwd", "ls -d /home/*/ | sudo xargs chown -R www-data:www-data"), ("chown user:group file.txt", "chown -R me:me .", "chown me /tmp/x"), checks.owner_far,
    ),
    Rule(
        "files.setfacl", "setfacl", r" --(?:recursive|remove-all|modify=\S*(?:o|other|u:\w*|everyone)\S*:\S*w|restore)", "changes access lists widely", Severity.MEDIUM,
        "Access may be given or taken away in many places.", ("setfacl -R -m u:bob:rwx /srv", "setfacl -b /etc/x"), ("getfacl x", "setfacl -R -m u:a:r /tmp/x"), checks.outside,
    ),
    Rule(
        "files.chattr", "chattr", r"-i|\+i|\+a|--recursive", "makes files immutable or mutable", Severity.MEDIUM, "Protection is taken away, or updates are blocked.",
        ("chattr +i /etc/resolv.conf", "chattr -R -i /srv"), ("lsattr x", "chattr +i /tmp/x"), checks.far,
    ),
    Rule(
        "files.mount-over", "mount", r" (?:--bind|--rbind|-t=tmpfs|--types=tmpfs|-o\S*remount|--options=\S*remount|--move)", "mounts over or again", Severity.MEDIUM,
        "Files disappear from sight or become writable.", ("mount -o remount,rw /", "mount --bind /tmp/x /etc"), ("mount", "mount -l", "mount --bind a /tmp/b"), checks.far,
    ),
    Rule(
        "files.umount", "umount", r" (?:--(?:all|force|lazy)\b|-- (?:.* )?(?:/|/home|/var|/usr|/boot|/boot/efi)$)", "takes file systems away", Severity.MEDIUM,
        "Open files are lost and services stop.", ("umount -a", "umount -lf /mnt/x", "umount /home"), ("umount /mnt/usb",),
    ),
    Rule(
        "files.windows", "del erase rd rmdir.exe Remove-Item ri format.com remove-item Clear-Content Format-Volume Clear-Disk", r"(?i)^(?:del|erase) (?:.* )?/[sqf]|^rd (?:.* )?/s|^(?:remove-item|ri) .*-(?:recurse|r\b|force)|^(?:clear-disk|format-volume|clear-content)\b",
        "deletes on Windows", Severity.HIGH, _LOST, ("pwsh -c 'Remove-Item -Recurse -Force C:\\Users'", "del /s /q x"), ("del x", "pwsh -c 'Get-Item x'"),
    ),
    Rule(
        "files.unison-force", "unison", r" -force\b", "makes one side like the other", Severity.HIGH, "Whatever is only on the other side is deleted.",
        ("unison -batch -force /a /a /b",), ("unison a b", "unison -batch a b"),
    ),
    Rule(
        "files.cmdlet", "Remove-*", "", "removes, stops or disables by a cmdlet", Severity.HIGH, "What is removed does not come back.",
        ("pwsh -c 'Remove-AzResourceGroup -Name x -Force'", "pwsh -c 'Stop-Computer'", "powershell Disable-NetAdapter x"), ("pwsh -c 'Remove-Variable x'", "pwsh -c 'Get-Process'", "pwsh -c 'Remove-AzVM x -WhatIf'"),
    ),
    Rule(
        "files.safe-rm", "trash trash-put gio gvfs-trash trash-empty rimraf del-cli rmtrash git-rm-all fdupes", r"^(?:trash-empty|rimraf|del-cli)\b|^gio trash --empty|^fdupes .*(?:-\w*d\w*N|--delete)",
        "deletes for good", Severity.MEDIUM, _LOST, ("trash-empty", "npx rimraf src"), ("trash x", "gio open x"),
        when=lambda call: call.name in {"trash-empty", "gio", "fdupes"} or bool(checks.outside(call)),
    ),
    Rule("files.unpack-over", "cpio 7z 7za 7zz unsquashfs patch split debootstrap stow mmdebstrap pax star", "", "writes files into the system", Severity.HIGH, "Programs, logins or the network may stop working.", ("cpio -idmu -D / < x", "7z x a.7z -o/etc -y", "unsquashfs -f -d / x.sfs", "patch -p0 -d /etc < x", "patch /etc/ssh/sshd_config x.diff", "split -b 1 x /etc/x", "stow -D -t / x", "debootstrap stable /"), ("patch -p1 < x.diff", "7z x a.7z -oout", "cpio -it < x", "split -l 10 x part-", "debootstrap stable ./root", "patch --dry-run -d /etc < x"), checks.unpacks_over),
    Rule("files.rename-many", "rename prename perl-rename file-rename mmv detox rdfind jdupes convmv", r"^(?:rename|prename|perl-rename|file-rename) (?!.*-n\b)|^mmv (?!.*-n\b)|^detox .*-\w*r|^rdfind .*-deleteduplicates(?:=| )true|^jdupes .*-\w*d\w*N|^convmv .*--notest", "renames or deletes many files", Severity.MEDIUM, "Names, and files with the same name, are lost.", ("rename 's/.*/x/' /etc/*", "mmv '*' '#1.bak'", "detox -r /srv", "rdfind -deleteduplicates true ~"), ("rename -n 's/a/b/' *", "rdfind x", "rename 's/a/b/' *.txt"), when=lambda call: call.name in {"mmv", "rdfind", "jdupes"} or (call.inv.via[-1:] != ("find",) and bool(checks.far(call)))),
    Rule("files.context", "chcon restorecon", r"^chcon\b", "changes security labels of the system's files", Severity.MEDIUM, "Protection is taken away, or services may not read them.", ("chcon -t bin_t /etc/shadow", "chcon -R -t httpd_sys_content_t /etc"), ("chcon --help", "ls -Z"), checks.far),
    Rule("files.windows-other", "format fsutil cipher diskpart robocopy rd rmdir deltree", r"(?i)^format [a-z]:|^fsutil (?:usn deletejournal|file setzerodata|volume dismount)|^cipher (?:.* )?/w|^diskpart\b|^robocopy (?:.* )?/(?:mir|purge|move)\b|^rmdir .*/s\b|^deltree\b", "deletes or formats on Windows", Severity.HIGH, _LOST, ("format c:", "robocopy /MIR empty data", "fsutil usn deletejournal C:", "cipher /w:C"), ("robocopy a b", "cipher /c x", "fsutil fsinfo drives")),
    Rule("files.compress-over", "gzip bzip2 xz zstd lzma pigz gunzip", "", "replaces files by compressed ones", Severity.MEDIUM, "Programs no longer find their files.", ("gzip -rf /etc", "xz -f /etc/passwd"), ("gzip -k a", "gzip app.log", "gzip -c /etc/hosts", "gzip -d a.gz", "zstd -d a"), when=lambda call: not any(re.fullmatch(r"-[a-zA-Z0-9]*[cklt][a-zA-Z0-9]*|--(?:stdout|keep|to-stdout|list|test)", word) for word in call.argv[1:]) and any(call.kind(word) in {Kind.ROOT, Kind.SYSTEM} and not word.startswith(("/var/log/", "-")) and not labels(word) for word in call.argv[1:])),
    Rule("files.punch", "fallocate", r" (?:--(?:punch-hole|zero-range|collapse-range)\b|-[pzc]\b)", "makes holes in a file", Severity.MEDIUM, "What was there is lost.", ("fallocate --punch-hole -o 0 -l 1GiB /srv/vm.qcow2",), ("fallocate -l 1G swapfile", "fallocate -p /tmp/x"), checks.outside),
)  # fmt: skip
