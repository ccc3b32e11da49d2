# policy_tools.bats - smoljail policy explain, diff, score, test, new: tools for authors of policies

load helpers

@test "explain names the rule, its reason, the effect and the flag" {
	run "$SMOLJAIL" policy explain python socket AF_INET SOCK_STREAM
	[ "$status" = 0 ]
	[[ $output == "socket(AF_INET, SOCK_STREAM, 0) under \"python\": refused with ENETUNREACH"* ]]
	[[ $output == *"network.mode=none"* && $output == *"the jail has no network"* && $output == *"--net loopback"* ]]
	run "$SMOLJAIL" policy explain shell clone 0x10000011
	[[ $output == *"CLONE_NEWUSER"* && $output == *"refused under every policy"* ]]
}

@test "what explain says of a call is what a jail answers" {
	# call number, arguments, and the errno that explain names
	for question in "mount 0 0 0" "unshare CLONE_NEWUSER" "socket AF_ALG SOCK_SEQPACKET" "socket AF_INET SOCK_STREAM" "personality 8" "mseal 0"; do
		# shellcheck disable=SC2086 # several words
		"$SMOLJAIL" policy explain --json python $question >said.json
		words=$(jq -r .number said.json)
		for word in ${question#* }; do
			case $word in
			CLONE_NEWUSER) word=0x10000000 ;;
			AF_ALG) word=38 ;;
			AF_INET) word=2 ;;
			SOCK_SEQPACKET) word=5 ;;
			SOCK_STREAM) word=1 ;;
			esac
			words="$words $word"
		done
		# shellcheck disable=SC2086
		probe --policy python syscall $words
		is "$stdout" "$(jq -r '.rules[0].errno' said.json)"
		if [ "$stdout" != ENOSYS ]; then
			is "$(report '.denied[0].rule')" "$(jq -r '.rules[0].rule' said.json)"
		fi
	done
}

@test "explain lists all rules of a call without arguments" {
	run "$SMOLJAIL" policy explain shell ioctl
	[ "$status" = 0 ]
	[[ $output == *"The first line that fits decides"* && $output == *"1. argument 1 is TIOCSTI"* && $output == *"all else: refused with EPERM"* ]]
}

@test "explain and diff refuse what they do not understand" {
	for args in "explain" "explain python" "explain python sockt" "explain python socket AF_INTE" "explain python getpid 1" \
		"explain nopolicy read" "explain --jso python read" "diff" "diff python" "diff python nopolicy" "diff python shell open"; do
		# shellcheck disable=SC2086
		run "$SMOLJAIL" policy $args
		[ "$status" = 2 ]
		[[ $output == "smoljail: "* ]]
	done
}

@test "diff is silent about texts, and tells meanings" {
	run "$SMOLJAIL" policy diff python python
	[ "$status" = 0 ]
	"$SMOLJAIL" policy show python >same.json
	run "$SMOLJAIL" policy diff python same.json
	[ "$status" = 0 ]
	[[ $output == *"no difference"* ]]
	run "$SMOLJAIL" policy diff python-strict python
	[ "$status" = 1 ]
	[[ $output == *"could newly"* && $output == *fork* && $output == *"limits.memory: 512M instead of 256M"* ]]
	"$SMOLJAIL" policy diff --json open python >d.json || true
	[ "$(jq -r .same d.json)" = false ]
	[ "$(jq '.more | length' d.json)" = 0 ]
	[ "$(jq '[.less[] | select(.kind == "network")] | length' d.json)" = 1 ]
}

@test "a hostile policy cannot write to the terminal by any verb" {
	printf '{"name": "x", "syscalls": {"rules": [{"name": "kill", "action": "deny", "reason": "\\u001b[31m\\u009b31m\\nnote: fine"}]}}' >p.json
	for args in "show p.json" "show --expand p.json" "explain p.json kill" "explain p.json kill 1" "explain --json p.json kill" "diff python p.json"; do
		# shellcheck disable=SC2086
		run "$SMOLJAIL" policy $args
		[[ $output != *$'\e'* && $output != *$'\xc2\x9b'* ]] || { echo "$args"; return 1; }
	done
}

@test "check gives a reason and a reference for each dangerous grant" {
	echo '{"extends": "python", "syscalls": {"allow": ["ptrace"], "rules": [{"name": "socket", "action": "allow"}]}}' >p.json
	run "$SMOLJAIL" policy check p.json
	[ "$status" = 0 ]
	[[ $output == *"[af-alg]"* && $output == *CVE-2019-8912* && $output == *"[af-vsock]"* && $output == *"[af-packet]"* ]]
	[[ $output == *"ptrace is refused under every policy"*CVE-2019-13272*"[never-allowed]"* ]]
	[ "$(grep -c '^note: ' <<<"$output")" = "$(grep -c '^note: .*; see ' <<<"$output")" ]
}

@test "score orders the shipped policies, and its lines add up" {
	run "$SMOLJAIL" policy score
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 5 ]
	[ "$output" = "$(sort -n <<<"$output")" ]
	"$SMOLJAIL" policy score --json python open | jq -s -e '.[] | (.exposure - ([.missing[].points] | add)) | fabs < 0.001'
	"$SMOLJAIL" policy score python >lines
	[ "$(tail -n +2 lines | awk '{ print $1 }')" = "$(tail -n +2 lines | awk '{ print $1 }' | sort -rn)" ]
	run "$SMOLJAIL" policy score python nopolicy
	[ "$status" = 2 ]
}

@test "test holds a policy against cases, by its filter and in a jail, with the same answers" {
	cat >good.tests <<-'END'
		# what the policy is for
		openat AT_FDCWD 0 O_RDONLY	= allow
		socket AF_INET SOCK_STREAM	= ENETUNREACH	# no network
		socket AF_UNIX SOCK_STREAM	= allow
		clone CLONE_NEWUSER|SIGCHLD	= EPERM
		mount				= EPERM
		mseal				= ENOSYS
		uselib				= kill
		exit_group 3			= allow
	END
	for live in "" --live; do
		# shellcheck disable=SC2086 # an option or nothing
		run "$SMOLJAIL" policy test $live python good.tests
		[ "$status" = 0 ] || { echo "$output"; return 1; }
		[[ $output == "good.tests: 8 cases "*", 0 not as wanted"* ]]
	done
	printf 'getpid = allow\nfork = allow\nsocket AF_UNIX SOCK_STREAM = allow\nsocket AF_ALG = EPERM\n' >strict.tests
	for live in "" --live; do
		# shellcheck disable=SC2086
		run "$SMOLJAIL" policy test $live python-strict strict.tests
		[ "$status" = 1 ]
		is "${lines[0]}" "strict.tests:2: fork(): wanted allow, got EPERM (default)"
		is "${lines[1]}" "strict.tests:3: socket(AF_UNIX, SOCK_STREAM, 0): wanted allow, got EPERM (default)"
		is "${lines[2]}" "strict.tests:4: socket(AF_ALG, 0, 0): wanted EPERM, got EAFNOSUPPORT (network.mode=none)"
	done
	"$SMOLJAIL" policy test --json python-strict strict.tests >t.json || true
	[ "$(jq -r .wrong t.json)" = 3 ]
}

@test "test refuses cases that it does not understand, with their line" {
	printf 'getpid = allow\nforkk = allow\n' >bad.tests
	run "$SMOLJAIL" policy test python bad.tests
	[ "$status" = 2 ]
	[[ $output == *"bad.tests:2: "*forkk* ]]
	for args in "test" "test python" "test python /nonexistent" "test nopolicy bad.tests" "test --liv python bad.tests"; do
		# shellcheck disable=SC2086
		run "$SMOLJAIL" policy $args
		[ "$status" = 2 ]
	done
}

@test "new writes a policy that check accepts, for each kind, and never overwrites" {
	mkdir data out
	for kind in snippets scripts packages shell; do
		"$SMOLJAIL" policy new --kind $kind --read data:/data --memory 200M --time 20s $kind.json 2>said
		run "$SMOLJAIL" policy check $kind.json
		is "$output" "$kind.json: ok, 0 notes"
		is "$(jq -r '.files.read[0]' $kind.json)" "$PWD/data:/data"
		[ "$(jq -r '.comment | length' $kind.json)" -ge 2 ]
	done
	jail --policy ./scripts.json -c 'import os; print(os.listdir("/data"))'
	is "$stdout" "[]"
	cp shell.json before.json
	run "$SMOLJAIL" policy new --kind snippets shell.json
	[ "$status" = 2 ]
	[[ $output == *"is there already"*--force* ]]
	cmp shell.json before.json
	run "$SMOLJAIL" policy new --kind snippets --write out --force shell.json
	[ "$status" = 0 ]
	[[ $output == *"[host-write]"* ]]
	is "$(jq -r '.extends + " " + .files.write[0]' shell.json)" "python-strict $PWD/out:/out"
}

@test "new takes its answers from standard input, and empty ones as defaults" {
	printf 'shell\n/srv/a:/a /srv/b\n\nloopback\n1G 2m\n' | "$SMOLJAIL" policy new >p.json
	is "$(jq -r '[.extends, .files.read[1], .network.mode, .limits.memory, .limits.wall] | join(" ")' p.json)" "shell /srv/b loopback 1G 2m"
	"$SMOLJAIL" policy new </dev/null >p.json
	is "$(jq -r '.extends + .network.mode' p.json)" pythonnone
	"$SMOLJAIL" policy check ./p.json
	for args in "--kind shel" "--net moon" "--memory 1Q" "--time x" "--read ~/x:/x" "--read /x:/etc/x" "a.json b.json" "--knd shell"; do
		# shellcheck disable=SC2086
		run "$SMOLJAIL" policy new $args </dev/null
		[ "$status" = 2 ] || { echo "$args"; return 1; }
		[[ $output == "smoljail: "* ]]
	done
}
