# landlock.bats - isolation landlock: a jail without namespaces, and what it does not let through

load helpers

setup() {
	# Root's jail runs as a stranger, who has to come as far as the files of these tests.
	place=$(mktemp -d /tmp/smoljail-bats-XXXXXX)
	chmod a+rx "$place"
	cd "$place" || return 1
	canary=$place/canary
	mkdir shown
	echo secret >"$canary"
	echo shown >shown/file
	chmod 0666 "$canary" shown/file
	chmod 0777 shown
	before=$(stat -c '%a %u %g %s %Y %Z' "$canary" shown shown/file)
}

teardown() {
	cd / && rm -rf "$place"
}

light() {
	jail --isolation landlock "$@"
}

# Private folders of jails that this test started: their names are in the environment of what they ran.
no_folder() {
	[ ! -e "$1" ] || fail_with "still there: $1"
}

unchanged() {
	is "$(stat -c '%a %u %g %s %Y %Z' "$canary" shown shown/file)" "$before"
	is "$(cat "$canary" shown/file)" "$(printf 'secret\nshown')"
}

# try.py NAME=CODE...: the errno of each, or "done".
write_try() {
	cat >try.py <<-'EOF'
		import ctypes, errno, os, signal, socket, sys
		libc = ctypes.CDLL(None, use_errno=True)
		def call(nr, *args):
		    ctypes.set_errno(0)
		    r = libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
		    if r < 0:
		        raise OSError(ctypes.get_errno(), "call %d" % nr)
		    return r
		for word in sys.argv[1:]:
		    name, code = word.split("=", 1)
		    try:
		        exec(code)
		        print(name, "done")
		    except OSError as e:
		        print(name, errno.errorcode.get(e.errno, e.errno))
	EOF
}

# Each answer of try.py is NAME and one of the words.
answers() {
	local want=$1 line
	shift
	is "$(wc -l <<<"$stdout")" $#
	while read -r line; do
		[[ " $want " == *" ${line#* } "* ]] || fail_with "answer: $line" "wanted one of: $want"
	done <<<"$stdout"
}

@test "code, script, module, standard input, command: output and exit status are the program's own" {
	light -c 'print(6*7)'
	is "$stdout" 42
	echo 'import sys; print(__file__.split("/")[-1], sys.argv[1:]); sys.exit(7)' >s.py
	light s.py a b
	is "$status $stdout" "7 s.py ['a', 'b']"
	light -m platform
	has "$stdout" Linux
	status=0
	stdout=$(echo 'print("in")' | "$SMOLJAIL" run --isolation landlock -) || status=$?
	is "$status $stdout" "0 in"
	light -- echo hello
	is "$stdout" hello
	light -- not-there
	is "$status" 127
	light -c '1/0'
	is "$status" 1
	has "$(report .reason)" "ZeroDivisionError: division by zero (line 1)"
}

@test "the report lists what holds, and nothing else" {
	light --verbose -c pass
	is "$(report '.isolation | map(sub(":.*"; "")) | join(" ")')" "landlock seccomp"
	is "$(report .enforced_by.disk)" polling
	[[ $(report .enforced_by.pids) =~ ^(rlimit|cgroup[12])$ ]]
	has "$stderr" "isolation: landlock:"
	lacks "$stderr" userns
}

@test "nothing weaker than asked for: full stays full" {
	jail -c pass
	is "$(report '.isolation[0]')" userns
}

@test "where user namespaces are refused: full fails and names it, landlock runs" {
	for kind in userns eperm mounts newmount; do
		status=0
		"$BUILD/tests/deny-userns" $kind "$SMOLJAIL" run -c 'print(1)' >out.txt 2>err.txt || status=$?
		is "$status $(cat out.txt)" "125 "
		has "$(cat err.txt)" "--isolation landlock needs none of it, and is weaker"
		is "$("$BUILD/tests/deny-userns" $kind "$SMOLJAIL" run --isolation landlock -c 'print(1)')" 1
	done
	status=0
	"$BUILD/tests/deny-userns" userns "$SMOLJAIL" doctor >out.txt || status=$?
	is "$status" 2
	grep -q '^\[ok\] *run.landlock *yes' out.txt
}

@test "a kernel whose Landlock is too old runs nothing, and says why" {
	for version in 1 3 5; do
		status=0
		"$BUILD/tests/old-landlock" $version "$SMOLJAIL" run --isolation landlock -c 'print(1)' >out.txt 2>err.txt || status=$?
		is "$status $(cat out.txt)" "125 "
		has "$(cat err.txt)" "this kernel has version $version"
		has "$(cat err.txt)" E_LANDLOCK_ABI
	done
	status=0
	"$BUILD/tests/old-landlock" 0 "$SMOLJAIL" run --isolation landlock -c 'print(1)' >out.txt 2>err.txt || status=$?
	is "$status $(cat out.txt)" "125 "
	has "$(cat err.txt)" E_LANDLOCK_OFF
	# The oldest that will do; the newer rights are left out.
	is "$("$BUILD/tests/old-landlock" 6 "$SMOLJAIL" run --isolation landlock -c 'print(1)')" 1
	"$BUILD/tests/old-landlock" 5 "$SMOLJAIL" doctor | grep -q '^\[ok\] *run.landlock *no: E_LANDLOCK_ABI'
}

@test "what it cannot keep is refused by name" {
	refuse() {
		light "$@" -c 'print(1)'
		is "$status $stdout" "2 "
	}
	refuse --net loopback
	has "$stderr" "network.mode"
	refuse --net host
	has "$stderr" "network.mode"
	refuse --policy open
	has "$stderr" "network.mode"
	refuse --ro "$PWD/shown:/data"
	has "$stderr" "cannot show a folder under another path"
	echo '{"extends":"python","isolation":"landlock","files":{"hostname":"other"}}' >p.json
	jail --policy ./p.json -c 'print(1)'
	is "$status $stdout" "2 "
	has "$stderr" files.hostname
	echo '{"extends":"python","isolation":"landlock","landlock":"off"}' >p.json
	jail --policy ./p.json -c 'print(1)'
	is "$status $stdout" "2 "
	has "$stderr" "stands on Landlock alone"
}

@test "a part of a writable folder cannot be read-only, so it is refused" {
	[ "$(id -u)" != 0 ] || skip "root has no writable folders in this isolation"
	mkdir shown/inner
	light --rw "$PWD/shown" --ro "$PWD/shown/inner" -c 'print(1)'
	is "$status $stdout" "2 "
	has "$stderr" "cannot keep a part of a writable folder read-only"
}

@test "a policy can ask for it, and its author is told what that means" {
	echo '{"extends":"python","isolation":"landlock"}' >p.json
	jail --policy ./p.json -c 'print(1)'
	is "$stdout" 1
	is "$(report '.isolation | length')" 2
	"$SMOLJAIL" policy check ./p.json | grep -q weak-isolation
	jail --policy ./p.json --isolation full -c 'print(1)'
	is "$(report '.isolation[0]')" userns
}

@test "files of the host: neither contents nor names, nor any change" {
	write_try
	light try.py "read=open('$canary')" "write=open('$canary', 'r+')" "empty=os.open('$canary', os.O_RDONLY | os.O_TRUNC)" \
		"truncate=os.truncate('$canary', 0)" "unlink=os.unlink('$canary')" "rename=os.rename('$canary', '$canary.2')" \
		"take=os.rename('$canary', 'mine')" "put=(open('mine', 'w').close(), os.rename('mine', '$PWD/shown/mine'))" \
		"link=os.link('$canary', 'mine2')" "list=os.listdir('$PWD')" "slash=os.listdir('/')" "home=os.listdir('/home')" \
		"make=open('$PWD/shown/new', 'w')" "mkdir=os.mkdir('$PWD/shown/dir')" "symlink=os.symlink('/', '$PWD/shown/link')" \
		"fifo=os.mkfifo('$PWD/shown/fifo')" "passwd=open('/etc/passwd')" "proc=open('/proc/self/status')" \
		"procs=os.listdir('/proc')" "shm=open('/dev/shm/x', 'w')" "tty=open('/dev/tty')" "exec=os.execv('/usr/bin/id', ['id'])" \
		"climb=open('../../../../etc/hostname')" "tmp=open('/tmp/x', 'w')"
	answers "EACCES EXDEV EPERM" $(seq 24)
	unchanged
	is "$(find shown -mindepth 1)" shown/file
}

@test "owners, modes, times and attributes of the host's files stay" {
	write_try
	light --ro "$PWD/shown" try.py "chmod=os.chmod('$canary', 0)" "chmod2=os.chmod('$PWD/shown/file', 0)" \
		"fchmod=os.fchmod(os.open('$PWD/shown/file', os.O_RDONLY), 0)" "utime=os.utime('$canary', (0, 0))" \
		"futime=os.utime(os.open('$PWD/shown/file', os.O_RDONLY), (0, 0))" "chown=os.chown('$canary', -1, -1)" \
		"xattr=os.setxattr('$canary', 'user.x', b'1')" "getxattr=os.getxattr('$canary', 'user.x')" \
		"watch=libc.inotify_init1(0) < 0 and call(-1)" "lease=__import__('fcntl').fcntl(os.open('$PWD/shown/file', os.O_RDONLY), 1024, 0)"
	lacks "$stdout" done
	unchanged
}

@test "what is shown can be read, and only --rw be written" {
	light --ro "$PWD/shown" -c "print(open('$PWD/shown/file').read().strip())"
	is "$stdout" shown
	write_try
	light --ro "$PWD/shown" try.py "write=open('$PWD/shown/file', 'w')" "make=open('$PWD/shown/new', 'w')" "rm=os.unlink('$PWD/shown/file')"
	answers EACCES 1 2 3
	unchanged
	light --rw "$PWD/shown" -c "open('$PWD/shown/new', 'w').write('made')"
	if [ "$(id -u)" = 0 ]; then
		is "$status" 125
		has "$stderr" E_LIGHT_RW
	else
		is "$status" 0
		is "$(cat shown/new)" made
	fi
}

@test "a folder that root's jail could not read is refused, not shown empty" {
	[ "$(id -u)" = 0 ] || skip "an ordinary user's jail reads what the user reads"
	chmod 0700 shown
	light --ro "$PWD/shown" -c 'print(1)'
	is "$status $stdout" "125 "
	has "$stderr" "$PWD/shown"
}

@test "packages and a project folder are importable, by children too" {
	mkdir pkg "my project"
	echo 'x = "package"' >pkg/thing.py
	echo 'y = "project"' >"my project/other.py"
	echo 'import thing, other, subprocess, sys; print(thing.x, other.y, flush=True)
subprocess.run([sys.executable, "-c", "import thing, other; print(thing.x, other.y)"], check=True)' >"my project/main.py"
	light --packages pkg --dir "my project" "my project/main.py"
	is "$stdout" "$(printf 'package project\npackage project')"
	is "$status" 0
}

@test "no socket of the host is reached: with a path, by name, by datagram, by TCP and UDP" {
	write_try
	python3 - "$PWD" >ready.txt <<-'EOF' &
		import os, socket, sys
		at = sys.argv[1]
		streams = [socket.socket(socket.AF_UNIX) for _ in range(2)]
		streams[0].bind(at + "/stream"); streams[1].bind("\0smoljail-canary-%d" % os.getpid())
		dgram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); dgram.bind(at + "/dgram")
		tcp = socket.socket(); tcp.bind(("127.0.0.1", 0)); tcp.listen()
		for s in streams: s.listen()
		os.chmod(at + "/stream", 0o777); os.chmod(at + "/dgram", 0o777)
		print(os.getpid(), tcp.getsockname()[1], flush=True)
		import select
		print(len(select.select(streams + [dgram, tcp], [], [], 60)[0]), flush=True)
	EOF
	local server=$!
	for _ in $(seq 100); do [ -s ready.txt ] && break; sleep 0.05; done
	read -r pid port <ready.txt
	light --policy shell --ro "$PWD" try.py "stream=socket.socket(socket.AF_UNIX).connect('$PWD/stream')" \
		"name=socket.socket(socket.AF_UNIX).connect('\\0smoljail-canary-$pid')" \
		"dgram=socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '$PWD/dgram')" \
		"pair=socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', '$PWD/dgram')" \
		"raw=socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0].sendto(b'x', '$PWD/dgram')" \
		"again=socket.socketpair()[0].connect('$PWD/stream')" \
		"to=socket.socketpair()[0].sendto(b'x', '$PWD/stream')" \
		"tcp=socket.create_connection(('127.0.0.1', $port))" "tcp6=socket.socket(socket.AF_INET6)" \
		"udp=socket.socket(socket.AF_INET, socket.SOCK_DGRAM)" "netlink=socket.socket(16, 3)" "vsock=socket.socket(40)"
	lacks "$stdout" done
	is "$(wc -l <<<"$stdout")" 12
	kill -0 $server
	is "$(wc -l <ready.txt)" 1
	kill $server
	light -c 'import socket; a, b = socket.socketpair(); a.send(b"in"); print(b.recv(9).decode())'
	is "$stdout" in
	light -c 'import asyncio
async def main(): await asyncio.sleep(0.01); return "loop"
print(asyncio.run(main()))'
	is "$stdout" loop
}

@test "a rule of the policy does not open a network" {
	echo '{"extends":"python","isolation":"landlock","syscalls":{"rules":[
		{"name":"socket","action":"allow"},{"name":"connect","action":"allow"},{"name":"chmod","action":"allow"}]}}' >p.json
	write_try
	jail --policy ./p.json try.py "unix=socket.socket(socket.AF_UNIX)" "inet=socket.socket()" \
		"udp=socket.socket(socket.AF_INET, socket.SOCK_DGRAM)" "chmod=os.chmod('$canary', 0)"
	lacks "$stdout" done
	unchanged
}

@test "processes of the host: no signal, no limit, no priority, no memory" {
	write_try
	sleep 60 &
	local other=$!
	cp /proc/$other/limits limits.before
	light --policy open --net none try.py "kill=os.kill($other, 0)" "term=os.kill($other, signal.SIGTERM)" "init=os.kill(os.getppid(), signal.SIGKILL)" \
		"pidfd=signal.pidfd_send_signal(os.pidfd_open($other), signal.SIGTERM)" "queue=call(129, $other, 15, ctypes.create_string_buffer(128))" \
		"group=os.killpg(os.getpgid($other), 0)" "thread=call(234, $other, $other, 15)" \
		"limit=__import__('resource').prlimit($other, 7, (1, 1))" "cpu=os.sched_setaffinity($other, {0})" \
		"nice=os.setpriority(os.PRIO_PROCESS, $other, 19)" "nice_all=os.setpriority(os.PRIO_USER, 0, 19)" "io=call(251, 3, 0, 0x6000)" \
		"sched=os.sched_setscheduler($other, os.SCHED_IDLE, os.sched_param(0))" \
		"ptrace=call(101, 16, $other, 0, 0)" "memory=call(310, $other, 0, 0, 0, 0, 0)" "own=__import__('fcntl').fcntl(0, 8, $other)" \
		"environ=open('/proc/$other/environ')" "root=os.listdir('/proc/$other/root')" "cwd=os.readlink('/proc/$other/cwd')"
	lacks "$stdout" done
	kill -0 $other
	is "$(cat /proc/$other/limits)" "$(cat limits.before)"
	light -c 'import os, signal; signal.signal(15, signal.SIG_IGN); os.kill(-1, 15); print("all of its own")'
	is "$stdout" "all of its own"
	kill -0 $other
	kill $other
}

@test "its own processes can be signalled" {
	light -c 'import subprocess; p = subprocess.Popen(["sleep", "60"]); p.kill(); print(p.wait())'
	is "$stdout" -9
}

@test "System V, POSIX queues, keys, and other things that all programs of a user share" {
	write_try
	light --policy open --net none try.py "shm=call(29, 1234, 4096, 0o1600)" "sem=call(64, 1234, 1, 0o1600)" "msg=call(68, 1234, 0o1600)" \
		"mq=call(240, b'/smoljail-test', 0o102, 0o600, 0)" "key=call(248, b'user', b'a', b'b', 1, -3)" "keyctl=call(250, 0, -3, 0)" \
		"kcmp=call(312, os.getpid(), os.getpid(), 0, 0, 0)" "perf=call(298, 0, 0, -1, -1, 0)" "sem_open=__import__('_multiprocessing').SemLock(1, 1, 1, '/smoljail', False)"
	lacks "$stdout" done
}

@test "descriptors, environment, signals, umask and terminal of the caller do not come in" {
	cat >look.py <<-'EOF'
		import os, signal
		def is_open(fd):
		    try: os.fstat(fd)
		    except OSError: return False
		    return True
		print([fd for fd in range(64) if is_open(fd)])
		print([n for n in os.environ if "CANARY" in n or n.startswith("SMOLJAIL")])
		print(signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL, signal.pthread_sigmask(signal.SIG_BLOCK, []))
		print(oct(os.umask(0)), os.getgroups() if os.geteuid() >= 0x70000000 else [])
	EOF
	(
		trap '' USR1
		umask 0
		exec 9<"$canary"
		CANARY=1 "$SMOLJAIL" run --isolation landlock look.py >out.txt
	)
	is "$(cat out.txt)" "$(printf "[0, 1, 2]\n[]\nTrue set()\n0o22 []")"
	if [ "$(id -u)" = 0 ]; then
		light -c 'import os; print(os.getuid() >= 0x70000000, os.getuid() == os.geteuid())'
		is "$stdout" "True True"
	fi
}

@test "capabilities: none, and none to be had" {
	write_try
	light try.py "root=os.setuid(0)" "chroot=os.chroot('.')" "mount=call(165, 0, 0, 0, 0, 0)" "userns=call(272, 0x10000000)" "clone=call(56, 0x10000011, 0, 0, 0, 0)"
	lacks "$stdout" done
}

# ---- the end of it -------------------------------------------------------------

# Daemons of each kind: one that waits, and one that goes on forking so as never to be there when it is looked for.
write_daemons() {
	cat >daemons.py <<-'EOF'
		import os, signal, sys, time
		print(os.environ["HOME"], flush=True)
		for comet in (False, True):
		    if os.fork() == 0:
		        os.setsid()
		        if os.fork():
		            os._exit(0)
		        for n in (1, 2, 3, 13, 15):
		            signal.signal(n, signal.SIG_IGN)
		        os.close(1); os.close(2)
		        while not comet:
		            time.sleep(1)
		        while True:
		            try:
		                if os.fork():
		                    os._exit(0)
		            except OSError:
		                pass
		os.mkdir("closed", 0)
		os.makedirs("a/b/c/d")
		time.sleep(0.2)
		print("up", flush=True)
		if sys.argv[1:] == ["wait"]:
		    time.sleep(60)
	EOF
}

# Nobody works in that folder any more.
nobody_in() {
	local left
	for _ in $(seq 100); do
		left=$(find /proc -maxdepth 2 -name cwd -lname "$1*" 2>/dev/null || true)
		[ -z "$left" ] && break
		sleep 0.05
	done
	is "$left" ""
	no_folder "${1%/work}"
}

@test "daemons end with the program, at a time limit, and by a signal to smoljail" {
	write_daemons
	light daemons.py
	has "$stdout" up
	is "$(report .status)" ok
	nobody_in "$(head -n 1 out.txt)"
	light --timeout 1s daemons.py wait
	is "$status" 124
	nobody_in "$(head -n 1 out.txt)"
	"$SMOLJAIL" run --isolation landlock daemons.py wait >out.txt &
	local super=$!
	for _ in $(seq 200); do grep -q up out.txt && break; sleep 0.05; done
	kill -TERM $super
	wait $super || status=$?
	is "$status" 143
	nobody_in "$(head -n 1 out.txt)"
}

@test "SIGKILL of smoljail: its init ends all of it, and removes the folder" {
	write_daemons
	"$SMOLJAIL" run --isolation landlock daemons.py wait >out.txt &
	local super=$!
	for _ in $(seq 200); do grep -q up out.txt && break; sleep 0.05; done
	kill -KILL $super
	wait $super || true
	nobody_in "$(head -n 1 out.txt)"
}

@test "an init that was stopped is woken to end its jail" {
	write_daemons
	"$SMOLJAIL" run --isolation landlock daemons.py wait >out.txt &
	local super=$! init
	for _ in $(seq 200); do grep -q up out.txt && break; sleep 0.05; done
	init=$(tr -d ' ' <"/proc/$super/task/$super/children")
	kill -STOP "$init"
	kill -TERM $super
	wait $super || status=$?
	is "$status" 143
	nobody_in "$(head -n 1 out.txt)"
}

@test "links in the private folder lead nowhere when it is removed" {
	light -c "import os; os.symlink('$PWD/shown', 'shown'); os.symlink('/', 'root'); os.mkdir('x', 0); print(os.getcwd())"
	is "$status" 0
	unchanged
	no_folder "${stdout%/work}"
}

@test "nothing runs, and nothing is left, when the folder cannot be made" {
	[ "$(id -u)" != 0 ] || skip "root takes /tmp"
	mkdir -m 0700 runtime
	XDG_RUNTIME_DIR=$PWD/runtime light -c 'import os; print(os.getcwd())'
	has "$stdout" "$PWD/runtime/smoljail-"
	is "$(ls runtime)" ""
	# A folder of which others could make another one is not taken.
	chmod 0777 runtime
	XDG_RUNTIME_DIR=$PWD/runtime light -c 'import os; print(os.getcwd())'
	lacks "$stdout" runtime
}

# ---- limits ------------------------------------------------------------------------

@test "limits: memory, processes, time, output, one file" {
	light --memory 64M -c 'x = bytearray(1 << 28); import time; time.sleep(5)'
	is "$(report .status)" oom
	light --pids 20 -c 'import os, time
n = 0
try:
    while n < 400:
        if os.fork() == 0: time.sleep(5); os._exit(0)
        n += 1
except BlockingIOError: pass
print("refused" if n < 400 else n)'
	is "$stdout" refused
	light --cpu-time 300ms -c 'while True: pass'
	is "$(report .status)" cpu_limit
	light --output 1K -c 'print("x" * 5000)'
	is "$(report .status)" output_limit
	light --policy python-strict -c 'f = open("f", "wb", 0); f.seek(1 << 30); f.write(b"x")'
	is "$(report .status)" disk_limit
}

@test "private folders past their size end the program" {
	light --disk 1M -c 'import time
for i in range(64):
    open("f%d" % i, "wb").write(bytes(1 << 16)); time.sleep(0.01)
time.sleep(20)'
	is "$status $(report .status)" "137 disk_limit"
	has "$(report .reason)" "disk full"
	echo '{"extends":"python","isolation":"landlock","files":{"work":{"inodes":16},"tmp":{"inodes":16}}}' >p.json
	jail --policy ./p.json -c 'import time
for i in range(100): open("f%d" % i, "w").close()
time.sleep(20)'
	is "$(report .status)" disk_limit
}

@test "a policy that demands control groups gets them, or nothing runs" {
	echo '{"extends":"python","isolation":"landlock","limits":{"enforcement":"cgroup"}}' >p.json
	jail --policy ./p.json -c 'print(1)'
	if [ "$status" = 0 ]; then
		has "$(report .enforced_by.memory)" cgroup
	else
		is "$status $stdout" "125 "
		has "$stderr" E_CGROUP
	fi
}

@test "denied calls are counted with the rule that denied them" {
	light -c 'import os
try: os.chmod("/tmp", 0)
except PermissionError: print("denied")'
	is "$stdout" denied
	is "$(report '.denied[0].rule')" "isolation=landlock"
	has "$(report '.denied[0].what')" chmod
}

@test "programs of the shell, and what os.system starts" {
	light -c 'import os, subprocess
os.system("echo one | tr o O")
print(subprocess.run("echo $((6*7)); ls $HOME | wc -l", shell=True, capture_output=True, text=True).stdout.split())'
	is "$stdout" "$(printf "One\n['42', '0']")"
	light --policy shell -- sh -c 'for i in 1 2; do echo $i; done | sort -r | head -n 1; test -e /etc/passwd && cat /etc/passwd'
	has "$stdout" 2
	lacks "$stdout" root:
}

@test "sessions of a server, for clients that do not say and for those that do" {
	cat >client.py <<-'EOF'
		import sys
		sys.path.insert(0, sys.argv[1])
		import smoljail
		from smoljail._server import Server
		from smoljail import Session
		asked = {"extends": "python", "isolation": "landlock"}
		with Session(policy=asked) as s:
		    print(s.info["isolation"][0].split(":")[0], s.run("x = 41; open('a', 'w').write('a')\nx").value, s.run("x + 1").value)
		    where = s.run("import os\nos.getcwd()").value
		    print(s.run("import os\nos._exit(3)").status, s.run("1 + 1").value)
		import os
		print(os.path.exists(where))
	EOF
	SMOLJAIL=$SMOLJAIL python3 client.py "$BATS_TEST_DIRNAME/../../src/python" >out.txt
	is "$(cat out.txt)" "$(printf 'landlock 41 42\nexit 2\nFalse')"
}

@test "selftest: what this isolation promises holds" {
	status=0
	"$SMOLJAIL" selftest --isolation landlock --policy python >out.txt 2>err.txt || status=$?
	is "$status" 0
	lacks "$(cat out.txt)" FAIL
	grep -q 'PASS *process.supervisor ' out.txt
}
