# doctor.bats - what the host offers, and that doctor and run name the same cause

load helpers

# The doctor's facts in doctor.json, under a command that makes a hostile surrounding.
doctor() {
	status=0
	"$@" "$SMOLJAIL" doctor --json >doctor.json 2>err.txt || status=$?
	stdout=$(head -c 300 doctor.json)
	stderr=$(cat err.txt)
}

# A field of one fact.
fact() {
	jq -r --arg id "$1" ".facts[] | select(.id == \$id) | .$2" doctor.json
}

# The fact has failed for this reason, and says what to do.
diagnosed() {
	is "$(fact "$1" state)" fail
	has "$(fact "$1" value)" "($2)"
	has "$(fact "$1" why)" "$3"
	[[ -n $(fact "$1" fix) ]] || fail_with "$1 has no fix"
	is "$(jq -r .state doctor.json)" cannot_run
	is "$status" 2
	is "$(jq '[.policies[] | select(.runs)] | length' doctor.json)" 0
}

# `smoljail run` in the same surrounding runs nothing, and names the cause of that fact in the same words.
run_agrees() {
	local id=$1 cause fix
	shift
	cause=$(fact "$id" why)
	fix=$(fact "$id" fix)
	status=0
	"$@" "$SMOLJAIL" run -c 'print("it ran")' >out.txt 2>err.txt || status=$?
	stdout=$(cat out.txt)
	stderr=$(cat err.txt)
	is "$status" 125
	is "$stdout" ""
	has "$stderr" "  cause: $cause"
	has "$stderr" "  fix:   $fix"
	has "$stderr" "nothing was run"
}

# Inside a namespace that maps one id, files of all others belong to nobody, a root among them: only for who owns it.
run_agrees_if_owner() {
	[[ $(stat -c %u "$BUILD/rootfs/python") != "$(id -u)" ]] || run_agrees "$@"
}

as_root() {
	[[ $(id -u) == 0 ]] || skip "needs root"
}

needs_userns() {
	unshare -Ur true 2>/dev/null || skip "no user namespaces here"
}

# An ordinary user, also when root runs this.
ordinary() {
	if [[ $(id -u) == 0 ]]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

@test "text: one line a fact, cause and fix beneath what is not ok" {
	run "$SMOLJAIL" doctor
	[[ $status -le 2 ]]
	while read -r line; do
		[[ $line =~ ^\[(ok|warn|fail)\]\ +[a-z0-9_.]+\ +.+$ || $line =~ ^(cause|fix):\ +.+$ || -z $line ||
			$line =~ ^policies\ that\ can\ run:\ .*python\ (yes|no) || $line =~ ^(full|degraded|jails\ cannot) ]] ||
			fail_with "odd line: $line"
	done <<<"$output"
	bad=$(grep -cE '^\[(warn|fail)\]' <<<"$output" || true)
	is "$(grep -cE '^ +cause: ' <<<"$output" || true)" "$bad"
	is "$(grep -cE '^ +fix:   ' <<<"$output" || true)" "$bad"
	has "$output" "policies that can run: "
}

@test "json: the same facts, with a schema and the overall state" {
	doctor env
	is "$(jq -r .schema doctor.json)" smoljail.doctor/1
	is "$(jq '[.facts[].id] | length - (unique | length)' doctor.json)" 0
	is "$(jq '[.facts[] | select((.state == "ok") != (.why == ""))] | length' doctor.json)" 0
	is "$(jq -r '.facts[].id' doctor.json)" "$("$SMOLJAIL" doctor | sed -nE 's/^\[[a-z]+\] +([^ ]+) .*/\1/p')"
	case $(jq -r '[.facts[].state] | if index("fail") then "fail" elif index("warn") then "warn" else "ok" end' doctor.json) in
	ok) is "$status $(jq -r .state doctor.json)" "0 full" ;;
	warn) is "$status $(jq -r .state doctor.json)" "1 degraded" ;;
	fail) is "$status $(jq -r .state doctor.json)" "2 cannot_run" ;;
	esac
}

@test "a host that can run jails says so for every policy" {
	doctor env
	[[ $status -lt 2 ]] || skip "jails cannot run here"
	is "$(fact run value)" yes
	for policy in python-strict python shell open; do
		is "$(jq -r ".policies[\"$policy\"].runs" doctor.json)" true
	done
}

@test "the rungs that it names are those of a real run's report" {
	doctor env
	[[ $status -lt 2 ]] || skip "jails cannot run here"
	for limit in memory pids cpu; do
		is "$(fact "limit.$limit" value)" "$(rung "$limit")"
	done
}

@test "an ordinary user without control groups: degraded, and says how limits are held" {
	doctor ordinary
	[[ $status -lt 2 ]] || skip "an ordinary user cannot run jails from here"
	[[ $(fact cgroup value) == none* ]] || skip "this user has control groups"
	is "$status" 1
	is "$(jq -r .state doctor.json)" degraded
	is "$(fact limit.memory value)" polling
	is "$(fact limit.pids value)" rlimit
	is "$(fact cgroup state)" warn
	has "$(fact cgroup fix)" best-effort
}

@test "--phases prints the launch in order" {
	run "$SMOLJAIL" doctor --phases
	[ "$status" = 0 ]
	has "${lines[0]}" PHASE
	has "${lines[1]}" clone
	has "${lines[-1]}" seccomp
	for phase in uid_map sources pivot read_only privileges guest; do
		is "$(awk -v p="$phase" '$1 == p' <<<"$output" | wc -l)" 1
	done
}

@test "wrong use" {
	run "$SMOLJAIL" doctor --fast
	[ "$status" = 2 ]
	has "$output" --fast
	run "$SMOLJAIL" doctor --json --phases
	[ "$status" = 2 ]
	run "$SMOLJAIL" doctor --help
	[ "$status" = 0 ]
	has "$output" "exit status"
}

@test "a full disk is no success" {
	run bash -c '"$0" doctor >/dev/full' "$SMOLJAIL"
	[ "$status" = 125 ]
	run bash -c '"$0" doctor --json >/dev/full' "$SMOLJAIL"
	[ "$status" = 125 ]
}

@test "no_new_privs on the caller changes nothing" {
	doctor env
	before=$status
	doctor setpriv --no-new-privs
	is "$status" "$before"
	has "$(fact caller value)" "NoNewPrivs 1"
}

@test "inside a jail that forbids nesting" {
	needs_userns
	# shellcheck disable=SC2016 # for the inner shell
	nested=(unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"' sh)
	doctor "${nested[@]}"
	diagnosed userns.create E_USERNS_NESTED user.max_user_namespaces=0
	is "$(fact pivot_root value)" "not tried"
	run_agrees_if_owner userns.create "${nested[@]}"
}

@test "a limit on another namespace" {
	needs_userns
	# shellcheck disable=SC2016 # for the inner shell
	limited=(unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_net_namespaces; exec "$@"' sh)
	doctor "${limited[@]}"
	diagnosed namespaces E_NS_LIMIT user.max_net_namespaces=0
	run_agrees_if_owner namespaces "${limited[@]}"
}

@test "a caller without an id in its user namespace" {
	needs_userns
	doctor unshare -U
	diagnosed userns.create E_USERNS_UNMAPPED /proc/self/uid_map
	run_agrees userns.create unshare -U
}

@test "an outer filter like Docker's" {
	for kind in userns eperm kill; do
		doctor "$BUILD/tests/deny-userns" "$kind"
		diagnosed userns.create E_USERNS_SECCOMP "Seccomp: 2 in /proc/self/status"
		run_agrees userns.create "$BUILD/tests/deny-userns" "$kind"
	done
}

@test "inside Docker the fix is Docker's" {
	[[ -e /.dockerenv ]] || skip "no mark of Docker here"
	doctor env -u KUBERNETES_SERVICE_HOST "$BUILD/tests/deny-userns" userns
	has "$(fact userns.create fix)" "docker run --security-opt seccomp="
	doctor env KUBERNETES_SERVICE_HOST=10.0.0.1 "$BUILD/tests/deny-userns" userns
	has "$(fact userns.create fix)" "seccompProfile"
}

@test "an outer filter that forbids or hides mounts" {
	needs_userns
	for kind in mounts newmount; do
		doctor "$BUILD/tests/deny-userns" "$kind"
		diagnosed mount.bind_ro E_MOUNT_SECCOMP "Seccomp: 2 in /proc/self/status"
		is "$(fact userns.create state)" ok
		run_agrees mount.bind_ro "$BUILD/tests/deny-userns" "$kind"
	done
}

@test "a masked /proc" {
	needs_userns
	# shellcheck disable=SC2016 # for the inner shell
	masked=(unshare -Urm sh -c 'mount -t tmpfs none /proc/fs && exec "$@"' sh)
	doctor "${masked[@]}"
	diagnosed proc.subset E_PROC_MASKED "tmpfs on /proc/fs"
	has "$(fact proc.subset why)" "Mount too revealing"
	run_agrees_if_owner proc.subset "${masked[@]}"
}

@test "a read-only /proc/sys" {
	as_root
	needs_userns
	# shellcheck disable=SC2016 # for the inner shell
	readonly=(unshare -m sh -c 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"' sh)
	doctor "${readonly[@]}"
	diagnosed userns.no_nested E_PROC_SYS_READONLY read-only
	run_agrees userns.no_nested "${readonly[@]}"
}

@test "a /proc that hides processes, and no control group" {
	as_root
	needs_userns
	# shellcheck disable=SC2016 # for the inner shell
	hidden=(unshare -m sh -c 'mount -t proc -o hidepid=invisible proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"' sh)
	"${hidden[@]}" test -x "$SMOLJAIL" || skip "the program is closed to ordinary users"
	doctor "${hidden[@]}"
	[[ $(fact limit.memory value) == polling ]] || skip "an ordinary user has a control group here"
	has "$(fact run value)" E_PROC_HIDDEN
	has "$(fact run why)" hidepid=invisible
	run_agrees run "${hidden[@]}"
}

@test "in a chroot" {
	as_root
	[[ -z ${ASAN_OPTIONS-} ]] || skip "the sanitizers need libraries that are not there"
	needs_userns
	mkdir -p new/proc new/dev new/build
	# shellcheck disable=SC2016 # for the inner shell
	shut=(unshare -m sh -c 'mount -t proc proc new/proc && mount --rbind /dev new/dev && mount --bind "$0" new/build && shift; exec chroot new /build/smoljail "$@"' "$BUILD")
	SMOLJAIL=/build/smoljail
	doctor "${shut[@]}"
	diagnosed userns.create E_CHROOT "not the root of the mount namespace"
	run_agrees userns.create "${shut[@]}"
}

@test "no processes left to the caller" {
	[[ $(id -u) != 0 ]] || skip "root has no limit on processes"
	doctor prlimit --nproc=1:1
	diagnosed userns.create E_PROCESSES "ulimit -u is 1"
	run_agrees userns.create prlimit --nproc=1:1
}

@test "docs/hosts.md names every fact and every cause" {
	tree=$BATS_TEST_DIRNAME/../..
	[[ -f $tree/docs/hosts.md ]] || skip "no documentation beside the tests"
	doctor env
	for word in $(jq -r '.facts[].id' doctor.json) $(grep -ohE '"E_[A-Z0-9_]+"' "$tree"/src/jail/explain.c | tr -d '"' | sort -u); do
		grep -qF "\`$word\`" "$tree/docs/hosts.md" || fail_with "docs/hosts.md lacks $word"
	done
}
