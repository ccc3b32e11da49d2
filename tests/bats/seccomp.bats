# seccomp.bats - what the filter refuses under every policy, and how the report tells

load helpers

policies="python python-data shell open"

@test "dangerous calls are refused under every policy" {
	for policy in $policies; do
		for act in io-uring bpf keyctl userfaultfd perf handle pidfd-getfd process-vm seccomp-listener reboot "personality 0x0400000" sched-fifo; do
			# shellcheck disable=SC2086 # the act and its argument
			probe --policy $policy $act
			[[ $stdout =~ EPERM|ENOSYS ]] || fail_with "$policy: $act: $stdout"
		done
	done
}

@test "the terminal cannot be fed, with high bits or without" {
	for policy in $policies; do
		for act in tiocsti "tiocsti 0x100000000" tioclinux; do
			# shellcheck disable=SC2086
			probe --policy $policy $act
			is "$stdout" EPERM
		done
	done
}

@test "the 32-bit entry kills, the x32 one does not exist" {
	[ "$(uname -m)" = x86_64 ] || skip "x86-64 only"
	probe int80
	lacks "$stdout" reached
	is "$(report .status)" violation
	probe x32
	[[ $stdout == ENOSYS || $(report .status) == violation ]] || fail_with x32
}

@test "unknown numbers answer ENOSYS" {
	for nr in 1000 5000 600; do
		probe syscall $nr
		is "$stdout" ENOSYS
	done
}

@test "no_new_privs stays, capabilities cannot come back" {
	probe --policy open unset-nnp
	[[ $stdout =~ EINVAL|EPERM ]]
	probe --policy open capset
	is "$stdout" EPERM
	probe bounding
	is "$stdout" 0
}

@test "denied calls are counted by name and arguments" {
	probe bpf
	is "$(report '.denied[] | select(.syscall == "bpf") | .count')" 1
	jail -c 'import ctypes
libc = ctypes.CDLL(None)
for _ in range(5): libc.syscall(321, 5, 0, 0)'
	is "$(report '.denied[] | select(.syscall == "bpf") | .count')" 5
}

@test "a flood of denied calls neither floods the report nor hangs" {
	jail --timeout 60 -c 'import ctypes
libc = ctypes.CDLL(None)
for i in range(20000): libc.syscall(321, i, 0, 0)
print("end")'
	is "$stdout" end
	[ "$(report '.denied | length')" -le 64 ]
	is "$(report .denied_total)" 20000
}

@test "python-strict runs nothing but the interpreter" {
	jail --policy python-strict -c 'import json, re, math; print(json.dumps({"a": math.pi > 3}))'
	is "$stdout" '{"a": true}'
	jail --policy python-strict -c 'import os
for f in (lambda: os.fork(), lambda: os.execv("/bin/true", ["true"]), lambda: os.posix_spawn("/bin/true", ["true"], {})):
    try: f(); print("worked")
    except OSError as e: print("refused")'
	is "$stdout" $'refused\nrefused\nrefused'
	jail --policy python-strict -- true
	[ "$status" = 125 ] || [ "$status" = 126 ]
	[ "$(report .status)" != ok ]
}

@test "counts of allowed calls stay below their bounds" {
	[ "$("$SMOLJAIL" policy show --expand python-strict | awk 'END { print $1 }')" -le 75 ]
	[ "$("$SMOLJAIL" policy show --expand python | awk 'END { print $1 }')" -le 190 ]
}

@test "where somebody else listens already, calls are refused all the same, with their own errno" {
	status=0
	"$BUILD/tests/with-listener" "$SMOLJAIL" run --report report.json -c 'import socket, ctypes
try: socket.socket()
except OSError as e: print(e)
print(ctypes.CDLL(None, use_errno=True).syscall(321, 5, 0, 0), ctypes.get_errno())' >out.txt || status=$?
	is "$status" 0
	is "$(cat out.txt)" $'[Errno 101] Network is unreachable\n-1 1'
	is "$(report .denied_counted)" false
	is "$(report .status)" ok
}
