# streams.bats - bytes in, bytes out, caps, order, closed ends

load helpers

@test "bytes pass unchanged both ways" {
	head -c 300000 /dev/urandom >in.bin
	"$SMOLJAIL" run -c 'import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())' <in.bin >out.bin
	cmp in.bin out.bin
}

@test "a large input and a large output at the same time" {
	head -c 8000000 /dev/zero | "$SMOLJAIL" run -c 'import sys
while b := sys.stdin.buffer.read(4096): sys.stdout.buffer.write(b)' | cmp - <(head -c 8000000 /dev/zero)
}

@test "stdout and stderr to one place keep their order" {
	"$SMOLJAIL" run -c 'import sys
for i in range(200):
    print(i, flush=True); print(i, file=sys.stderr, flush=True)' >both.txt 2>&1
	seq 0 199 | sed p | cmp - both.txt
}

@test "output arrives while the program runs" {
	mkfifo gate
	"$SMOLJAIL" run -c 'print("early", flush=True); input()' <gate >out.txt &
	exec 9>gate
	for _ in $(seq 100); do
		grep -q early out.txt && break
		sleep 0.1
	done
	grep -q early out.txt
	echo go >&9
	exec 9>&-
	wait $!
}

@test "the output cap passes exactly that many bytes, stops the program and says so" {
	jail --output 100K -c 'while True: print("x" * 99)'
	is "$(stat -c %s out.txt)" 102400
	is "$(report .status)" output_limit
	is "$(report .output.truncated)" true
	is "$(report .output.stdout)" 102400
	has "$stderr" "smoljail: stopped: output limit"
	[ "$status" -ne 0 ]
}

@test "output below the cap is whole" {
	jail --output 100K -c 'print("y" * 102399)'
	is "$(stat -c %s out.txt)" 102400
	is "$(report .status)" ok
	is "$(report .output.truncated)" false
}

@test "a reader that goes away ends the program, not with a hang" {
	run bash -c '"$0" run -c "while True: print(1)" 2>/dev/null | head -1' "$SMOLJAIL"
	is "$output" 1
}

@test "closed stdin, stdout, stderr" {
	"$SMOLJAIL" run --report r0.json -c 'import sys; print(repr(sys.stdin.read()))' <&- >out.txt
	is "$(cat out.txt)" "''"
	"$SMOLJAIL" run --report r1.json -c 'print(1)' >&-
	is "$(jq -r .ran r1.json)" yes
	"$SMOLJAIL" run --report r2.json -c 'import sys; print(1, file=sys.stderr); print(2)' 2>&- >out.txt
	is "$(cat out.txt)" 2
}

@test "a program that closes its own streams" {
	jail -c 'import os; os.close(1); os.close(2); os._exit(4)'
	is "$status" 4
}

@test "lone surrogates and bad bytes do not break the report" {
	jail -c 'import os; os.write(1, b"\xff\xfe\0x"); raise ValueError("\ud800 \x00 bad")'
	is "$status" 1
	jq -e . report.json >/dev/null
	is "$(report .error.type)" ValueError
}

@test "/dev/stdout and /dev/stderr can be opened" {
	jail -c 'open("/dev/stdout","w").write("a"); open("/dev/stderr","w").write("b")'
	is "$stdout$stderr" ab
}

@test "many descriptors of the caller stay outside" {
	for fd in $(seq 10 60); do eval "exec $fd</dev/null"; done
	probe fds
	is "$stdout" "0 1 2 "
}
