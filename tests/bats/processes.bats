# processes.bats - nothing outlives the program, the launcher or the caller

load helpers

# Host pids of the jails below a supervisor.
jail_pids() {
	local pid
	for pid in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		echo "$pid"
		jail_pids "$pid"
	done
}

gone() {
	local pid
	for _ in $(seq 100); do
		local left=""
		for pid in "$@"; do
			# A zombie has ended; only its new parent has not looked yet.
			grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$pid/status" && left="$left $pid"
		done
		[ -z "$left" ] && return 0
		sleep 0.05
	done
	fail_with "still there:$left"
}

start_sleeper() {
	"$SMOLJAIL" run --ro "$PROBE:/probe" -- sh -c '/probe daemon; echo up; sleep 60' >up.txt &
	super=$!
	for _ in $(seq 100); do grep -q up up.txt && break; sleep 0.05; done
	grep -q up up.txt
	mapfile -t inside < <(jail_pids $super)
	[ "${#inside[@]}" -ge 3 ]
}

@test "a daemon that holds the streams is gone when the program ends" {
	jail -c 'import subprocess; subprocess.Popen(["sleep", "60"], start_new_session=True); print("done")'
	is "$stdout" done
	is "$(report .status)" ok
}

@test "a double fork does not escape" {
	probe daemon
	is "$stdout" ok
}

@test "SIGKILL of the launcher ends the whole jail" {
	start_sleeper
	kill -9 $super
	wait $super || true
	gone "${inside[@]}"
}

@test "SIGTERM of the launcher ends the whole jail and says so" {
	"$SMOLJAIL" run --report report.json -c 'print(1, flush=True); import time; time.sleep(60)' >up.txt 2>err.txt &
	local super=$! code=0
	for _ in $(seq 100); do [ -s up.txt ] && break; sleep 0.05; done
	kill -TERM $super
	wait $super || code=$?
	is "$code" 143
	is "$(report .status)" signal
	has "$(cat err.txt)" SIGTERM
}

@test "Ctrl-C interrupts the program, a second one kills" {
	# A shell without job control starts background jobs with SIGINT ignored.
	start() {
		python3 - "$SMOLJAIL" "$1" "$2" <<-'EOF'
			import signal, subprocess, sys, time
			smoljail, code, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
			p = subprocess.Popen([smoljail, "run", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
			p.stdout.readline()
			for _ in range(times):
			    p.send_signal(signal.SIGINT)
			    time.sleep(0.3)
			out, err = p.communicate(timeout=20)
			print(p.returncode, out.strip(), err.strip().splitlines()[-1:])
		EOF
	}
	stdout=$(start $'import time\ntry:\n print(1, flush=True)\n time.sleep(60)\nexcept KeyboardInterrupt: print("caught")' 1)
	is "$stdout" "0 caught []"
	stdout=$(start $'print(1, flush=True)\nimport time, signal\nsignal.signal(2, signal.SIG_IGN)\ntime.sleep(60)' 2)
	[[ $stdout == 130* || $stdout == 137* ]] || fail_with "second"
}

@test "kill -1 from inside kills only the jail" {
	jail -- sh -c 'sleep 50 & kill -9 -1; echo alive'
	[ "$(report .ran)" = yes ]
	kill -0 $$
}

@test "kill(0), kill of the parent, PR_SET_PDEATHSIG do no harm" {
	jail -c 'import os, signal
signal.signal(15, lambda *a: print("got it"))
os.kill(0, 15)
try: os.kill(os.getppid(), 9)
except OSError as e: print("refused")
print("alive")'
	has "$stdout" "got it"
	has "$stdout" alive
	is "$(report .status)" ok
}

@test "zombies are reaped by init" {
	jail -c 'import os, time
for _ in range(20):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
time.sleep(0.2)
print(len([p for p in os.listdir("/proc") if p.isdigit()]))'
	is "$stdout" 1
}

@test "two hundred runs, eight at a time, and not one goes wrong" {
	seq 200 | xargs -P 8 -I{} "$SMOLJAIL" run -c 'print({} * 2)' >out.txt
	is "$(sort -n out.txt | tr '\n' ' ')" "$(seq 2 2 400 | tr '\n' ' ')"
}

@test "twenty launchers killed at any moment leave nothing after one more run" {
	local ours left # others have groups here, too, that come and go
	for i in $(seq 20); do
		"$SMOLJAIL" run -c 'import time; time.sleep(60)' &
		pids[i]=$!
	done
	for i in $(seq 20); do
		sleep "0.0$((i % 10))"
		kill -9 "${pids[i]}"
		wait "${pids[i]}" || true
	done
	ours=$(IFS='|' && echo "${pids[*]}")
	for _ in $(seq 50); do # their jails may still be dying when a run looks
		jail -c pass
		is "$status" 0
		left=$(find /sys/fs/cgroup -maxdepth 6 -regextype posix-extended -regex ".*/smoljail-($ours)-[^/]*" 2>/dev/null) || true
		[ -z "$left" ] && break
		sleep 0.1
	done
	is "$left" ""
}
