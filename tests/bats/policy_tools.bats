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
