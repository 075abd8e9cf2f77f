"""Disks, partitions, file systems, volumes, pools."""

from shellward.approval import checks
from shellward.approval.paths import Kind, classify
from shellward.approval.rule import Rule
from shellward.core.gate import Severity

_GONE = "Everything on the device is lost."
_H, _M, _C = Severity.HIGH, Severity.MEDIUM, Severity.CRITICAL

RULES: tuple[Rule, ...] = (
    Rule(
        "disks.write-system", "> >>", "", "overwrites the disk the system runs from", _C, _GONE,
        ("dd if=/dev/zero of=/dev/sda", "cat x > /dev/nvme0n1", "cp image /dev/sda"), ("dd if=a of=b", "echo x > /dev/null", "cat > burn.md <<E\ndd of=/dev/sda\nE"),
        checks.write_system_disk, never_allow=True,
    ),
    Rule("disks.write", "> >>", "", "overwrites a disk", _C, _GONE, ("dd if=a.iso of=/dev/sdb bs=4M", "pv a | dd of=/dev/sdc", "yes > /dev/sdb", "qemu-img convert -n -O raw golden.qcow2 /dev/sdb", "qemu-img dd if=a.raw of=/dev/sdb", "bmaptool copy a.img /dev/sdb", "partclone.ext4 -r -s a.img -o /dev/sdb1", "ntfsclone --overwrite /dev/sdb1 a.img"), ("qemu-img convert -O qcow2 /dev/sdb a.qcow2", "qemu-img info /dev/sdb", "partclone.ext4 -c -s /dev/sdb1 -o a.img", "ntfsclone -o a.img /dev/sdb1", "dd if=f of=/dev/null", "echo > /dev/tty"), checks.write_device),
    Rule(
        "disks.mkfs-system", "mkfs mke2fs mkdosfs newfs mkswap", "", "formats the disk the system runs from", _C, _GONE, ("mkfs.ext4 /dev/sda1", "mkfs -t xfs /dev/nvme0n1"),
        ("mkfs.ext4 /tmp/x.img", "man mkfs", "mkfs.ext4 -n /dev/sda1", "mkfs.xfs -N /dev/sda1"), checks.formats_system_disk, never_allow=True,
    ),
    Rule("disks.mkfs", "mkfs mke2fs mkdosfs newfs mkswap mkntfs mkexfatfs mkzftree bcachefs", "", "formats a device", _H, _GONE, ("mkfs.ext4 /dev/sdb1", "mkfs -t ext4 /dev/sdb", "mkswap /dev/sdb2", "mkfs.vfat -n DATA /dev/sdb1", "mkfs.ext4 -N 100000 /dev/sdb1", "mkfs.xfs -n size=8192 /dev/sdb1", "mkfs.btrfs -n 16k /dev/sdb", "mkfs -V -t ext4 /dev/sdb1", "mke2fs -v /dev/sdb1", "/sbin/mkfs.ex?4 /dev/sdc1", "/s*/mk[f]s.x* /dev/sdb"),
         ("mkfs.ext4 disk.img", "mkfs.ext4 -n /dev/sdb", "mke2fs -n /dev/sdb1", "mkfs -t ext4 -n /dev/sdb1", "mkfs.xfs -N /dev/sdb1", "mkfs.ext4 -V", "mke2fs -V", "mkfs -V", "mkfs -VV -t ext4 /dev/sdb1", "mkfs.btrfs --version", "mkswap -V"), checks.formats),
    Rule("disks.wipefs", "wipefs", r" --(?:all|offset)\b", "erases file system signatures", _H, _GONE, ("wipefs -a /dev/sdc", "wipefs -af /dev/sdc", "wipefs -o 0x438 /dev/sdc"), ("wipefs /dev/sdc", "wipefs -n -a /dev/sdc", "wipefs -a /tmp/x.img", "wipefs -f /dev/sdc"), checks.not_image),
    Rule(
        "disks.partition", "fdisk gdisk cfdisk sgdisk parted sfdisk cgdisk partprobe partx kpartx fatresize", "", "changes a partition table", _H, _GONE,
        ("fdisk /dev/sdb", "parted /dev/sdb mklabel gpt", "sfdisk /dev/sdb < t", "sgdisk -Z /dev/sdb", "echo ',,L' | sfdisk /dev/sdb", "sgdisk -n 1:0:0 -p /dev/sdb", "fdisk -n /dev/sdb", "parted -s /dev/sdb print rm 1", "partx -d /dev/sdb", "sgdisk /dev/sdb --largest-new=1"),
        ("fdisk -l", "fdisk -l /dev/sda", "fdisk -x /dev/sda", "parted -l", "parted /dev/sda print", "parted -s /dev/sda unit MiB print free", "sfdisk -d /dev/sda", "sfdisk -n /dev/sda", "sfdisk /tmp/x.img", "sgdisk -p /dev/sda", "sgdisk -i 1 /dev/sda", "sgdisk --backup=b.bin /dev/sda", "sgdisk -P -Z /dev/sda", "partx --show /dev/sda", "partprobe -d /dev/sda", "kpartx -l /dev/sda"),
        checks.changes_table,
    ),
    Rule("disks.crypt", "cryptsetup cryptsetup-reencrypt veracrypt tcplay", r"^\S+ (?:\S+ )*?(?:luksFormat|erase|luksErase|luksKillSlot|luksRemoveKey|reencrypt|luksHeaderRestore|convert|luksSuspend|close|luksAddKey|luksChangeKey)\b", "changes an encrypted volume", _H, "Without its header or key the data is lost.",
         ("cryptsetup -q luksFormat /dev/sda2 key", "cryptsetup erase /dev/sdb"), ("cryptsetup luksDump /dev/sda2", "cryptsetup status x")),
    Rule("disks.lvm", "lvremove vgremove pvremove pvcreate lvreduce vgreduce lvresize pvresize vgcfgrestore lvconvert pvmove vgsplit vgmerge", r"^(?!lvresize.*(?:\+|--extents)|pvcreate(?!.*(?:-f|--force)))", "removes or shrinks logical volumes", _H, _GONE,
         ("lvremove -y /dev/vg0/lv", "vgremove vg0", "pvremove /dev/sda1", "lvreduce -L 1G vg/lv"), ("lvs", "vgdisplay", "lvresize -L +1G vg/lv", "lvremove --test vg/lv"), unless=r" --test\b| -t\b"),
    Rule("disks.zfs", "zfs zpool", r"^(?:zfs (?:destroy|rollback|rename|promote|unmount -a|unload-key|receive|recv)|zpool (?:destroy|labelclear|remove|offline|split|detach|clear|export|create|replace))\b", "destroys or changes pools and datasets", _H, _GONE,
         ("zfs destroy -r tank/home", "zpool destroy tank", "zfs rollback tank@a"), ("zfs list", "zpool status", "zfs destroy -n tank/x"), unless=r" -n\b"),
    Rule("disks.btrfs", "btrfs", r"^btrfs (?:subvolume delete|su delete|sub delete|device (?:delete|remove)|check .*--repair|rescue|filesystem resize|balance start|replace start|quota disable|filesystem defragment)", "deletes or changes btrfs volumes", _H, _GONE,
         ("btrfs subvolume delete /home", "btrfs device remove /dev/sdb /"), ("btrfs subvolume list /", "btrfs filesystem df /")),
    Rule("disks.raid", "mdadm dmraid storcli megacli hpssacli", r" (?:--(?:zero-superblock|stop|fail|remove|create)|-[SfrC]|delete|destroy|-CfgLdDel|-CfgClr)\b", "takes a disk array apart", _H, _GONE, ("mdadm --zero-superblock /dev/sdb1", "mdadm --stop /dev/md0"), ("mdadm --detail /dev/md0", "cat /proc/mdstat")),
    Rule("disks.erase", "hdparm nvme blkdiscard sg_format sg_sanitize sedutil-cli nwipe dban scrub secure-delete sfill sdmem sswap bleachbit", r"^(?:hdparm .*--(?:security-\S+|trim-sector|write-sector|make-bad|please-destroy|yes-i-know)|nvme (?:format|sanitize|write|delete-ns|detach-ns|reset|fw-)\S*|blkdiscard|sg_\w+|sedutil-cli .*--(?:revert|PSID)|nwipe|dban|scrub|sfill|sdmem|sswap|bleachbit (?:.* )?(?:-c|--clean|--shred|-s|--overwrite))",
         "erases a device for good", _H, _GONE, ("hdparm --user-master u --security-erase p /dev/sdb", "nvme format /dev/nvme1n1", "blkdiscard /dev/sdb"), ("hdparm -I /dev/sda", "nvme list", "hdparm -t /dev/sda")),
    Rule("disks.badblocks", "badblocks", r" -[wn]\b", "writes test patterns over a device", _H, _GONE, ("badblocks -wsv /dev/sdb",), ("badblocks -sv /dev/sdb",)),
    Rule("disks.repair", "fsck e2fsck xfs_repair tune2fs resize2fs ntfsfix debugfs xfs_db reiserfsck btrfsck dosfsck fsck.ext4 fsck.xfs testdisk photorec extundelete e2label xfs_admin xfs_growfs", r"^(?:fsck\S*|e2fsck|dosfsck|btrfsck|reiserfsck) (?:.* )?-\w*(?:y|a|p|f)|^xfs_repair (?!.*-n)|^tune2fs (?!-l)|^resize2fs .*-M|^resize2fs (?:\S+ )*?/\S+ \d|^ntfsfix|^debugfs .*-w|^xfs_db .*-x", "changes file system structures in place", _M, "A file system that is in use can be damaged.",
         ("fsck -y /dev/sdb1", "xfs_repair -L /dev/sdb1", "debugfs -w /dev/sdb1"), ("fsck -n /dev/sdb1", "tune2fs -l /dev/sda1", "xfs_repair -n /dev/sdb1")),
    Rule("disks.dm", "dmsetup losetup", r"^(?:dmsetup (?:remove|remove_all|wipe_table|suspend)|losetup --detach-all)", "takes device mappings away", _M, "Volumes in use disappear.", ("dmsetup remove_all", "losetup -D"), ("dmsetup ls", "losetup -a")),
    Rule("disks.dd-read", "dd gdd", r" -- |if=/dev/(?:sd|nvme|hd|vd|mmcblk|disk|mapper)", "reads a whole disk into a file", _M, "Everything on it, secrets too, is copied.",
         ("dd if=/dev/sda of=/tmp/disk.img",), ("dd if=/dev/zero of=x count=1", "dd if=/dev/urandom bs=16 count=1", "dd if=/dev/sda of=mbr bs=512 count=1"),
         when=lambda call: any(w.startswith("if=/dev/") and classify(w[3:]) is Kind.DEVICE for w in call.argv) and not any(w.startswith("count=") for w in call.argv)),
    Rule("disks.diskutil", "diskutil asr hdiutil tmutil", r"(?i)^(?:diskutil (?:erase\w*|secureErase|partitionDisk|reformat|zeroDisk|randomDisk|apfs (?:-- )?(?:delete\w*|eraseVolume)|ap (?:-- )?delete\w*|unmountDisk force|resizeVolume|mergePartitions|splitPartition|cs delete)|asr (?:.* )?--?erase|tmutil (?:delete\w*|disable|thinlocalsnapshots|disablelocal|restore|removedestination))",
         "erases disks or backups", _H, _GONE, ("diskutil eraseDisk JHFS+ X disk2", "tmutil deletelocalsnapshots /"), ("diskutil list", "tmutil listbackups", "hdiutil info")),
    Rule("disks.boot", "efibootmgr grub-install update-grub grub2-install bootctl grub-mkconfig grub2-mkconfig flashrom fwupdmgr rpi-eeprom-update mokutil nvram bless ipmitool bcdedit", r"^(?:efibootmgr .*(?:-B|--delete-bootnum|-O|--delete-bootorder|-o)|grub2?-install|flashrom .*(?:-w|-E|--write|--erase)|bootctl (?:install|remove|set-default)|mokutil .*--(?:disable|reset|import|delete)|nvram (?:-c|-d|.*=)|ipmitool .*(?:power (?:off|cycle|reset)|user|raw)|bcdedit .*/(?:set|delete))",
         "changes how the machine boots", _H, "The machine may not start again.", ("efibootmgr -b 0001 -B", "grub-install /dev/sda", "flashrom -w x.bin"), ("efibootmgr", "efibootmgr -v", "ipmitool sensor")),
    Rule("disks.snapshots", "vssadmin snapper timeshift wbadmin", r"^(?:vssadmin delete|snapper (?:\S+ )*?(?:delete|rollback|undochange)|timeshift .*--(?:delete|delete-all|restore)|wbadmin delete)", "deletes snapshots or goes back to one", _H, "What was saved, or newer than the snapshot, is lost.", ("snapper delete 1-100", "timeshift --delete-all"), ("snapper list", "timeshift --list")),
    Rule("disks.deactivate", "swapoff lvchange vgchange zfs multipath iscsiadm drbdadm fsfreeze", r"^swapoff \S|^(?:lv|vg)change (?:.* )?(?:-an|-a=?n|--activate[= ]n)\b|^(?:lv|vg)change -an=|^zfs set .*mountpoint=(?:none|legacy)|^zfs (?:inherit|hold(?=never)|unmount|umount|revoke|unshare)\b|^multipath .*-(?:F|f)\b|^iscsiadm .*(?:--logout|-u\b|-o[= ]delete)|^drbdadm (?:\S+ )*?(?:invalidate|down|detach|disconnect|secondary|wipe-md|create-md|outdate)|^fsfreeze .*(?:-f|--freeze)\b", "takes volumes in use away", _M, "Whatever uses them stops.", ("swapoff /dev/sdb2", "vgchange -an vg0", "lvchange -an vg0/data", "zfs set mountpoint=none p/d", "multipath -F", "iscsiadm -m node --logout", "drbdadm invalidate r0", "fsfreeze -f /srv"), ("swapon --show", "vgchange -ay vg0", "zfs get mountpoint p", "multipath -ll", "iscsiadm -m session", "drbdadm status")),
    Rule("disks.btrfs-short", "btrfs", r"^btrfs (?:sub\w*|su) (?:d|de|del|dele\w*)\b|^btrfs (?:dev\w*|de) (?:d|del\w*|rem\w*)\b|^btrfs (?:rep\w*) (?:s\w*|start)|^btrfs (?:fi\w*|f) (?:res\w*)", "deletes or changes btrfs volumes", _H, _GONE, ("btrfs subvol del /srv/@data", "btrfs dev del /dev/sdb /srv"), ("btrfs sub list /", "btrfs dev stats /")),
    Rule("disks.copy-over", "ddrescue dc3dd dcfldd ddpt sg_dd partclone.restore clonezilla ocs-sr fsarchiver partimage wimlib-imagex e2image", r"^ddrescue (?:.* )?\S+ (?:/dev/(?!null|zero)\S+)|^(?:dc3dd|dcfldd|ddpt|sg_dd) (?:.* )?(?:of|wipe|hwipe)=/dev/(?!null)|^fsarchiver restfs|^e2image (?:.* )?-\w*[ra]\w*(?=.* /dev/\S+ /dev/)|^e2image (?:.* )?/dev/\S+ .*-\w*[ra]|^ocs-sr .*restore|^partimage .*restore", "overwrites a disk", _H, _GONE, ("ddrescue /dev/zero /dev/sdb", "dc3dd wipe=/dev/sdb", "dcfldd if=/dev/zero of=/dev/sdb"), ("ddrescue /dev/sdb disk.img map", "dcfldd if=/dev/sdb of=disk.img")),
    Rule("disks.shrink", "qemu-img", r"^qemu-img (?:resize (?:.* )?--shrink|snapshot (?:.* )?-(?:d|a)\b|commit|rebase)", "shrinks a disk image or changes its snapshots", _M, "What is cut off is lost.", ("qemu-img resize --shrink d.qcow2 1G", "qemu-img snapshot -d s d.qcow2"), ("qemu-img info d.qcow2", "qemu-img create d.qcow2 1G", "qemu-img snapshot -l d.qcow2")),
)  # fmt: skip
