# limits.bats - each limit strikes, is named, and harms nobody else

load helpers

@test "memory: a bomb ends as oom with exit 137 and a line" {
	jail --memory 64M -c 'x = []
while True: x.append(bytearray(b"1") * 1000000)'
	is "$(report .status)" oom
	is "$status" 137
	has "$stderr" "smoljail: stopped: out of memory (limit 64M"
}

@test "memory: shared memory, memory files and tmpfs count" {
	probe --memory 64M --policy open memfd-fill
	[[ $(report .status) == oom || $stdout == E* ]] || fail_with "not stopped"
	probe --memory 64M --policy open fill-many /dev/shm
	[[ $(report .status) == oom || $stdout == ENOSPC ]] || fail_with "not stopped"
}

@test "memory: a program below the limit is left alone" {
	jail --memory 256M -c 'x = bytearray(100 << 20); print(len(x))'
	is "$stdout" 104857600
	is "$(report .status)" ok
	[ "$(report .memory_peak)" -gt 100000000 ]
}

@test "wall clock: timeout, exit 124, the output so far is kept" {
	jail --timeout 1 -c 'print("so far")
while True: pass'
	is "$status" 124
	is "$(report .status)" timeout
	is "$stdout" "so far"
	has "$stderr" "smoljail: stopped: "
}

@test "wall clock: a sleeper, and one that ignores every signal" {
	jail --timeout 0.5 -c 'import time; time.sleep(60)'
	is "$(report .status)" timeout
	probe --timeout 0.5 ignore-signals
	is "$(report .status)" timeout
	is "$stdout" ready
}

@test "wall clock: SIGSTOP of oneself" {
	probe --timeout 0.5 stop-self
	is "$(report .status)" timeout
}

@test "CPU time over all processes" {
	jail --cpu-time 1 --timeout 30 -c 'import os
for _ in range(20):
    if os.fork() == 0:
        import time
        while time.process_time() < 0.3: pass
        os._exit(0)
    os.wait()
print("all")'
	is "$(report .status)" cpu_limit
	is "$status" 124
	lacks "$stdout" all
}

@test "processes: forks and threads are refused at the limit" {
	probe --pids 20 forks
	has "$stdout" EAGAIN
	[ "${stdout%% *}" -lt 20 ]
	probe --pids 20 threads
	has "$stdout" EAGAIN
	[ "${stdout%% *}" -lt 20 ]
}

@test "processes: a fork bomb ends with the jail" {
	probe --pids 30 --timeout 2 fork-bomb
	[[ $(report .status) =~ timeout|pids_limit|oom ]] || fail_with "ended otherwise"
}

@test "processes: two jails do not share a limit" {
	"$SMOLJAIL" run --pids 16 --ro "$PROBE:/probe" -- /probe forks >a.txt &
	"$SMOLJAIL" run --pids 16 --ro "$PROBE:/probe" -- /probe forks >b.txt &
	wait
	[ "$(cut -d' ' -f1 a.txt)" -ge 10 ]
	[ "$(cut -d' ' -f1 b.txt)" -ge 10 ]
}

@test "disk: size and inodes of the writable folders" {
	probe --disk 8M fill-many /work
	is "$stdout" ENOSPC
	probe fill-many /tmp
	is "$stdout" ENOSPC
	probe inodes /tmp
	is "$stdout" ENOSPC
	probe inodes /work
	is "$stdout" ENOSPC
}

@test "disk: a program that dies of a full disk is disk_limit" {
	jail --disk 4M -c 'open("f","wb").write(b"x" * 8000000)'
	is "$(report .status)" disk_limit
	has "$stderr" "No space left"
}

@test "one file's size" {
	jail --policy /dev/stdin --memory 512M -c 'open("f","wb").write(b"x" * 5000000)' <<<'{"name":"t","extends":"python","limits":{"file_size":"1M"}}' || true
	cat >p.json <<<'{"name":"t","extends":"python","limits":{"file_size":"1M"}}'
	jail --policy ./p.json -c 'open("f","wb").write(b"x" * 5000000)'
	[ "$status" -ne 0 ]
	[[ $(report .status) =~ disk_limit|error ]] || fail_with "wrong status"
}

@test "open files" {
	cat >p.json <<<'{"name":"t","extends":"python","limits":{"open_files":64}}'
	probe --policy ./p.json open-files
	is "$stdout" "64 EMFILE"
}

@test "no core files, for no handler either, and no limit can be raised" {
	probe core
	is "$stdout" 1
	jail -c 'import resource
try: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (OSError, ValueError): print("refused", resource.getrlimit(resource.RLIMIT_CORE))'
	is "$stdout" "refused (1, 1)"
	probe raise-limits
	is "$stdout" none
}

@test "deep recursion in C is a signal, in Python an exception" {
	jail -c 'def f(): f()
f()'
	is "$(report .status)" error
	is "$(report .error.type)" RecursionError
}

@test "enforced_by names how each limit is held" {
	jail -c pass
	for limit in memory pids cpu wall output disk; do
		[[ $(report ".enforced_by.$limit") =~ ^(cgroup1|cgroup2|rlimit|polling|timer|tmpfs|supervisor|none)$ ]] ||
			fail_with "$limit: $(report ".enforced_by.$limit")"
	done
}

@test "enforcement cgroup fails closed where no cgroup can be written" {
	cat >p.json <<<'{"name":"t","extends":"python","limits":{"enforcement":"cgroup"}}'
	jail --policy ./p.json -c 'print(1)'
	if [[ $(rung memory) == cgroup* && $(rung pids) == cgroup* && $(rung cpu) == cgroup* ]]; then
		is "$status" 0
	else
		is "$status" 125
		is "$stdout" ""
		is "$(report .status)" setup_error
		is "$(report .ran)" no
		has "$stderr" cgroup
	fi
}
