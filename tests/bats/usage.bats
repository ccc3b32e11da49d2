# usage.bats - wrong use is refused with words, exit 2, and nothing has run

load helpers

refused() {
	jail "$@"
	is "$status" 2
	is "$stdout" ""
	has "$stderr" "smoljail: "
}

@test "unknown options suggest the nearest" {
	refused --memry 64M -c 'print(1)'
	has "$stderr" --memory
}

@test "values out of range quote the value and the range" {
	refused --memory 1K -c 'print(1)'
	has "$stderr" --memory
	has "$stderr" 1K
	refused --timeout never-ever -c 'print(1)'
	has "$stderr" --timeout
	refused --pids 0x -c 'print(1)'
	refused --cpus -1 -c 'print(1)'
	refused --net moon -c 'print(1)'
	has "$stderr" loopback
}

@test "nothing to run" {
	run "$SMOLJAIL" run
	[ "$status" = 2 ]
	run "$SMOLJAIL" run -c
	[ "$status" = 2 ]
	run "$SMOLJAIL" run --
	[ "$status" = 2 ]
	run "$SMOLJAIL"
	[ "$status" = 2 ]
	run "$SMOLJAIL" fly
	[ "$status" = 2 ]
}

@test "unknown policy, root and isolation" {
	refused --policy pyton -c 'print(1)'
	has "$stderr" python
	jail --root nowhere -c 'print(1)'
	[[ $status == 2 || $status == 125 ]]
	has "$stderr" nowhere
	is "$stdout" ""
	refused --isolation wishful -c 'print(1)'
	has "$stderr" "known here: full, landlock"
	refused --isolation landlock --net host -c 'print(1)'
	has "$stderr" "makes no network for the jail"
}

@test "policy files: unknown key, wrong type, out of range, duplicate, deep, not JSON" {
	check() {
		cat >p.json <<<"$1"
		refused --policy ./p.json -c 'print(1)'
		has "$stderr" "$2"
	}
	check '{"name":"t","limts":{}}' limits
	check '{"name":"t","limits":{"memroy":"1M"}}' memory
	check '{"name":"t","limits":{"memory":true}}' limits.memory
	check '{"name":"t","limits":{"pids":1000000000}}' limits.pids
	check '{"name":"t","name":"u"}' name
	check '{"name":"t"' p.json
	check "$(printf '[%.0s' $(seq 200))" p.json
	check '{"name":"t","extends":"nothing"}' nothing
	check '{"name":"t","syscalls":{"allow":["@nope"]}}' nope
	check '{"name":"t","extends":"python","syscalls":{"allow":["no_such_call"]}}' no_such_call
}

@test "a report that cannot be written is refused before anything runs" {
	run "$SMOLJAIL" run --report /nonexistent/r.json -c 'print(1)'
	[ "$status" = 2 ] || [ "$status" = 125 ]
	[[ $output == *"/nonexistent/r.json"* ]]
	[[ $output != 1* ]]
}

@test "help and version" {
	run "$SMOLJAIL" --version
	[ "$status" = 0 ]
	[[ $output == smoljail\ * ]]
	for command in "" run policy rootfs doctor; do
		# shellcheck disable=SC2086
		run "$SMOLJAIL" $command --help
		[ "$status" = 0 ]
		[[ $output == *[Uu]sage* ]]
	done
	for command in "rootfs verify" "policy show" "help doctor" version; do
		# shellcheck disable=SC2086
		run "$SMOLJAIL" $command --help
		[ "$status" = 0 ]
		[[ $output == *[Uu]sage* ]]
	done
	run "$SMOLJAIL" version now
	[ "$status" = 2 ]
}

@test "every option of run is in --help and in the manual" {
	run "$SMOLJAIL" run --help
	for option in policy memory cpus pids timeout cpu-time disk output env packages dir ro rw net report root isolation quiet verbose; do
		[[ $output == *"--$option"* ]] || { echo "no --$option"; return 1; }
	done
}
