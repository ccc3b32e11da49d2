# policy.bats - smoljail policy list, show, check, schema

load helpers

@test "list names every shipped policy and what it is for" {
	run "$SMOLJAIL" policy list
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 5 ]
	for name in python-strict python python-data shell open; do
		[[ $output == *"$name  "* ]]
	done
	[[ $output == *"(default)"* ]]
}

@test "show prints JSON with all defaults, and takes it back" {
	for name in python-strict python python-data shell open; do
		"$SMOLJAIL" policy show $name >p.json
		[ "$(jq -r .name p.json)" = $name ]
		[ "$(jq -r '.files.tmp.size | type' p.json)" = string ]
		"$SMOLJAIL" policy show ./p.json | cmp - p.json
	done
}

@test "show --expand closes with the count of the calls it lists" {
	"$SMOLJAIL" policy show --expand python >flat
	count=$(tail -1 flat | awk '{ print $1 }')
	[ "$(tail -1 flat)" = "$count system calls allowed" ]
	[ "$(awk '$2 == "allow" { print $1 }' flat | sort -u | wc -l)" = "$count" ]
}

@test "check accepts the shipped ones, notes what is risky, refuses what is wrong" {
	for name in python-strict python python-data shell; do
		run "$SMOLJAIL" policy check $name
		[ "$status" = 0 ]
		[ "$output" = "$name: ok, 0 notes" ]
	done
	echo '{"extends": "python", "network": {"mode": "host"}, "env": {"pass": ["API_TOKEN"]}}' >p.json
	run "$SMOLJAIL" policy check p.json
	[ "$status" = 0 ]
	[[ $output == *"[host-network]"* && $output == *"[secret-env]"* && $output == *"p.json: ok, 2 notes"* ]]
	echo '{"extends": "python", "limits": {"memroy": "1G"}}' >p.json
	run "$SMOLJAIL" policy check p.json
	[ "$status" = 2 ]
	[[ $output == *"limits.memroy"* && $output == *'did you mean "memory"?'* ]]
	echo '{"extends": "python", "syscalls": {"allow": ["fsycn"]}}' >p.json
	run "$SMOLJAIL" policy check p.json
	[ "$status" = 2 ]
	[[ $output == *fsycn* && $output == *fsync* ]]
}

@test "a hostile policy cannot write to the terminal" {
	printf '{"extends": "python", "\\u001b]0;x\\u0007": 1}' >p.json
	run "$SMOLJAIL" policy check p.json
	[ "$status" = 2 ]
	[[ $output != *$'\e'* ]]
	printf '{"extends": "python", "files": {"write": ["/\\u009b31m:/x"]}}' >p.json
	run "$SMOLJAIL" policy check p.json
	[ "$status" = 0 ]
	[[ $output != *$'\xc2\x9b'* ]]
}

@test "a denied fork that clone makes up for is noted" {
	echo '{"extends": "python", "syscalls": {"deny": ["fork"]}}' >p.json
	run "$SMOLJAIL" policy check p.json
	[ "$status" = 0 ]
	[[ $output == *fork-by-clone* ]]
	echo '{"extends": "python", "syscalls": {"allow": ["!@process", "@threads"]}}' >p.json
	[ "$("$SMOLJAIL" policy check p.json)" = "p.json: ok, 0 notes" ]
	jail --policy p.json -c 'import threading; t = threading.Thread(target=print, args=(1,)); t.start(); t.join()'
	is "$stdout" 1
	jail --policy p.json -c 'import os; os.fork()'
	is "$(report .error.type)" PermissionError
}

@test "schema is JSON, and its page is clean mdoc" {
	"$SMOLJAIL" policy schema >schema.json
	[ "$(jq -r '."$schema"' schema.json)" = http://json-schema.org/draft-07/schema# ]
	[ "$(jq -r '.properties.limits.properties.memory.default' schema.json)" = 512M ]
	command -v mandoc >/dev/null || skip "mandoc is not installed"
	{
		printf '.Dd January 1, 2000\n.Dt X 5\n.Os\n.Sh NAME\n.Nm x\n.Nd y\n'
		"$SMOLJAIL" policy schema --mdoc
	} >page
	run mandoc -T lint page
	[ "$output" = "" ]
}

@test "wrong use ends with 2 and says what is right" {
	for args in "" lst "show a b" "check" "list x" "schema --mdc" "show --exp" "check /nonexistent/p.json"; do
		# shellcheck disable=SC2086 # several arguments
		run "$SMOLJAIL" policy $args
		[ "$status" = 2 ]
		[[ $output == "smoljail: "* ]]
	done
}

@test "a policy without threads says that it is the policy, and which group would allow them" {
	jail --policy python-strict -c 'import threading; threading.Thread(target=print).start()'
	is "$status" 1
	is "$(report .status)" error
	is "$(report '.denied[0].syscall')" clone
	has "$stderr" '"syscalls": {"allow": ["@threads"]}'
}

@test "a policy that its program could rewrite is refused, and so is one that it extends" {
	mkdir -p open/below shut
	echo '{"name": "p", "extends": "python"}' >open/below/p.json
	echo '{"name": "q", "extends": "../open/below/p.json"}' >shut/q.json
	for policy in open/below/p.json shut/q.json; do
		jail --policy "$policy" --rw "$PWD/open:/data" -c 'print(1)'
		is "$status" 2
		has "$stderr" "the program could rewrite its policy"
		is "$(report .setup.id)" E_POLICY_EXPOSED
		jail --policy "$policy" --ro "$PWD/open:/data" -c 'print(1)'
		is "$stdout" 1
	done
	ln -s below open/link
	jail --policy open/link/p.json --rw "$PWD/open/below:/data" -c 'print(1)'
	is "$status" 2
	jail --policy open/below/p.json --rw "$PWD/shut:/data" -c 'print(1)'
	is "$stdout" 1
}
