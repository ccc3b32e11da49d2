# behaviour.bats - what programs do inside is what they do outside, and the verdict says what happened
# bats file_tags=behaviour

load helpers

# same [OPTIONS...] < PROGRAM: python3 outside and the jail give the same bytes and status.
# Standard input comes from the file "in" where there is one; the status of the report goes to $verdict.
same() {
	local want got
	cat >main.py
	[ -e in ] || : >in
	want=0
	env -i PATH=/usr/bin:/bin HOME="$PWD" USER=user LOGNAME=user LANG=C.UTF-8 "$PYTHON" main.py <in >want.out 2>want.err || want=$?
	got=0
	"$SMOLJAIL" run --quiet --report report.json "$@" main.py <in >got.out 2>got.err || got=$?
	verdict=$(report .status)
	sed -i "s,$PWD,/work,g; s/0x[0-9a-f]\{6,\}/0x/g" want.out want.err got.out got.err
	cmp want.out got.out && diff want.err got.err && [ "$want" = "$got" ] && return
	fail_with "outside: $want, inside: $got" "$(tail -n 5 want.out want.err got.out got.err)"
}

# ends STATUS EXIT [OPTIONS...] < PROGRAM: the verdict, and the exit status of smoljail.
ends() {
	local wanted=$1 code=$2
	shift 2
	cat >main.py
	jail "$@" main.py
	is "$(report .status) $status" "$wanted $code"
}

# ---- the end of a program ----------------------------------------------------

@test "exit codes and their verdicts" {
	for code in 256 1000 -1 '2**70' None '(1,2)' '"text"' True 3.5; do
		same <<<"import sys; sys.exit($code)"
	done
	same <<<'import os; os._exit(300)'
	# Numbers that mean something when smoljail says them are the program's own here.
	for code in 2 124 125 137 139; do
		same <<<"print('Killed'); raise SystemExit($code)"
		is "$verdict" exit
	done
}

@test "signals that a program sends to itself" {
	for sig in HUP TERM KILL ALRM USR1 XCPU SEGV ABRT PIPE RTMIN; do
		same <<<"import os, signal; print('x', flush=True); signal.signal(signal.SIGPIPE, signal.SIG_DFL); os.kill(os.getpid(), signal.SIG$sig)"
		is "$verdict" signal
	done
	same <<-'END'
		import os, signal, time
		signal.signal(signal.SIGTERM, lambda *a: exit(3))
		os.kill(os.getpid(), signal.SIGTERM)
		time.sleep(9)
	END
	is "$verdict" exit
	same <<<'import _thread, time; _thread.interrupt_main(); time.sleep(9)'
	is "$verdict" signal
}

@test "alarms, pending signals, wake-up descriptors" {
	same <<-'END'
		import os, signal, time
		class Alarm(Exception): pass
		def ring(*a): raise Alarm
		signal.signal(signal.SIGALRM, ring)
		signal.setitimer(signal.ITIMER_REAL, 0.05)
		try: time.sleep(9)
		except Alarm: print("alarm")
		signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
		os.kill(os.getpid(), signal.SIGUSR1)
		print(signal.sigpending(), signal.sigwait([signal.SIGUSR1]), signal.sigtimedwait([signal.SIGUSR2], 0.01))
		r, w = os.pipe()
		os.set_blocking(w, False)
		signal.set_wakeup_fd(w)
		signal.signal(signal.SIGUSR2, lambda *a: None)
		os.kill(os.getpid(), signal.SIGUSR2)
		print(os.read(r, 1))
		print({int(s): str(signal.getsignal(s)) for s in signal.Signals if signal.getsignal(s) != signal.SIG_DFL})
	END
}

@test "last words: atexit, threads, warnings, unraisable errors, hooks" {
	same <<-'END'
		import atexit, sys, threading, time, warnings
		atexit.register(print, "at exit")
		atexit.register(lambda: 1 / 0)
		class Bad:
		    def __del__(self): raise ValueError("in __del__")
		Bad()
		warnings.warn("careful")
		thread = threading.Thread(target=lambda: {}["no"], name="T")
		thread.start()
		thread.join()
		threading.Thread(target=lambda: (time.sleep(0.1), print("late"))).start()
		threading.Thread(target=lambda: [time.sleep(0.001) for _ in range(10**9)], daemon=True).start()
		sys.excepthook = lambda *a: print("hook", a[1])
		raise ExceptionGroup("several", [KeyError(1), TypeError("x")])
	END
	is "$verdict" error
	same <<<$'try:\n\t1 / 0\nexcept ZeroDivisionError as e:\n\te.add_note("a note")\n\traise KeyError("key") from e'
	same <<<'import os, threading, time; threading.Thread(target=os._exit, args=(7,)).start(); time.sleep(9)'
	same <<<'import faulthandler, ctypes; faulthandler.enable(); ctypes.string_at(0)'
	is "$verdict" signal
}

# ---- verdicts ------------------------------------------------------------------

@test "memory: what the program gets over is no oom" {
	same <<<$'try: bytearray(10**15)\nexcept MemoryError: print("caught")'
	is "$verdict" ok
	# More than any machine has: the program's own mistake, where the limit refuses nothing by itself.
	if [[ $(rung memory) == cgroup* ]]; then
		same <<<'bytearray(10**15)'
		is "$verdict" error
	else
		ends oom 137 <<<'bytearray(10**15)'
	fi
	same <<<$'import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))\ntry: bytearray(2**30)\nexcept MemoryError: print("own limit")'
	is "$verdict" ok
}

@test "memory: a child that is ended for it is not the end of the program" {
	[[ $(rung memory) == cgroup* ]] || skip "without a control group the limit ends all processes"
	ends ok 0 --memory 96M <<-'END'
		import os, subprocess, sys
		hungry = "held = [bytearray(b'x' * (1 << 20)) for _ in range(1000)]"
		print(subprocess.run([sys.executable, "-c", hungry]).returncode)
		if os.fork() == 0:
		    exec(hungry)
		print(os.wait()[1] & 127)
	END
	is "$stdout" $'-9\n9'
	ends exit 1 --memory 96M <<-'END'
		import subprocess, sys
		subprocess.run([sys.executable, "-c", "raise SystemExit(9)"])
		print("MemoryError: out of memory", file=sys.stderr)
		sys.exit(1)
	END
}

@test "memory: pages that processes share after a fork count once" {
	ends ok 0 --memory 192M --pids 100 <<-'END'
		import os, time
		shared = bytes(b"x" * (30 << 20))
		for _ in range(60):
		    if os.fork() == 0:
		        time.sleep(0.6)
		        os._exit(0)
		time.sleep(0.4)
		print("parent")
	END
	is "$stdout" parent
}

@test "time: whatever the program is doing" {
	ends timeout 124 --timeout 1 <<<'import subprocess; subprocess.run(["sleep", "99"])'
	ends timeout 124 --timeout 1 <<<'import os; os.system("sleep 99; sleep 99")'
	ends timeout 124 --timeout 1 <<<'import threading; threading.Thread(target=threading.Event().wait).start()'
	ends timeout 124 --timeout 1 <<<$'import time\nwhile True:\n\ttry: time.sleep(99)\n\texcept KeyboardInterrupt: pass'
	ends timeout 124 --timeout 1 <<<$'import time\ntry: time.sleep(99)\nexcept KeyboardInterrupt: print("cleaned up")'
	is "$stdout" "cleaned up"
	ends timeout 124 --timeout 1 <<<$'import re\nre.match("(a*)*b", "a" * 40)'
	# A limit that a program sets for itself is no limit of the policy.
	same <<<$'import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass'
	is "$verdict" signal
}

@test "processes: a program that reaps, or gets over a refusal, is all right" {
	same <<-'END'
		import os
		for i in range(200):
		    if os.fork() == 0:
		        if os.fork() == 0:
		            os._exit(0)
		        os.execv("/bin/true", ["true"]) if i % 2 else os._exit(0)
		    os.wait()
		print("all reaped")
	END
	is "$verdict" ok
	ends ok 0 --pids 16 <<-'END'
		import os, threading
		refused = 0
		for _ in range(40):
		    try:
		        if os.fork() == 0:
		            os._exit(0)
		    except BlockingIOError:
		        refused += 1
		print(refused > 0)
		try:
		    while os.wait(): pass
		except ChildProcessError:
		    print("no zombie left")
		threading.Thread(target=print, args=("and room again",)).start()
	END
	is "$stdout" $'True\nno zombie left\nand room again'
}

@test "disk: full, and a program that makes room" {
	ends ok 0 --disk 4M <<-'END'
		import errno, os
		try: open("big", "wb").write(bytes(8 << 20))
		except OSError as e: print(e.errno == errno.ENOSPC)
		os.unlink("big")
		open("small", "wb").write(bytes(1 << 20))
	END
	is "$stdout" True
	ends disk_limit 1 <<<'[open(f"f{i}", "w").close() for i in range(20000)]'
}

# ---- streams --------------------------------------------------------------------

@test "order of output between a program, its children and its descriptors" {
	same <<-'END'
		import os, subprocess, sys
		print("late")
		os.write(1, b"first\n")
		os.system("echo second")
		sys.stdout.flush()
		subprocess.run(["echo", "third"])
		print("buffered twice")
		if os.fork() == 0:
		    sys.exit()
		os.wait()
		sys.stdout.buffer.write(b"\xff\xfe\n")
		print("fourth", file=sys.stderr)
	END
}

@test "standard input: large, binary, unread, in part, ended" {
	head -c 20000000 /dev/urandom >in
	same <<<'import hashlib, sys; print(hashlib.md5(sys.stdin.buffer.read()).hexdigest())'
	same <<<'print("reads nothing")'
	same <<<'import sys; print(sys.stdin.buffer.read(100).hex())'
	seq 500000 >in
	same <<<'import os; print(input(), input()); os.system("wc -l")'
	printf 'one\r\ntwo\rthree\n\xff' >in
	same <<<'import sys; [print(ascii(line)) for line in sys.stdin]'
	echo word >in
	same <<<'import getpass; print(getpass.getpass()); print(input("more? "))'
	is "$verdict" error
	same <<<$'import sys\nsys.stdin.close()\ntry: input()\nexcept ValueError as e: print(e)'
	same <<<'import readline; print(input("> "))'
}

@test "long lines, many lines, and a debugger on standard input" {
	same <<<'print("x" * 5_000_000)'
	same <<<$'import sys\nfor i in range(100000): print(i, file=sys.stderr if i % 9 == 0 else sys.stdout)'
	printf 'p 6*7\nc\n' >in
	same <<<$'breakpoint()\nprint("done")'
}

@test "no terminal: what asks for one" {
	same <<-'END'
		import curses, os, shutil, sys
		print([s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)], shutil.get_terminal_size())
		for ask in (os.get_terminal_size, lambda: os.ttyname(1), lambda: os.tcgetpgrp(1)):
		    try: print(ask())
		    except OSError as e: print(e)
		curses.setupterm("xterm", 1)
		print(curses.tigetnum("colors"))
	END
}

# ---- files ------------------------------------------------------------------------

@test "names of files: any bytes, deep, in a circle" {
	same <<-'END'
		import os, pathlib
		os.mkdir("names")
		os.chdir("names")
		for name in ("ä", "日本", "a b", "\udcff", "e\u0301", "-x", "*", "x" * 255):
		    open(name, "w").close()
		print([ascii(n) for n in sorted(os.listdir())], sorted(os.listdir(b".")))
		try: open("x" * 256, "w")
		except OSError as e: print(e.errno)
		os.symlink("two", "one"); os.symlink("one", "two")
		try: open("one")
		except OSError as e: print(e)
		print(os.path.exists("one"), os.path.lexists("one"))
		for _ in range(300):
		    os.mkdir("deep"); os.chdir("deep")
		print(len(os.getcwd().split("deep")))
		os.chdir("/"); os.mkdir("/tmp/gone"); os.chdir("/tmp/gone"); os.rmdir("/tmp/gone")
		try: os.getcwd()
		except OSError as e: print(e)
	END
}

@test "locks, FIFOs, maps, holes, links, times" {
	same <<-'END'
		import fcntl, mmap, os, threading
		os.mkfifo("fifo")
		threading.Thread(target=lambda: open("fifo", "w").write("through")).start()
		print(open("fifo").read())
		lock = open("lock", "w")
		fcntl.flock(lock, fcntl.LOCK_EX); fcntl.lockf(lock, fcntl.LOCK_EX)
		if os.fork() == 0:
		    for how in (fcntl.flock, fcntl.lockf):
		        try: how(open("lock", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB)
		        except OSError as e: print(e, flush=True)
		    os._exit(0)
		os.wait()
		hole = open("hole", "w+b")
		hole.seek(200 << 20); hole.write(b"x"); hole.flush()
		print(os.stat("hole").st_blocks < 99, os.lseek(hole.fileno(), 0, os.SEEK_DATA) > 0)
		m = mmap.mmap(hole.fileno(), 4096)
		m[:3] = b"abc"; m.flush(); m.resize(8192)
		print(os.pread(hole.fileno(), 4, 0), len(m))
		os.link("hole", "link"); os.utime("link", (1, 2)); os.chmod("link", 0o4750)
		print(os.stat("hole").st_nlink, os.stat("hole").st_mtime, oct(os.stat("hole").st_mode), oct(os.umask(0)))
		os.rename("link", "/tmp/moved") if os.stat("/tmp").st_dev == os.stat(".").st_dev else os.system("mv link /tmp/moved")
		print(os.path.getsize("/tmp/moved")); os.unlink("/tmp/moved")
	END
}

@test "ten thousand files" {
	same <<<$'import os, shutil\nos.mkdir("many")\nfor i in range(10000): open(f"many/{i}", "w").close()\nprint(len(os.listdir("many")))\nshutil.rmtree("many")'
}

@test "archives, databases, checksums" {
	same <<-'END'
		import bz2, dbm.dumb, gzip, hashlib, lzma, os, shelve, shutil, sqlite3, ssl, tarfile, zipfile, zlib
		os.mkdir("d"); open("d/f", "w").write("x" * 1000)
		with zipfile.ZipFile("z.zip", "w", zipfile.ZIP_LZMA) as z: z.write("d/f")
		print(zipfile.ZipFile("z.zip").read("d/f") == b"x" * 1000)
		print(sorted(tarfile.open(shutil.make_archive("t", "gztar", "d")).getnames()))
		print([m.decompress(m.compress(b"abc")) for m in (bz2, gzip, lzma, zlib)])
		one = sqlite3.connect("s.db", timeout=0.05); one.execute("create table t(x)"); one.commit(); one.execute("begin exclusive")
		two = sqlite3.connect("s.db", timeout=0.05)
		try: two.execute("insert into t values (1)")
		except sqlite3.OperationalError as e: print(e)
		one.commit(); two.execute("insert into t values (1)"); two.commit()
		print(one.execute("select count(*) from t").fetchone())
		with shelve.open("shelf") as s: s["a"] = [1]
		print(hashlib.scrypt(b"a", salt=b"b", n=2, r=1, p=1).hex()[:8], hashlib.new("md5", b"a").hexdigest())
		i, o = ssl.MemoryBIO(), ssl.MemoryBIO()
		try: ssl.create_default_context().wrap_bio(i, o, server_hostname="x").do_handshake()
		except ssl.SSLWantReadError: print(len(o.read()) > 100)
	END
}

# ---- processes, threads, event loops --------------------------------------------------

@test "multiprocessing: every start method, pools, managers, shared memory" {
	same <<-'END'
		import concurrent.futures as futures, multiprocessing as mp, os
		from multiprocessing import shared_memory
		def die(_): os._exit(3)
		if __name__ == "__main__":
		    for method in ("fork", "spawn", "forkserver"):
		        with mp.get_context(method).Pool(2) as pool: print(method, pool.map(abs, range(-3, 0)))
		    queue = mp.Queue(); child = mp.Process(target=queue.put, args=(3,)); child.start(); print(queue.get()); child.join()
		    with mp.Manager() as manager: d = manager.dict(a=1); print(dict(d))
		    shm = shared_memory.SharedMemory(create=True, size=100); shm.buf[0] = 5; print(shm.buf[0]); shm.close(); shm.unlink()
		    with futures.ProcessPoolExecutor(2) as pool:
		        print(list(pool.map(abs, [-1, -2])))
		        try: pool.submit(die, 1).result()
		        except futures.process.BrokenProcessPool as e: print(type(e).__name__)
	END
}

@test "asyncio: subprocesses, signals, unix sockets, threads, time" {
	same <<-'END'
		import asyncio, os, signal
		async def main():
		    p = await asyncio.create_subprocess_shell("read x; echo got $x; exit 4", stdin=-1, stdout=-1)
		    print(await p.communicate(b"in\n"), p.returncode)
		    event = asyncio.Event()
		    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, event.set)
		    os.kill(os.getpid(), signal.SIGUSR1); await asyncio.wait_for(event.wait(), 9)
		    async def serve(r, w): w.write((await r.readline())[::-1]); await w.drain(); w.close()
		    server = await asyncio.start_unix_server(serve, "socket")
		    r, w = await asyncio.open_unix_connection("socket"); w.write(b"abc\n"); print(await r.read()); w.close(); server.close()
		    print(await asyncio.to_thread(sum, [1, 2]), await asyncio.get_running_loop().run_in_executor(None, lambda: asyncio.run(asyncio.sleep(0, 5))))
		    try: await asyncio.wait_for(asyncio.sleep(9), 0.05)
		    except asyncio.TimeoutError: print("timeout")
		asyncio.run(main())
	END
}

@test "shell: pipelines, here documents, jobs, signals" {
	same <<-'END'
		import subprocess
		for command in ('printf "b\\na\\n" | sort | tr a-z A-Z', "exit 7", "kill -9 $$", "cat <<X\nhere $((6*7))\nX", "yes | head -1",
		                "sleep 0.1 & wait; echo waited", "trap 'echo bye' EXIT; exit 3", "nothing-like-this 2>/dev/null", "false || echo or",
		                "f() { echo $1; }; f x", "for i in 1 2; do echo $i; done", "exec 3>f; echo a >&3; cat f", "ulimit -n 64; ulimit -n",
		                "echo $0 >/dev/null; set -e; false; echo not", "(sleep 9 & echo $! >pid); kill $(cat pid); echo killed"):
		    done = subprocess.run(command, shell=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
		    print(done.returncode, repr(done.stdout), repr(done.stderr))
		try: subprocess.run(["sleep", "9"], timeout=0.1)
		except subprocess.TimeoutExpired as e: print(type(e).__name__)
		print(len(subprocess.run(["cat"], input=bytes(3_000_000), capture_output=True).stdout))
	END
}

@test "sockets inside: pairs, passed descriptors, abstract names, a server of one's own" {
	same --net loopback <<-'END'
		import http.server, os, select, socket, threading, urllib.request
		a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.send(b"x"); print(b.recv(9))
		a, b = socket.socketpair(); r, w = os.pipe(); socket.send_fds(a, [b"m"], [w])
		message, fds, *_ = socket.recv_fds(b, 9, 5); os.write(fds[0], b"y"); print(message, os.read(r, 1), select.select([], [w], [], 0)[1] == [w])
		s = socket.socket(socket.AF_UNIX); s.bind(f"\0behaviour {os.getpid()}"); s.listen(); socket.socket(socket.AF_UNIX).connect(s.getsockname())
		class Hello(http.server.BaseHTTPRequestHandler):
		    def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(self.path.encode())
		    def log_message(self, *_): pass
		server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
		threading.Thread(target=server.serve_forever, daemon=True).start()
		print(urllib.request.urlopen(f"http://localhost:{server.server_port}/path").read())
	END
}

# ---- the interpreter and its surroundings ---------------------------------------------

@test "recursion: in Python, in C, in a thread with a large stack" {
	same <<<$'def f(): f()\nf()'
	is "$verdict" error
	same <<<$'import sys\nsys.setrecursionlimit(10**5)\ndef f(n): return n and 1 + f(n - 1)\nprint(f(50000))'
	same <<<$'import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(64 << 20)\ndef f(n): return n and 1 + f(n - 1)\nt = threading.Thread(target=lambda: print(f(100000)))\nt.start(); t.join()'
	same <<<$'import sys\nsys.setrecursionlimit(10**7)\nclass A:\n\tdef __repr__(self): return repr(self)\nrepr(A())'
	is "$verdict" signal
}

@test "clocks, zones, locale, numbers, randomness" {
	same <<-'END'
		import datetime, decimal, locale, os, random, secrets, sys, time, uuid, zoneinfo
		print(time.tzname, datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")).isoformat(), len(zoneinfo.available_timezones()) > 400)
		os.environ["TZ"] = "America/New_York"; time.tzset(); print(time.tzname, time.strftime("%H %Z", time.localtime(1700000000)))
		start = time.perf_counter(); [time.sleep(0.001) for _ in range(20)]; print(time.perf_counter() - start >= 0.02)
		print(all(time.clock_gettime(getattr(time, c)) >= 0 for c in dir(time) if c.startswith("CLOCK_")))
		print(locale.getlocale(), locale.getpreferredencoding(), sys.getfilesystemencoding(), sys.stdout.encoding, sys.stdin.errors, sys.stderr.errors)
		try: locale.setlocale(locale.LC_ALL, "xx_XX.UTF-8")
		except locale.Error as e: print(e)
		decimal.getcontext().prec = 40; print(decimal.Decimal(2).sqrt(), 2**20000 % 10**9)
		random.seed(1); print(random.random(), len({random.SystemRandom().random() for _ in range(99)}), len(secrets.token_hex(8)))
		print(uuid.uuid1() != uuid.uuid1(), uuid.uuid4().version)
		try: print(str(10**5000))
		except ValueError as e: print(e)
	END
}

@test "hash seeds: fresh in each run, fixed where the environment says so" {
	local one two
	one=$("$SMOLJAIL" run -c 'print(hash("a"))') two=$("$SMOLJAIL" run -c 'print(hash("a"))')
	[ "$one" != "$two" ] || fail_with "the same twice: $one"
	is "$("$SMOLJAIL" run --env PYTHONHASHSEED=3 -c 'print(hash("a"))')" "$(PYTHONHASHSEED=3 "$PYTHON" -c 'print(hash("a"))')"
}

@test "tools that look at the program itself" {
	same <<-'END'
		import cProfile, doctest, gc, inspect, pstats, sys, timeit, tracemalloc, weakref
		def f():
		    """
		    >>> 1 + 1
		    3
		    """
		print(inspect.getsource(f)); doctest.testmod()
		tracemalloc.start(); x = [1] * 1000; print(tracemalloc.get_traced_memory()[0] > 8000)
		class A: pass
		a = A(); a.a = a; w = weakref.ref(a); del a; print(gc.collect() > 0, w(), gc.isenabled(), gc.get_threshold())
		seen = []; sys.settrace(lambda *a: seen.append(a[1])); f(); sys.settrace(None); print(seen)
		events = []; sys.addaudithook(lambda name, args: events.append(name)); open("/dev/null").close(); print("open" in events)
		p = cProfile.Profile(); p.runcall(sum, [1]); print(pstats.Stats(p).total_calls); print(timeit.timeit("1", number=9) >= 0)
	END
}

@test "limits that a program sets for itself, and a lower priority" {
	same <<-'END'
		import os, resource
		for limit, value in ((resource.RLIMIT_NOFILE, 64), (resource.RLIMIT_STACK, 1 << 20), (resource.RLIMIT_DATA, 1 << 30)):
		    resource.setrlimit(limit, (value, value))
		    print(resource.getrlimit(limit))
		try: [os.open("/dev/null", os.O_RDONLY) for _ in range(99)]
		except OSError as e: print(e)
		print(os.nice(0), os.nice(5), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0))
		os.sched_yield()
	END
	ends error 1 <<<'import os; os.nice(5); os.nice(-1)'
	has "$stderr" "PermissionError: [Errno 1]"
}

@test "processes of one's own: descriptors, spawn, sessions, pidfds" {
	same <<-'END'
		import os, signal, subprocess, sys
		r, w = os.pipe(); os.set_inheritable(w, True)
		subprocess.run([sys.executable, "-c", f"import os; os.write({w}, b'x')"], close_fds=False); print(os.read(r, 1))
		pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 5"], os.environ); print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
		p = subprocess.Popen(["sleep", "9"], start_new_session=True); print(os.getsid(p.pid) == p.pid)
		signal.pidfd_send_signal(os.pidfd_open(p.pid), signal.SIGKILL); print(p.wait())
		print(subprocess.run([sys.executable, "-O", "-", "a", "b c"], input="import sys; print(sys.argv, __debug__)", text=True, capture_output=True).stdout)
		print(open(f"/proc/{os.getpid()}/comm").read() != "", os.getpid() == int(os.readlink("/proc/self")))
	END
}
