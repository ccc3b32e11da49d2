# isolation.bats - what the program sees, and what it cannot reach

load helpers

@test "no capabilities, no_new_privs, a filter" {
	jail -c 'for line in open("/proc/self/status"):
    if line.startswith(("Cap", "NoNewPrivs", "Seccomp:")): print(*line.split())'
	is "$stdout" $'CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\nCapAmb: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2'
}

@test "descriptors 0, 1, 2 and no other, for python and for programs" {
	exec 7</etc/hostname
	jail -c 'import os
def is_open(fd):
    try: os.fstat(fd)
    except OSError: return False
    return True
print([fd for fd in range(1024) if is_open(fd)])'
	is "$stdout" "[0, 1, 2]"
	probe fds
	is "$stdout" "0 1 2 "
}

@test "only the jail's own processes" {
	jail -c 'import os; print(sorted(p for p in os.listdir("/proc") if p.isdigit()) == [str(os.getpid())])'
	is "$stdout" True
}

@test "init is out of reach" {
	for what in environ mem root cwd exe maps fd; do
		probe read /proc/1/$what
		[[ $stdout =~ ENOENT|EACCES|EPERM ]] || fail_with "/proc/1/$what"
	done
	probe kill 1 9
	[[ $stdout =~ EPERM|ESRCH|ok ]]
	is "$(report .status)" ok
	probe ptrace 1
	is "$stdout" EPERM
}

@test "host secrets: files, home, environment, processes" {
	export TOKEN=canary-4711
	jail -c 'import os, glob
print(os.path.exists("/etc/shadow"), os.path.exists("/home"), os.path.exists("/root"), "TOKEN" in os.environ)
print(any(b"canary-4711" in open(p,"rb").read() for p in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline")))'
	is "$stdout" $'False False False False\nFalse'
}

@test "ids are 1000, whoever starts it" {
	probe ids
	is "$stdout" "1000 1000 1000 1000"
	probe --policy open setuid 0
	[[ $stdout =~ EPERM|EINVAL ]] || fail_with "setuid"
	probe --policy open setgroups
	is "$stdout" EPERM
}

@test "root's jail is not root outside" {
	[ "$(id -u)" = 0 ] || skip "not root"
	"$SMOLJAIL" run -c 'print(1, flush=True); import time; time.sleep(30)' >out.txt &
	local pid=$! init uid
	for _ in $(seq 50); do [ -s out.txt ] && break; sleep 0.1; done
	init=$(tr -d ' ' </proc/$pid/task/$pid/children)
	for pid in "$init" "$(tr -d ' ' <"/proc/$init/task/$init/children")"; do
		uid=$(awk '/^Uid:/ { print $2 }' "/proc/$pid/status")
		[ "$uid" -ge 1879048192 ] || fail_with "uid $uid"
	done
	kill %1
	wait %1 || true
}

@test "namespaces cannot be made or joined" {
	for act in userns clone-newuser; do
		probe --policy open $act
		[[ $stdout =~ EPERM|ENOSPC ]] || fail_with "$act"
	done
	probe --policy open clone3
	is "$stdout" ENOSYS
	probe --policy open setns mnt
	[[ $stdout =~ EPERM|ENOSYS|EACCES|ENOENT ]] || fail_with setns
}

@test "a new user namespace is also refused without the filter's help: the jail's own limit is 0" {
	"$SMOLJAIL" run -c 'print(1, flush=True); import time; time.sleep(30)' >out.txt &
	local pid=$! limit
	for _ in $(seq 50); do [ -s out.txt ] && break; sleep 0.1; done
	pid=$(tr -d ' ' </proc/$pid/task/$pid/children)
	pid=$(tr -d ' ' <"/proc/$pid/task/$pid/children")
	limit=$(nsenter -U --preserve-credentials -t "$pid" cat /proc/sys/user/max_user_namespaces)
	kill %1
	wait %1 || true
	is "$limit" 0
	[ "$(cat /proc/sys/user/max_user_namespaces)" -gt 0 ]
}

@test "mounts cannot be changed" {
	for act in mount umount remount fsopen open-tree chroot; do
		probe --policy open $act
		[[ $stdout =~ EPERM|ENOSYS ]] || fail_with "$act: $stdout"
	done
}

@test "every mount nosuid, all but the device nodes nodev, writable ones noexec" {
	jail -c 'for line in open("/proc/self/mountinfo"):
    f = line.split(); where, flags = f[4], f[5].split(",")
    if "nosuid" not in flags: print("suid", where)
    if "nodev" not in flags and not where.startswith("/dev/"): print("dev", where)
    if "rw" in flags and "noexec" not in flags: print("exec", where)'
	is "$stdout" ""
}

@test "the root, /usr, /etc and /dev are read-only" {
	for path in /x /usr/x /etc/x /dev/x /usr/bin/x; do
		probe create $path
		[[ $stdout =~ EROFS|EACCES ]] || fail_with "$path"
	done
	probe unlink /dev/null
	[[ $stdout =~ EROFS|EBUSY|EACCES ]] || fail_with "unlink /dev/null"
}

@test "/dev holds five nodes, fd links and shm" {
	probe list /dev
	is "$(sort <<<"$stdout" | tr '\n' ' ')" "fd full null random shm stderr stdin stdout urandom zero "
	probe tty
	[[ $stdout =~ ENXIO|ENOENT|EACCES ]] || fail_with tty
	probe --policy open mknod /tmp/n
	[[ $stdout =~ EPERM|EACCES ]] || fail_with mknod
}

@test "no /sys, no cgroupfs, /proc shows processes only" {
	probe list /
	lacks "$stdout" sys
	for path in /proc/kcore /proc/sysrq-trigger /proc/keys /proc/sys/kernel/core_pattern /sys/kernel /proc/config.gz; do
		probe read $path
		[[ $stdout =~ ENOENT|EACCES ]] || fail_with "$path: $stdout"
	done
	jail -c 'print(open("/proc/self/cgroup").read())'
	[[ -z $(grep -v ':/$' <<<"$stdout" | grep -v '^$') ]] || fail_with "cgroup paths"
}

@test "climbing does not leave" {
	probe climb
	[[ $stdout =~ ENOENT|EACCES ]] || fail_with climb
	probe read /proc/self/root/../../etc/shadow
	[[ $stdout =~ ENOENT|EACCES ]] || fail_with root
}

@test "the guest's program cannot be overwritten" {
	probe exe-write
	[[ $stdout =~ ETXTBSY|EROFS|EACCES ]] || fail_with exe
}

@test "what is written cannot be executed, by path, loader, memory file or map" {
	jail -- sh -c 'cp /usr/bin/busybox /work/b && chmod +x /work/b && /work/b true'
	is "$status" 126
	jail -- sh -c 'cp /usr/bin/python3 /work/p; /lib64/ld-linux-x86-64.so.2 /work/p -c "print(1)"'
	[ "$status" -ne 0 ]
	lacks "$stdout" 1
	for policy in python python-data shell; do
		probe --policy $policy memfd-exec
		is "$stdout" EPERM
	done
	probe map-exec /probe
	is "$stdout" ok
	jail -c 'import mmap; open("f","wb").write(b"x"*4096); f=open("f","r+b")
try: mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ|mmap.PROT_EXEC)
except PermissionError: print("refused")'
	is "$stdout" refused
}

@test "a session of its own, umask, signals as from a fresh login" {
	probe sid
	is "$stdout" 1
	probe umask
	is "$stdout" 022
	(
		trap '' PIPE CHLD INT USR1
		umask 077
		"$SMOLJAIL" run -c 'import signal, subprocess
print([s.name for s in signal.Signals if s not in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ) and signal.getsignal(s) == signal.SIG_IGN], signal.pthread_sigmask(0, []))
print(subprocess.run(["true"]).returncode)'
	) >out.txt
	is "$(cat out.txt)" $'[] set()\n0'
}

@test "hostname comes from the policy" {
	probe hostname
	is "$stdout" jail
}

@test "Landlock is a layer where the kernel has it" {
	jail -c pass
	if [[ $("$SMOLJAIL" doctor --json | jq -r '.facts[] | select(.id == "landlock") | .state') == ok ]]; then
		report '.isolation[]' | grep -q '^landlock:'
	else
		skip "no Landlock in this kernel"
	fi
}

# In the supervisor's place: what an error in it could be used for.
@test "the supervisor is under a filter of its own while a program runs" {
	local before pid
	before=$(grep -E ^Seccomp_filters: /proc/self/status | tr -dc 0-9)
	"$SMOLJAIL" run -c 'print(1, flush=True); import time; time.sleep(30)' >out.txt &
	pid=$!
	until [ -s out.txt ]; do sleep 0.1; done
	status=$(grep -E '^(NoNewPrivs|Seccomp|Seccomp_filters):' "/proc/$pid/status" | tr -d '\t')
	kill "$pid"
	wait "$pid" || true
	[[ $status == *NoNewPrivs:1* && $status == *Seccomp:2* ]] || fail_with "the supervisor has no filter"
	[[ $status == *Seccomp_filters:$((before + 1))* ]] || fail_with "it is not its own"
}
