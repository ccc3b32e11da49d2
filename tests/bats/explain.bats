load helpers

# The first refusal whose `what` begins so, as compact JSON; jq filter of it.
denial() {
	jq -c --arg what "$1" "[.denied[] | select(.what | startswith(\$what))][0] | ${2:-.}" report.json
}

# Runs the code, finds the refusal, applies its flag, then its policy: each time the program ends well.
closes() {
	local what=$1 code=$2 want_flag=$3
	shift 3
	jail "$@" -c "$code"
	is "$(denial "$what" '.allow_flag[0]' | tr -d '"')" "$want_flag"
	if [[ $want_flag != null ]]; then
		mapfile -t flag < <(denial "$what" '.allow_flag[]' | jq -r .)
		"$SMOLJAIL" run "$@" "${flag[@]}" -c "$code" >out.txt 2>err.txt || fail_with "with ${flag[*]}: $(cat err.txt)"
	fi
	denial "$what" '{extends: "python"} * .allow_policy' >more.json
	# Without the options, which would be nearer than the policy.
	"$SMOLJAIL" run --policy ./more.json -c "$code" >out.txt 2>err.txt || fail_with "with $(cat more.json): $(cat err.txt)"
}

@test "a refused connection: the call, the line, the rule and the flag, in four lines" {
	jail --explain -c 'import socket; socket.create_connection(("192.0.2.1", 80))'
	is "$(grep -A3 '^smoljail: denied' err.txt)" 'smoljail: denied: socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP): Network is unreachable
  at:    <string>, line 1: import socket; socket.create_connection(("192.0.2.1", 80))
  by:    filter, rule network.mode=none: the jail has no network
  allow: --net loopback or --net host'
	is "$(grep -c '^smoljail: denied' err.txt)" 1
	is "$(report '.denied[0].where | [.file, .line, .function] | join(" ")')" "<string> 1 <module>"
}

@test "lines of scripts, of standard input, of threads, children, coroutines and functions" {
	cat >lines.py <<-'END'
		import asyncio, ctypes, os, subprocess, sys, threading
		libc = ctypes.CDLL(None)
		class A:
		    def method(self):
		        libc.chroot(b"/method")
		A().method()
		t = threading.Thread(target=lambda: libc.umount2(b"/thread", 0)); t.start(); t.join()
		if os.fork() == 0:
		    libc.acct(b"/fork")
		    os._exit(0)
		os.wait()
		async def co():
		    libc.swapoff(b"/coroutine")
		asyncio.run(co())
		subprocess.run([sys.executable, "-c", "\nimport ctypes\nctypes.CDLL(None).swapon(b'/child', 0)"])
	END
	want='chroot("/method") 5 A.method libc.chroot(b"/method")
umount2("/thread", 0) 7 <lambda> t = threading.Thread(target=lambda: libc.umount2(b"/thread", 0)); t.start(); t.join()
acct("/fork") 9 <module> libc.acct(b"/fork")
swapoff("/coroutine") 13 co libc.swapoff(b"/coroutine")'
	what='.denied[:4][] | [.what, .where.line, .where.function, .where.text] | join(" ")'
	jail lines.py
	is "$(report "$what")" "$want"
	is "$(denial 'swapon("/child"' '[.where.file, .where.line]')" '["<string>",3]'
	"$SMOLJAIL" run --report report.json - <lines.py
	is "$(report "$what")" "$want"
	is "$(report '.denied[0].where.file')" "<stdin>"
}

@test "what pointers point to" {
	jail --policy open --net loopback -c '
		import ctypes, os, socket
		libc = ctypes.CDLL(None)
		libc.mount(b"/a\xff", b"/b\n", b"tmpfs", 0, 0)
		libc.chroot(b"/" + b"x" * 4000)
		libc.pivot_root(ctypes.c_void_p(8), b"/ok")'
	jail -c "$(printf '%s\n' 'import ctypes' 'libc = ctypes.CDLL(None)' 'libc.mount(b"/a\xff", b"/b\n", b"tmpfs", 0, 0)' \
		'libc.chroot(b"/" + b"x" * 4000)' 'libc.pivot_root(ctypes.c_void_p(8), b"/ok")')"
	is "$(denial mount .what)" '"mount(\"/a�\", \"/b \", \"tmpfs\", 0, ...)"'
	[[ $(denial chroot '.what | length') -lt 130 ]]
	is "$(denial pivot_root .what)" '"pivot_root(..., \"/ok\")"'
}

@test "other layers: error, layer, rule and line" {
	mkdir shown; echo x >shown/file; chmod 644 shown/file
	cat >layers.py <<-'END'
		import contextlib, os, subprocess
		quiet = contextlib.suppress(OSError)
		with quiet: open("/data/file", "a")
		with quiet: open("/usr/new", "w")
		open("tool", "w").close(); os.chmod("tool", 0o755)
		with quiet: subprocess.run(["/work/tool"])
		with quiet: os.setpriority(0, 0, -3)
		files = []
		with quiet:
		    while True: files.append(os.open("/dev/null", 0))
		for f in files: os.close(f)
		with quiet: open("big", "wb", 0).write(bytes(1 << 17)); open("big", "ab", 0).write(b"x")
		for i in range(20):
		    with quiet: open(f"/tmp/{i}", "wb").write(bytes(1 << 15))
	END
	jail --ro "$PWD/shown:/data" --open-files 40 --file-size 64K --disk 256K layers.py
	is "$(denial 'open("/data/file")' '[.errno, .layer, .rule, .seen_by, .where.line]')" '["EROFS","mount","files.read: /data","guest",3]'
	is "$(denial 'open("/usr/new")' '[.errno, .layer, .rule]')" '["EROFS","mount","files.root = python, read-only"]'
	is "$(denial 'execve("/work/tool")' '[.errno, .layer, .rule]')" '["EACCES","mount","files.exec_from_writable = false"]'
	is "$(jq -c '[.denied[] | select(.layer == "capability")][0] | [.rule, .allow_with]' report.json)" '["no capabilities",null]'
	is "$(jq -c '[.denied[] | select(.errno == "EMFILE")][0] | [.layer, .rule, .allow_with]' report.json)" \
		'["rlimit","limits.open_files = 40","--open-files 80"]'
	is "$(jq -c '[.denied[] | select(.errno == "EFBIG")][0] | [.layer, .rule, .allow_with]' report.json)" \
		'["rlimit","limits.file_size = 64K","--file-size 128K"]'
	is "$(jq -c '[.denied[] | select(.errno == "ENOSPC")][0] | [.layer, .allow_with]' report.json)" '["mount","--disk 512K"]'
}

@test "limits of processes and memory, by the kernel's own count" {
	[[ $(rung pids) == cgroup* ]] || skip "no control group counts processes here"
	jail --pids 6 -c 'import os, time
for i in range(9):
    if os.fork() == 0: time.sleep(5); os._exit(0)'
	is "$(jq -c '.denied[0] | [.errno, .layer, .rule, .seen_by, .where.line, .allow_flag]' report.json)" \
		'["EAGAIN","cgroup","limits.pids = 6","kernel",3,["--pids","12"]]'
	jail --pids 6 -c 'import time, _thread
for i in range(9): _thread.start_new_thread(time.sleep, (5,))'
	is "$(jq -c '.denied[0] | [.errno, .layer, .rule, .seen_by, .where.line]' report.json)" '["EAGAIN","cgroup","limits.pids = 6","kernel",2]'
	[[ $(rung memory) == cgroup* ]] || skip "no control group counts memory here"
	jail --memory 64M -c 'bytearray(1 << 28)'
	is "$(jq -c '.denied[0] | [.errno, .layer, .rule, .seen_by, .allow_flag]' report.json)" \
		'["ENOMEM","cgroup","limits.memory = 64M","kernel",["--memory","128M"]]'
}

@test "the suggestion closes the loop" {
	mkdir -p host/sub; echo 1,2 >host/data.csv; cp host/data.csv here.csv; chmod -R a+rX .
	closes open "open('$PWD/host/data.csv')" --ro
	closes stat "import os; assert os.path.exists('$PWD/host')" --ro
	closes open 'open("here.csv")' --ro
	closes open "open('$PWD/host/new', 'w')" --rw
	rm host/new
	closes mkdir "import os; os.path.isdir('$PWD/host/newdir') or os.mkdir('$PWD/host/newdir')" --rw
	rmdir host/newdir
	closes socket 'import socket; socket.socket()' --net
	# Needs a host that is on a network itself.
	if [[ $(wc -l </proc/net/route) -gt 1 ]]; then
		closes connect 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.1", 9))' --net --net loopback
	fi
	closes open 'import os; l = [os.open("/dev/null", 0) for i in range(50)]' --open-files --open-files 40
	closes write 'open("f", "wb", 0).write(bytes(1 << 17)); open("f", "ab", 0).write(b"x")' --file-size --file-size 128K
	closes write 'open("f", "wb", 0).write(bytes(1 << 20)); f = open("g", "wb", 0); f.write(bytes(1 << 18)) == 1 << 18 or f.write(bytes(1 << 18))' \
		--disk --disk 1M
	closes execve 'import os, subprocess
open("t", "w").write("#!/bin/sh\n"); os.chmod("t", 0o755); subprocess.run(["/work/t"])' null
	closes ioprio_get 'import ctypes; assert ctypes.CDLL(None).syscall(252, 1, 0) >= 0' null
}

@test "a rule of the policy's own is overruled, and a denied call taken out" {
	echo '{"extends": "python", "syscalls": {"deny": ["mkdir"], "rules": [{"name": "rmdir", "action": "deny"}]}}' >strict.json
	for call in mkdir rmdir; do
		jail --policy ./strict.json -c "import os; os.mkdir('/work/x') if '$call' == 'mkdir' else os.rmdir('/work/y')"
		denial "$call" '{extends: "./strict.json"} * .allow_policy' >more.json
		jail --policy ./more.json -c "import os; os.mkdir('/work/x') if '$call' == 'mkdir' else os.rmdir('/work/y')"
		is "$(denial "$call")" null
	done
}

@test "what is never offered says why" {
	home=$(mktemp -d "$PWD/home.XXXX"); mkdir "$home/.ssh"; echo k >"$home/.ssh/config"; echo k >"$home/server.key"; chmod -R a+rX .
	HOME=$home jail -c "import os
for path in '/etc/shadow', '/proc/kcore', '/sys/kernel', '/', '$home/.ssh/config', '$home/.ssh', '$home/server.key':
    try: open(path)
    except OSError: pass"
	[[ $(report '.denied | length') -ge 5 ]]
	is "$(jq -c '[.denied[] | select(.allow_with or .allow_flag or .allow_policy or (.never | not)) | .what]' report.json)" '[]'
	is "$(denial "open(\"$home/.ssh/config" .never)" "\"it holds a user's keys or passwords\""
	is "$(denial "open(\"$home/server.key" .never)" '"it looks like a private key"'
	ln -s "$home/.ssh/config" innocent
	HOME=$home jail -c 'open("innocent")'
	is "$(denial open .never)" "\"it holds a user's keys or passwords\""
}

@test "a file that the host has not either is no refusal, nor what libraries look for" {
	jail -c 'import os, mimetypes, email.mime.text, encodings.idna
mimetypes.init()
for path in "/no/such/file", "nosuchfile", "/work/x", "/tmp/y":
    try: open(path)
    except OSError: pass
try: import nosuchmodule
except ImportError: pass'
	is "$(report '.denied | length')" 0
	is "$status" 0
}

@test "a program that waits after a refusal" {
	jail --timeout 1 -c 'import ctypes, time
ctypes.CDLL(None).syscall(252, 1, 0)
time.sleep(60)'
	is "$(report .status)" timeout
	has "$stderr" "it may have waited for something that the policy denied: ioprio_get("
	has "$stderr" "in line 2"
}

@test "a million refusals are counted, a few are told, and nothing stalls" {
	jail --explain -c 'import ctypes, os
syscall = ctypes.CDLL(None).syscall
for i in range(200000): syscall(252, i, i)
for i in range(800000):
    try: os.mkdir("/usr/x")
    except OSError: pass
    if i % 100 == 0:
        try: os.mkdir(f"/usr/{i}")
        except OSError: pass
print("end")'
	is "$stdout" end
	is "$(report .denied_total)" 200000
	is "$(denial 'mkdir("/usr/x")' .count)" 800000
	[[ $(report '.denied | length') -le 64 ]]
	[[ $(wc -l <err.txt) -le $((64 * 4 + 2)) ]]
	has "$stderr" "the filter refused 200000 calls in all"
}

@test "whoever does not read standard error keeps nobody waiting" {
	mkfifo pipe
	exec 4<>pipe
	# The pipe is full before the refusal; the program goes on all the same.
	"$SMOLJAIL" run --explain --report report.json -c 'import ctypes, os, time
os.set_blocking(2, False)
for i in range(20):
    try:
        while True: os.write(2, b"x" * 4096)
    except OSError: time.sleep(0.05)
ctypes.CDLL(None).chroot(b"/x")
print("end", flush=True)' >out.txt 2>&4 4>&- 3>&- &
	run=$!
	for i in {1..600}; do
		[[ ! -s out.txt ]] || break
		sleep 0.1
	done
	is "$(cat out.txt)" end
	cat <&4 >err.txt 3>&- &
	reader=$!
	wait "$run"
	exec 4>&-
	kill "$reader"
	is "$(report .denied_total)" 1
}

@test "hostile: frames, texts and tables that lie" {
	jail --explain -c 'import ctypes, os, sys
libc = ctypes.CDLL(None)
def at(address, value): ctypes.c_uint64.from_address(address).value = value
code = sys._getframe().f_code
calls = [155, 163, 165, 166, 167, 168, 170, 171, 159, 164, 305, 103, 153, 101, 310, 311, 312, 272, 308, 298, 321, 248, 249, 250, 303, 304, 300, 301, 179]
lies = [0, 1, 0xdeadbeef, 2**64 - 1, 2**63, 2**63 - 1, id(code)]
for i, call in enumerate(calls):
    # The child may well crash of it, after the call.
    if os.fork() == 0:
        at(id(code) + 16 + i // 2 * 8, lies[i % len(lies)])
        libc.syscall(call, 0, 0, 0, 0, 0)
        os._exit(0)
    os.wait()
evil = compile("libc.acct(b\"/x\")", "/work/" + "\x1b[31m\n\u202e" * 50 + "e" * 5000, "exec")
exec(evil)
def long(): pass
long.__code__ = long.__code__.replace(co_qualname="\x00\x07" + "q" * 10000)
print("end")'
	is "$stdout" end
	jq -e . report.json >/dev/null
	lacks "$stderr" $'\x1b'
	[[ $(denial acct '.where.file | length') -lt 192 ]]
}

@test "hostile: the page of claims is overwritten" {
	cat >forge.py <<-'END'
		import ctypes, os, random
		for line in open("/proc/self/maps"):
		    if "smoljail-claim" in line:
		        start, end = (int(x, 16) for x in line.split()[0].split("-"))
		for round in range(200):
		    data = os.urandom(end - start)
		    if round % 2: data = b"\xff" * 4096 + (round).to_bytes(4, "little") + data[4100:]
		    ctypes.memmove(start, data, end - start)
		    os.write(1, b".")
		note = lambda error, path: (1).to_bytes(4, "little") + error.to_bytes(4, "little") + b"\xff\xff\xff\xff" + b"\xff\xff\xff\x7f" + bytes(4) + path.ljust(256, b"\xff") + b"\x1b[2J" * 8 + b"\n" * 128 + b"f" * 64
		data = (40).to_bytes(4, "little") + b"".join(note(e, p) for e in (2, 30, 13, 1, 24, 27, 28, 101) for p in (b"/etc/shadow\0", b"/var/log\0", b"A" * 256, b"../../x\0"))
		ctypes.memmove(start + 4096, data, len(data))
		os._exit(0)
	END
	jail --explain forge.py
	is "$status" 0
	is "$(report .status)" ok
	jq -e '.denied | length <= 64' report.json >/dev/null
	is "$(jq -c '[.denied[] | select(.seen_by != "guest")]' report.json)" '[]'
	is "$(jq -c '[.denied[] | select((.what | contains("/etc/shadow")) and .allow_flag) | .allow_flag[0]] | unique - ["--disk", "--open-files", "--file-size", "--net"]' report.json)" '[]'
	is "$(jq -c '[.denied[] | select(.what | contains("2J"))]' report.json)" '[]'
	lacks "$stderr" $'\x1b'
}

@test "errors in cycles, whose tracebacks the garbage collector takes apart first" {
	jail -c 'import gc
class Keeps(Exception): pass
def fail():
    try: open("/etc/shadow")
    except OSError as e: me = e; raise Keeps from e
for i in range(50):
    try: fail()
    except Keeps as k: k.cycle = k; k.__cause__.cycle = k
    gc.collect()
print("end")'
	is "$stdout" end
	# Nothing is left of such an error to be told, and the walk along it must not go astray.
	is "$(report .status)" ok
}

@test "commands: what the filter refused" {
	probe --policy shell bpf
	is "$(denial 'bpf(' '[.layer, .seen_by, .where]')" '["filter","kernel",null]'
}
