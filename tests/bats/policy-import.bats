# policy-import.bats - smoljail policy import, export

load helpers

PROFILES=$(cd "$BATS_TEST_DIRNAME/../oci" && pwd)

@test "a profile becomes a policy that checks clean and runs Python" {
	"$SMOLJAIL" policy import -o p.json --name from-docker --kernel 6.1 --arch amd64 "$PROFILES/features.json" 2>notes
	[ "$(jq -r .name p.json)" = from-docker ]
	grep -q '^note: syscalls: the profile allows calls that no policy can allow; they stay refused: .*ptrace' notes
	grep -q '^note: listenerPath: .*\[oci-ignored\]$' notes
	run "$SMOLJAIL" policy check p.json
	[ "$status" = 0 ]
	jail --policy p.json -c 'print(6*7)'
	is "$stdout" 42
}

@test "a call that the profile ends is the end of the jail, one that it refuses has its error" {
	"$SMOLJAIL" policy import -o p.json --kernel 6.1 --arch amd64 "$PROFILES/allow.json" 2>notes
	grep -q '^note: linux.seccomp.defaultAction: ' notes
	jail --policy p.json -c 'import os; os.mkdir("x")'
	has "$stderr" "Read-only file system"
	jail --policy p.json -c 'import ctypes; ctypes.CDLL(None).sched_getcpu(); ctypes.CDLL(None).syscall(309, 0, 0, 0)'
	is "$(report .status)" violation
}

@test "a policy goes out as a profile and comes back with the same meaning" {
	for policy in python-strict python shell; do
		"$SMOLJAIL" policy export $policy >oci.json
		"$SMOLJAIL" policy export --format docker -o docker.json $policy
		[ "$(jq -r '.architectures | length' oci.json)" = 1 ]
		[ "$(jq -r '.archMap | length' docker.json)" = 1 ]
		[ "$(jq -c .syscalls oci.json)" = "$(jq -c .syscalls docker.json)" ]
		"$SMOLJAIL" policy import -o back.json docker.json 2>/dev/null
		"$SMOLJAIL" policy export back.json >again.json
		# Entries may be cut differently; the calls that are allowed whatever their arguments may not.
		allowed='[.syscalls[] | select(.action == "SCMP_ACT_ALLOW" and (.args | length) == 0) | .names[]] | sort'
		[ "$(jq -c "$allowed" oci.json)" = "$(jq -c "$allowed" again.json)" ]
	done
}

@test "the printed profile runs through jq, and the imported one through Python, whatever stands in it" {
	printf '{"defaultAction": "SCMP_ACT_ERRNO", "\\u001b]0;x\\u0007": 1, "syscalls": [{"names": ["\\u001b[31m"], "action": "SCMP_ACT_ALLOW"}]}' >x.json
	run "$SMOLJAIL" policy import x.json
	[ "$status" = 0 ]
	[[ $output != *$'\e'* ]]
}

@test "what is not a profile is refused with its place" {
	echo '{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["open"], "action": "SCMP_ACT_SING"}]}' >x.json
	run "$SMOLJAIL" policy import x.json
	[ "$status" = 2 ]
	[[ $output == *"syscalls[0].action"*SCMP_ACT_SING* ]]
	mkfifo fifo
	head -c 2000000 /dev/zero >large
	for file in fifo large . /nonexistent; do
		run "$SMOLJAIL" policy import $file
		[ "$status" = 2 ]
		[[ $output == *"cannot read \"$file\""* ]]
	done
}

@test "options of bubblewrap become a policy" {
	echo hello >file
	"$SMOLJAIL" policy import -o p.json --from bwrap-args -- --unshare-all --ro-bind "$PWD" /data --setenv A b --hostname box sh 2>notes
	[ ! -s notes ]
	# shellcheck disable=SC2016 # for the shell inside
	jail --policy p.json -- sh -c 'cat /data/file; echo $A; hostname'
	is "$stdout" "$(printf 'hello\nb\nbox')"
	run "$SMOLJAIL" policy import --from bwrap-args -- --dev-bind / /
	[ "$status" = 2 ]
	[[ $output == *"no device of the host"* ]]
}

@test "import and export refuse wrong use" {
	for args in "import" "import a b" "import --from x a" "import --from bwrap-args a" "import a -- b" \
		"import --kernel six $PROFILES/allow.json" "import --caps a,,b $PROFILES/allow.json" "import -o /nonexistent/x $PROFILES/allow.json" \
		"export --format x" "export nothing" "export -o /nonexistent/x" "export a b"; do
		# shellcheck disable=SC2086 # several arguments
		run "$SMOLJAIL" policy $args
		[ "$status" = 2 ] || { echo "$args: $status"; return 1; }
		[[ $output == *"smoljail: "* ]]
	done
}
