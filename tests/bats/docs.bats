# docs.bats - what the documents say is what the program does

load helpers

TREE=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
DOCS=$TREE/docs

# Lines that differ between two lists, or nothing.
same() {
	local first second
	first=$(sort -u <<<"$1") second=$(sort -u <<<"$2")
	[[ $first == "$second" ]] || { diff <(echo "$first") <(echo "$second"); return 1; }
}

# The part of smoljail(1) about one command.
section() {
	awk -v head=".Ss smoljail $1" '/^\.S[sh] / { on = $0 == head } on' "$DOCS/smoljail.1"
}

commands() {
	"$SMOLJAIL" help | awk '/^  [a-z]/ { print $1 }'
}

verbs() {
	"$SMOLJAIL" policy --help | awk '/^  [a-z]/ { print $1 }'
}

@test "every command is in the manual, and no other" {
	same "$(commands)" "$(sed -n 's/^\.Ss smoljail //p' "$DOCS/smoljail.1")"
	same "$(verbs)" "$(section policy | sed -n 's/^\.It Cm \([a-z-]*\).*/\1/p')"
}

@test "every option in --help is in the manual, and the other way round" {
	for command in $(commands); do
		if [ "$command" = policy ]; then
			# Its options belong to its verbs, and stand in what each of them says.
			help=$(for verb in $(verbs); do "$SMOLJAIL" policy "$verb" --help; done | grep -o -- '--[a-z][a-z-]*')
		else
			help=$("$SMOLJAIL" "$command" --help | sed -n -e 's/^  \(--[a-z-]*\).*/\1/p' -e '/smoljail/s/.*[a-z] \[*\(--[a-z]*\).*/\1/p')
		fi
		manual=$(section "$command" | grep '^\.It' | grep -o 'Fl -[a-z-]*' | sed 's/Fl /-/')
		same "$(grep -v -e '^--help$' <<<"$help")" "$(grep -v -e '^--help$' <<<"$manual")" || { echo "$command"; return 1; }
	done
}

@test "manual pages are clean mdoc" {
	command -v mandoc >/dev/null || skip "mandoc is not installed"
	for page in "$DOCS"/*.[0-9]; do
		# Whether other pages are installed here says nothing about this one.
		found=$(mandoc -T lint "$page" 2>/dev/null | grep -v "referenced manual not found" || true)
		[ -z "$found" ] || { echo "$found"; return 1; }
	done
}

@test "smoljail-policy(5) is what the program prints, with every setting" {
	"$TREE/tools/make-policy-page" "$SMOLJAIL" | diff - "$DOCS/smoljail-policy.5" ||
		{ echo "tools/make-policy-page >docs/smoljail-policy.5"; return 1; }
	"$SMOLJAIL" policy show | jq -r 'paths | map(if type == "number" then empty else . end) | join(".")' | sort -u |
		while read -r key; do
			grep -q "^\.It Cm $key\$" "$DOCS/smoljail-policy.5" || [ "$key" = comment ] || { echo "$key"; return 1; }
		done
}

@test "policies shown in documents are right" {
	"$PYTHON" - "$DOCS" <<-'END'
		import pathlib, re, sys
		docs = pathlib.Path(sys.argv[1])
		shown = re.findall(r"\.Bd -literal -offset indent\n(\{.*?)^\.Ed", (docs / "smoljail-policy.5").read_text(), re.M | re.S)
		for i, text in enumerate(shown):
		    pathlib.Path(f"shown{i}.json").write_text(text)
		assert len(shown) >= 4
	END
	for policy in shown*.json; do
		"$SMOLJAIL" policy check "$policy"
	done
}

@test "smoljail-report(5) has every key" {
	jail -c '1/0'
	jail --ro /nonexistent -c 'pass'
	cp report.json setup.json
	jail -c 'import socket; socket.socket()'
	# What is in allow_policy is a policy's, and smoljail-policy(5) has that.
	jq -s -r '[.[] | paths | (index("allow_policy") // 99) as $last | .[:$last + 1] | map(if type == "number" then empty else . end) | .[]] | unique | .[]' report.json setup.json >keys
	for key in $(cat keys) where; do
		grep -q -e "^\.It.* Cm .*$key" -e "^\.It.* $key" -e "^\.Cm $key" "$DOCS/smoljail-report.5" || { echo "$key"; return 1; }
	done
}

@test "smoljail-report(5) has every status, with an example that ends in it" {
	# "lost" needs somebody outside who kills init.
	same "$(grep -o '\[STATUS_[A-Z_]*\] = "[a-z_]*"' "$TREE/src/session/verdict.c" | cut -d'"' -f2)" \
		"$(awk '/^\.Sh/ { on = $2 == "STATUS" } on && /^\.It Cm/ { print $3 }' "$DOCS/smoljail-report.5")"
	awk '/^\.Sh/ { on = $2 == "STATUS" } !on { next }
		/^\.It Cm/ { word = $3 }
		/^\.Dl smoljail run/ { sub(/^\.Dl smoljail run /, ""); print word "\t" $0 }' "$DOCS/smoljail-report.5" >examples
	[ "$(wc -l <examples)" = 12 ]
	while IFS=$'\t' read -r word example; do
		eval "jail $example" </dev/null
		is "$(report .status)" "$word"
	done <examples
}

@test "ERRORS.md has every name, once, and no other" {
	names=$(sed -n 's/^| \(`E_[^|]*\)|.*/\1/p' "$DOCS/ERRORS.md" | grep -o 'E_[A-Z0-9_]*')
	same "$(grep -rho '"E_[A-Z0-9_]*"' "$TREE/src" --include='*.[ch]' | tr -d '"')" "$names"
	[ -z "$(sort <<<"$names" | uniq -d)" ]
}

@test "hosts.md has every fact of doctor, and only names that exist" {
	"$SMOLJAIL" doctor --json | jq -r '.facts[].id' | while read -r id; do
		grep -q "\`$id\`" "$DOCS/hosts.md" || { echo "$id"; return 1; }
	done
	grep -ow 'E_[A-Z0-9_]*' "$DOCS/hosts.md" | sort -u | while read -r name; do
		grep -q "\`$name\`" "$DOCS/ERRORS.md" || { echo "$name"; return 1; }
	done
}

@test "compatibility.md has every test of CPython that fails inside, and no other" {
	same "$(grep -v '^#' "$TREE/tests/cpython-expected.txt" | awk 'NF { print $1 }')" \
		"$(grep -o '`test_[A-Za-z_.]*`' "$DOCS/compatibility.md" | tr -d '`')"
}

@test "the filter for containers is what tools/make-outer-profile prints" {
	"$PYTHON" "$TREE/tools/make-outer-profile" | diff - "$TREE/policies/host/smoljail-outer.json" ||
		{ echo "tools/make-outer-profile >policies/host/smoljail-outer.json"; return 1; }
}

@test "MAP.md is what tools/make-map prints, and every file in it exists" {
	"$TREE/tools/check-map"
	"$PYTHON" "$TREE/tools/make-map" | diff - "$DOCS/MAP.md" || { echo "tools/make-map >docs/MAP.md"; return 1; }
	sed -n 's/^| `\([^`]*\)` .*/\1/p' "$DOCS/MAP.md" | while read -r path; do
		[ -e "$TREE/$path" ] || { echo "$path"; return 1; }
	done
}

@test "links lead somewhere" {
	"$PYTHON" - "$TREE" <<-'END'
		import pathlib, re, sys
		tree = pathlib.Path(sys.argv[1])
		pages = [*tree.glob("*.md"), *tree.glob("docs/*.md"), tree / "rootfs/README.md"]
		def anchors(page):
		    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
		    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in heads}
		bad = []
		for page in pages:
		    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
		    for link in re.findall(r"\]\(([^)\s]+)\)", text):
		        if "://" in link:
		            continue
		        path, _, anchor = link.partition("#")
		        target = (page.parent / path).resolve() if path else page
		        if not target.exists() or (anchor and anchor not in anchors(target)):
		            bad.append(f"{page.name}: {link}")
		print("\n".join(bad))
		sys.exit(bool(bad))
	END
}

# The commands of the README, but for those of make and pip.
readme_commands() {
	awk '/^```/ { on = $0 == "```console" } on && /^\$ / { sub(/^\$ /, ""); print }' "$TREE/README.md" |
		grep -v -e '^make' -e 'pip install' -e '--packages' -e '^build/'
}

@test "the README's commands work" {
	echo 'import sys; print(sys.argv[1:])' >script.py
	echo 'import script' >main.py
	mkdir data out
	ln -s "$SMOLJAIL" smoljail
	[ "$(readme_commands | wc -l)" -ge 7 ]
	while read -r command; do
		PATH=$PWD:$PATH bash -e -c "$command" </dev/null >out.txt || fail_with "$command"
		case $command in
		*6\*7*) is "$(cat out.txt)" 42 ;;
		*"echo hi"*) is "$(cat out.txt)" hi ;;
		*arg1*) is "$(cat out.txt)" "['arg1', 'arg2']" ;;
		esac
	done < <(readme_commands)
	is "$(jq -r .status report.json)" ok
	for command in $(grep -o '| `smoljail [a-z]* [a-z]*`' "$TREE/README.md" | tr -d '|`' | sed 's/ *smoljail *//; s/ /:/'); do
		"$SMOLJAIL" "${command%%:*}" "${command##*:}" >/dev/null
	done
}

@test "the report in the README has the keys of a real one" {
	awk '/^```/ { on = $0 == "```console" } on && /^ *[{"]/' "$TREE/README.md" >shown.json
	jail -c 'print(6*7)'
	jq -e . shown.json >/dev/null
	same "$(jq -r 'paths | map(tostring) | join(".")' shown.json | grep -v '^isolation\.')" \
		"$(jq -r 'paths | map(tostring) | join(".")' report.json | grep -v '^isolation\.')"
}
