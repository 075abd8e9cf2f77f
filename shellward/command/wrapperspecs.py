"""How commands that run another command are written. Data only; wrappers.py reads it, and says what the words mean."""

SPECS = """
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
trickle: short=udtlws
retry: short=tdm long=times,delay
mpirun: short=nH long=np,host,hostfile
mpiexec: short=nf long=np,host,hostfile
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
proot: short=rbwqkSR long=rootfs,bind,pwd,cwd,qemu
chroot: long=userspec,groups skip=1
arch-chroot: short=u skip=1
systemd-nspawn: short=DiMubpxE long=directory,image,machine,user,bind,bind-ro,tmpfs,setenv
unshare: short=RSGwl long=root,wd,setuid,setgid,map-user,map-group,map-users,map-groups,propagation,setgroups,owner,boottime,monotonic,load-interp
nsenter: short=tSGRw long=target,setuid,setgid
firejail: long=name
systemd-run: short=pEuHMC long=property,setenv,unit,slice,description,uid,gid,nice,working-directory,host,machine,on-active,on-boot,on-calendar,service-type
systemd-inhibit: long=what,who,why,mode
systemd-cat: short=tp long=identifier,priority
dbus-run-session: long=config-file,dbus-daemon
dbus-launch:
vault-env:
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
i386:
x86_64:
setpriv: long=reuid,regid,groups,ruid,rgid,euid,egid,inh-caps,ambient-caps,bounding-set,securebits
captest: long=text
script: short=EBIOTmo code=-c,--command skip=1
su: short=gGswC long=group,shell,whitelist-environment code=-c,--command skip=99
sg: skip=1 join code=-c
newgrp: skip=1
watch: short=nq long=interval,equexit join
entr: short=
reflex: short=rRgG
nodemon: short=ewx long=exec code=-x,--exec
watchexec: short=ewifs join
when-changed: skip=1
inotifywait: short=etm dash
dtach: short=eErz skip=1
abduco: short=e skip=1
screen: short=SschpTtXe
daemonize: short=acelopuE
daemon: short=nuD long=name,user
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
nix: dash words=-c,--command
guix: dash
flatpak-spawn: long=directory,env
distrobox: dash
toolbox: skip=1 short=c long=container
machinectl: skip=2
mosh: short=p long=ssh,port,server,client skip=1
mise: dash
asdf: skip=1
op: dash
doppler: dash code=--command
infisical: dash
chamber: dash
aws-vault: dash
saml2aws: dash
aws-okta: dash
aws-sso: dash
aws-oidc: dash
berglas: dash
summon: short=fDe
vaultenv: dash
phase: dash
hcp: dash
teller: dash
envchain: skip=1
env-cmd: short=fre
cross-env: env
cross-env-shell: env join
dotenvx: dash
corepack:
shx:
zellij: dash
nq:
fq: short=n
pueue: skip=1 join
sbatch: short=JAtnNpcoeDm long=job-name,account,time,ntasks,nodes,partition,cpus-per-task,output,error,mem,chdir code=--wrap skip=99
salloc: short=nNpctAJ long=ntasks,nodes,partition,time,cpus-per-task,mem,gres,account
qsub: short=bNoejlqSvVMmpwdP
qrsh: short=bNoejlqSvVMmpwdP
bsub: short=qnWoeJRMPmwg join
oarsub: short=lpqn skip=0 join
condor_run: join
enroot: dash
ch-run: short=bcgu skip=1
udocker: dash
lerna: dash
xterm: words=-e
uxterm: words=-e
urxvt: words=-e
rxvt: words=-e
st: words=-e
konsole: words=-e
alacritty: words=-e,--command
gnome-terminal: words=--,-x code=-e,--command
xfce4-terminal: words=-x code=-e,--command
tilix: code=-e,--command
terminator: words=-x code=-e,--command
kitty: short=co
foot: short=aTDWcf
wezterm: dash
scl: skip=2 join
steam-run:
snap: dash
lima: short=
colima: dash
lxc-attach: dash
docker-machine: skip=2 join
knife: skip=2 join
jexec: short=lUu skip=1 env
iocage: skip=2
runc: skip=2
crun: skip=2
buildah: dash
foreman: short=fe long=procfile,env skip=1
honcho: short=fe long=procfile,env skip=1
chokidar: short=cdti code=-c,--command skip=99
onchange: dash
start-server-and-test: skip=99
fswatch: dash
yt-dlp: code=--exec,--exec-before-download skip=99
youtube-dl: code=--exec skip=99
gum: dash
annotate-output:
systemd-socket-activate: short=lE
s6-softlimit: short=adflmoprst
s6-envdir: skip=1
s6-setsid:
execlineb: code=-c skip=99
tini-static: short=pew dash
catatonit: dash
cpuset: dash
cset: dash
schedtool: words=-e
choom: short=np dash
mintty: words=-e,-
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
autossh: short=bcDEeFIiJLlmOopQRSWwBM skip=1 join
plink: short=PlpwLRDiNms long=pw,pwfile,hostkey,load,P,l,i skip=1 join
putty: short=PlpwLRDim skip=1 join
kitten: skip=2 join
mussh: short=hHmoltu code=-c
ssh: short=bcDEeFIiJLlmOopQRSWwB skip=1 join
slogin: short=bcDEeFIiJLlmOopQRSWw skip=1 join
rsh: short=l skip=1 join
tsh: skip=2 join
"""
