# helpers.bash - what every bats file here uses
#
# SMOLJAIL and BUILD come from tools/run-tests; by hand they default to build/.

SMOLJAIL=${SMOLJAIL:-build/smoljail}
BUILD=${BUILD:-build}
PROBE=$BUILD/tests/probe

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# `stdout`, `stderr` and `status` of smoljail run with a report in report.json.
jail() {
	status=0
	"$SMOLJAIL" run --report report.json "$@" >out.txt 2>err.txt || status=$?
	stdout=$(tr -d '\0' <out.txt)
	stderr=$(cat err.txt)
}

# One act of the probe: its answer in $stdout.
probe() {
	local options=()
	while [[ $1 == --* ]]; do
		options+=("$1" "$2")
		shift 2
	done
	jail --ro "$PROBE:/probe" "${options[@]}" -- /probe "$@"
}

# A field of the report, by jq path.
report() {
	jq -r "$1" report.json
}

fail_with() {
	printf '%s\n' "$@" "status: $status" "stdout: $stdout" "stderr: $stderr" "report: $(head -c 2000 report.json 2>/dev/null)"
	return 1
}

is() {
	[[ $1 == "$2" ]] || fail_with "got:    $1" "wanted: $2"
}

has() {
	[[ $1 == *"$2"* ]] || fail_with "got:   $1" "lacks: $2"
}

lacks() {
	[[ $1 != *"$2"* ]] || fail_with "got: $1" "has: $2"
}

# enforced_by of a limit on this host, such as cgroup1, rlimit or polling.
rung() {
	"$SMOLJAIL" run --report - -c pass | jq -r ".enforced_by.$1"
}
