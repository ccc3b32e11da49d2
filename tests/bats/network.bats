# network.bats - none, loopback, host

load helpers

@test "none: sockets are refused at once, with the words people know" {
	jail -c 'import socket
try: socket.create_connection(("192.0.2.1", 80), timeout=5)
except OSError as e: print(e)
try: socket.getaddrinfo("service.invalid", 80)
except OSError as e: print(type(e).__name__)
print(socket.gethostbyname("localhost"))'
	has "$stdout" "unreachable"
	has "$stdout" "gaierror"
	has "$stdout" "127.0.0.1"
	is "$(report '[.denied[] | select(.syscall == "socket")] | length > 0')" true
	has "$(report '.denied[] | select(.syscall == "socket") | .rule')" "network.mode=none"
	has "$(report '.denied[] | select(.syscall == "socket") | .allow_with')" "--net"
}

@test "only unix sockets can be made without a network" {
	probe families
	is "$stdout" "1 "
}

@test "python-strict has no sockets at all" {
	jail --policy python-strict -c 'import socket
try: socket.socketpair()
except OSError as e: print("refused")'
	is "$stdout" refused
}

@test "loopback: up, and nothing else" {
	probe --net loopback lo
	is "$stdout" up
	probe --net loopback connect 192.0.2.1 80
	is "$stdout" ENETUNREACH
	jail --net loopback -c 'import socket, threading
s = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: s.accept()[0].sendall(b"hi")).start()
print(socket.create_connection(s.getsockname()).recv(9))'
	is "$stdout" "b'hi'"
}

@test "loopback is the jail's own: a server on the host is not there" {
	python3 -c 'import socket, time; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(20)' >port.txt &
	local pid=$!
	for _ in $(seq 50); do [ -s port.txt ] && break; sleep 0.1; done
	probe --net loopback connect 127.0.0.1 "$(cat port.txt)"
	kill $pid
	[[ $stdout =~ ECONNREFUSED|EINPROGRESS ]] || fail_with connect
	is "$(report .status)" ok
}

@test "host: the host's loopback answers, and the report does not claim a network namespace" {
	python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); s.accept()[0].sendall(b"hello")' >port.txt &
	local pid=$!
	for _ in $(seq 50); do [ -s port.txt ] && break; sleep 0.1; done
	jail --net host -c "import socket; print(socket.create_connection(('127.0.0.1', $(cat port.txt))).recv(9))"
	kill $pid 2>/dev/null || true
	is "$stdout" "b'hello'"
	is "$(report '.isolation | index("netns")')" null
}

@test "abstract sockets of the host are out of reach, with its network or without" {
	local name=smoljail-canary-$$-$BATS_TEST_NUMBER
	NAME=$name python3 -c 'import os, socket, time; s = socket.socket(socket.AF_UNIX); s.bind("\0" + os.environ["NAME"]); s.listen(); print(1, flush=True); time.sleep(20)' >up.txt &
	local pid=$!
	for _ in $(seq 50); do [ -s up.txt ] && break; sleep 0.1; done
	probe abstract $name
	[[ $stdout =~ ECONNREFUSED|EPERM|EACCES ]] || fail_with none
	probe --net host abstract $name
	local with_host=$stdout
	kill $pid
	if report '.isolation[]' | grep -Eq 'landlock:([6-9]|[1-9][0-9])'; then
		[[ $with_host =~ EPERM|EACCES ]] || fail_with "host: $with_host"
	fi
}
