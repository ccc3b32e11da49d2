# run.bats - smoljail run behaves as python3 does
# bats file_tags=run

load helpers

@test "-c prints" {
	jail -c 'print(6*7)'
	is "$stdout" 42
	is "$stderr" ""
	is "$status" 0
	is "$(report .status)" ok
	is "$(report .ran)" yes
}

@test "a script reads standard input" {
	echo 'print(input())' >t.py
	is "$(echo hi | "$SMOLJAIL" run t.py)" hi
}

@test "a script on standard input" {
	is "$(echo 'import sys; print(sys.argv)' | "$SMOLJAIL" run - a b)" "['-', 'a', 'b']"
}

@test "-m runs a module with its arguments" {
	is "$(echo '{"a":1}' | "$SMOLJAIL" run -m json.tool --compact)" '{"a":1}'
}

@test "-- runs a program of the root" {
	jail -- sh -c 'id -u; echo "$0 $1"' x y
	is "$stdout" $'1000\nx y'
}

@test "everything after the script belongs to the program" {
	echo 'import sys; print(sys.argv[1:])' >t.py
	jail t.py --memory 1 -c --report
	is "$stdout" "['--memory', '1', '-c', '--report']"
}

@test "sys.argv, __name__, __file__ and the script's folder on sys.path" {
	echo 'import sys, os; print(__name__, os.path.basename(__file__), os.path.basename(sys.argv[0]), os.path.dirname(os.path.abspath(__file__)) == sys.path[0])' >t.py
	jail t.py
	is "$stdout" "__main__ t.py t.py True"
}

@test "the working directory is private, writable and home" {
	jail -c 'import os; open("f","w").write("x"); print(os.getcwd() == os.path.expanduser("~"), os.path.exists("f"))'
	is "$stdout" "True True"
	[ ! -e f ]
}

@test "exit codes come through" {
	for code in 0 1 2 3 77 124 125 255; do
		jail -c "import sys; sys.exit($code)"
		is "$status" "$code"
		is "$(report .exit_code)" "$code"
		is "$(report .status)" "$([ "$code" = 0 ] && echo ok || echo exit)"
	done
}

@test "sys.exit with a text prints it and exits 1" {
	jail -c 'import sys; sys.exit("bye")'
	is "$status" 1
	is "$stderr" bye
	is "$(report .status)" exit
}

@test "os._exit and a status past 255" {
	jail -c 'import os; os._exit(9)'
	is "$status" 9
	jail -c 'import sys; sys.exit(256+7)'
	is "$status" 7
}

@test "an uncaught exception: traceback with source line, status error, exit 1" {
	printf 'def f():\n    return 1 / 0\n\nf()\n' >t.py
	jail t.py
	is "$status" 1
	has "$stderr" "line 2, in f"
	has "$stderr" "return 1 / 0"
	has "$stderr" "ZeroDivisionError: division by zero"
	lacks "$stderr" "smoljail:"
	is "$(report .status)" error
	is "$(report .error.type)" ZeroDivisionError
	is "$(report .error.message)" "division by zero"
	is "$(report .error.line)" 2
}

@test "a syntax error is python's own message" {
	echo 'x = (' >t.py
	jail t.py
	is "$status" 1
	has "$stderr" "SyntaxError"
	is "$(report .status)" error
}

@test "death by signal is 128+n and named" {
	for sig in TERM SEGV ABRT KILL USR1; do
		jail -c "import os, signal; os.kill(os.getpid(), signal.SIG$sig)"
		is "$status" $((128 + $(kill -l $sig)))
		is "$(report .status)" signal
		is "$(report .signal)" "$(kill -l $sig)"
	done
}

@test "the signal of an unhandled KeyboardInterrupt" {
	jail -c 'raise KeyboardInterrupt'
	is "$status" 130
}

@test "--: 127 for a missing program, 126 for one that cannot be executed" {
	jail -- no-such-program
	is "$status" 127
	has "$stderr" no-such-program
	jail -- /etc/passwd
	is "$status" 126
}

@test "a BOM, CRLF, a coding cookie, no final newline" {
	printf '\xef\xbb\xbfprint("bom")' >bom.py
	jail bom.py
	is "$stdout" bom
	printf 'if True:\r\n    print("crlf")\r\n' >crlf.py
	jail crlf.py
	is "$stdout" crlf
	printf '# -*- coding: latin-1 -*-\nprint(len("\xe9"))' >latin.py
	jail latin.py
	is "$stdout" 1
	jail - <latin.py
	is "$stdout" 1
}

@test "a NUL in a script: what python3 does" {
	printf 'x = "a\0b"\nprint(len(x))\n' >nul.py
	local theirs=0
	/usr/bin/python3 nul.py >theirs.txt 2>&1 || theirs=$?
	jail nul.py
	is "$status" "$theirs"
	[ "$theirs" = 0 ] || has "$stderr" "$(tail -1 theirs.txt)"
}

@test "invalid UTF-8 without a cookie is python's own error" {
	printf 'print("\xff")\n' >bad.py
	jail bad.py
	is "$status" 1
	has "$stderr" "SyntaxError"
}

@test "five megabytes of text" {
	{ yes '# filler filler filler filler filler' | head -c 5000000; echo; echo 'print("end")'; } >big.py
	jail big.py
	is "$stdout" end
}

@test "missing script, folder, FIFO, device: exit 2, named, nothing ran" {
	jail missing.py
	is "$status" 2
	has "$stderr" missing.py
	is "$(report .ran)" no
	mkdir d
	jail d
	is "$status" 2
	has "$stderr" "d"
	mkfifo fifo
	jail fifo
	is "$status" 2
	has "$stderr" fifo
	jail /dev/zero
	is "$status" 2
}

@test "only the script itself is visible, and a failed import of a neighbour names --dir" {
	echo 'X = 5' >helper.py
	echo 'import helper; print(helper.X)' >t.py
	jail t.py
	is "$status" 1
	has "$stderr" "No module named 'helper'"
	has "$stderr" "--dir"
	jail --dir . t.py
	is "$stdout" 5
	is "$status" 0
}

@test "--dir is read-only" {
	echo 'open(__file__ + "x", "w")' >t.py
	jail --dir . t.py
	has "$stderr" "Read-only file system"
	[ ! -e t.pyx ]
}

@test "--dir works in a subfolder and refuses a script outside" {
	mkdir -p p/sub
	echo 'import lib; print(lib.Y)' >p/sub/t.py
	echo 'Y = 6' >p/sub/lib.py
	jail --dir p p/sub/t.py
	is "$stdout" 6
	echo 'print(1)' >out.py
	jail --dir p out.py
	is "$status" 2
	has "$stderr" out.py
}

@test "environment: empty but for the policy, --env sets and passes" {
	export SECRET=s3cret GIVEN=given
	jail -c 'import os; print(sorted(os.environ))'
	lacks "$stdout" SECRET
	lacks "$stdout" GIVEN
	jail --env A=1 --env GIVEN -c 'import os; print(os.environ["A"], os.environ["GIVEN"], "SECRET" in os.environ)'
	is "$stdout" "1 given False"
}

@test "exit and quit exist, help is there" {
	jail -c 'exit(3)'
	is "$status" 3
	jail -c 'print(callable(quit), callable(help), callable(copyright))'
	is "$stdout" "True True True"
}

@test "subprocess of sys.executable, multiprocessing by spawn and fork" {
	cat >t.py <<-'EOF'
		import multiprocessing as mp, subprocess, sys
		def f(x):
		    return x * x
		if __name__ == "__main__":
		    print(subprocess.run([sys.executable, "-c", "print(5)"], capture_output=True, text=True).stdout.strip())
		    for how in ("fork", "spawn", "forkserver"):
		        with mp.get_context(how).Pool(2) as pool:
		            print(how, pool.map(f, [1, 2, 3]))
	EOF
	jail t.py
	is "$stderr" ""
	is "$stdout" $'5\nfork [1, 4, 9]\nspawn [1, 4, 9]\nforkserver [1, 4, 9]'
}

@test "the standard library that people expect imports" {
	jail -c 'import zoneinfo, locale, sqlite3, ssl, ctypes, lzma, bz2, decimal, asyncio, hashlib, uuid, curses, unittest, venv, xml.etree.ElementTree, dbm, tomllib
print(zoneinfo.ZoneInfo("Europe/Paris").key, locale.setlocale(locale.LC_ALL, "C.UTF-8"), sqlite3.connect(":memory:").execute("select 1").fetchone())'
	is "$stdout" "Europe/Paris C.UTF-8 (1,)"
}

@test "a path that is python3 itself: version and -I" {
	jail -- python3 -I -c 'import sys; print(sys.flags.isolated, sys.executable)'
	is "$stdout" "1 /usr/bin/python3"
}

@test "--report - prints the report after the program's output" {
	out=$("$SMOLJAIL" run --report - -c 'print("first")')
	is "$(head -1 <<<"$out")" first
	is "$(tail -n +2 <<<"$out" | jq -r .schema)" smoljail.report/1
}

@test "--verbose tells isolation and limits, --quiet silences" {
	jail --verbose -c pass
	has "$stderr" userns
	jail --quiet --timeout 0.3 -c 'while True: pass'
	lacks "$stderr" "smoljail:"
	is "$status" 124
}

@test "PYTHON variables that the user gives count, the caller's own do not" {
	export PYTHONHASHSEED=7
	first=$("$SMOLJAIL" run --env PYTHONHASHSEED=1 -c 'print(hash("x"))')
	is "$("$SMOLJAIL" run --env PYTHONHASHSEED=1 -c 'print(hash("x"))')" "$first"
	jail -c 'import sys, os; print(sys.flags.hash_randomization, "PYTHONHASHSEED" in os.environ)'
	is "$stdout" "1 False"
	mkdir lib
	echo 'Z = 9' >lib/given.py
	jail --ro lib:/lib-of-mine --env PYTHONPATH=/lib-of-mine -c 'import given; print(given.Z)'
	is "$stdout" 9
}
