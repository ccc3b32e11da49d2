# trace.bats - smoljail policy trace: what a program did, allowed or not

load helpers

# `stdout`, `stderr`, `status` of a trace, and its JSON in trace.json.
trace() {
	status=0
	"$SMOLJAIL" policy trace -o trace.json "$@" >out.txt 2>err.txt || status=$?
	stdout=$(cat out.txt)
	stderr=$(cat err.txt)
}

# Operations that match a jq condition, as JSON.
ops() {
	jq -c "[.operations[] | select($1)]" trace.json
}

@test "a trace has calls, files, programs and addresses, with counts and lines" {
	cat >t.py <<-'END'
		import os, socket, subprocess
		def save():
		    with open("kept.txt", "w") as f:
		        f.write("x" * 100000)
		for _ in range(3):
		    save()
		os.unlink("kept.txt")
		print(subprocess.run(["/usr/bin/true"]).returncode)
		s = socket.socket(socket.AF_UNIX)
		s.bind("/work/door")
	END
	trace t.py
	is "$status $stdout" "0 0"
	is "$(jq -r .schema trace.json)" smoljail.trace/1
	is "$(ops '.kind == "file" and (.what | test("kept.txt.*writing"))' | jq -c '.[] | [.count, .action, .where.line, .where.function]')" \
		'[3,"allowed",3,"save"]'
	is "$(ops '.what == "remove \"kept.txt\""' | jq '.[].where.line')" 7
	is "$(ops '.kind == "program"' | jq -r '.[].what')" 'run "/usr/bin/true"'
	is "$(ops '.kind == "host"' | jq -r '.[].what')" 'bind "/work/door"'
	is "$(ops '.kind == "call" and .syscall == "bind"' | jq '.[].count')" 1
	[ "$(jq .peaks.disk.peak trace.json)" -ge 100000 ] || fail_with "the file was gone at the end, and is not counted"
	[ "$(jq .peaks.memory.peak trace.json)" -gt 0 ]
	is "$(jq -r .report.status trace.json)" ok
	has "$stderr" 'bind "/work/door"'
	has "$stderr" "system calls"
}

@test "what is denied stays denied, with the same answer as without a trace" {
	code='import os, socket, ctypes
for act in (lambda: socket.socket(), lambda: os.mknod("d", 0o600 | 0o020000), lambda: os.setxattr(".", "user.a", b"1")):
    try: act(); print("works")
    except OSError as e: print(e.errno)
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(435, 0, 0), ctypes.get_errno(), libc.syscall(1000), ctypes.get_errno())'
	jail -c "$code"
	plain=$stdout
	denied=$(report '[.denied[] | [.syscall, .count, .rule]] | sort' | jq -c .)
	trace -c "$code"
	is "$stdout" "$plain"
	is "$(jq -c '[.report.denied[] | [.syscall, .count, .rule]] | sort' trace.json)" "$denied"
	is "$(ops '.syscall == "socket" and .action == "denied"' | jq -r '.[].errno')" ENETUNREACH
	is "$(ops '.syscall == "clone3"' | jq -r '.[0] | .action, .rule' | tr '\n' ' ')" "enosys @never "
}

@test "threads, processes, signals and sleep work under a trace" {
	trace -c 'import threading, subprocess, signal, time, multiprocessing, asyncio, errno
hits = []
signal.signal(signal.SIGALRM, lambda *a: hits.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
end = time.monotonic() + 0.3
while time.monotonic() < end:
    open("/dev/null").close()
while True:
    try: # this one, too, can be interrupted while the tracer is asked
        signal.setitimer(signal.ITIMER_REAL, 0)
        break
    except OSError as e:
        assert e.errno == errno.EINTR, e
threads = [threading.Thread(target=lambda: [open("/dev/null").close() for _ in range(200)]) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(subprocess.check_output(["echo", "hi"]), len(hits) > 0, asyncio.run(asyncio.sleep(0.01, "slept")))'
	is "$stdout" "b'hi\\n' True slept"
	is "$status" 0
}

@test "where the kernel gives no listener nothing is traced, and nothing runs" {
	run "$BUILD/tests/with-listener" "$SMOLJAIL" policy trace -c 'print("ran")'
	is "$status" 125
	has "$output" E_TRACE_LISTENER
	has "$output" "nothing was run"
	lacks "$output" ran.
	[[ $output != ran* && $output != *$'\n'ran* ]]
}

@test "the exit status is the program's, and limits are told" {
	trace -c 'import sys; sys.exit(3)'
	is "$status" 3
	trace --output 1K -c 'print("x" * 5000)'
	is "$status" 137
	is "$(jq .peaks.output.reached trace.json)" true
	has "$stderr" "output      1.0 KiB of 1.0 KiB: limit reached"
	run "$SMOLJAIL" policy trace
	is "$status" 2
	has "$output" "nothing to run"
	run "$SMOLJAIL" policy trace -o /nonexistent/x -c 'print(1)'
	is "$status" 2
	has "$output" "-o: cannot write"
}

@test "what the program says of itself reaches the terminal as plain text" {
	trace -c 'open("a\x1b[2Jb\u202e", "w").close()'
	[[ ! $stderr =~ $'\x1b' ]]
	has "$stderr" 'open "a'
	jq -e '.operations[] | select(.what | test("a.*b"))' trace.json >/dev/null
}
