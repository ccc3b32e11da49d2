#!/usr/bin/env bats
# rootfs.bats - smoljail rootfs list, path, verify; and what the Python root holds, seen from inside

bats_require_minimum_version 1.5.0

setup_file() {
	# A copy of the program beside roots of its own: none of the real ones are touched.
	PLACE=$(mktemp -d "${TMPDIR:-/tmp}/rootfs.XXXXXX")
	export PLACE
	umask 022
	mkdir -p "$PLACE/rootfs"
	cp "${SMOLJAIL:-build/smoljail}" "$PLACE/smoljail"
}

teardown_file() {
	rm -rf "$PLACE"
}

setup() {
	SMOLJAIL=${SMOLJAIL:-build/smoljail}
}

# make_root NAME: three entries, correct
make_root() {
	rm -rf "$PLACE/rootfs/$1"
	mkdir -p "$PLACE/rootfs/$1/etc"
	echo 127.0.0.1 localhost >"$PLACE/rootfs/$1/etc/hosts"
	chmod 755 "$PLACE/rootfs/$1" "$PLACE/rootfs/$1/etc"
	chmod 644 "$PLACE/rootfs/$1/etc/hosts"
	{
		echo "d 0755 0 - ."
		echo "d 0755 0 - etc"
		echo "f 0644 20 $(sha256sum <"$PLACE/rootfs/$1/etc/hosts" | cut -d' ' -f1) etc/hosts"
	} >"$PLACE/rootfs/$1.manifest"
	chmod 644 "$PLACE/rootfs/$1.manifest"
}

# ---- the command -----------------------------------------------------------

@test "rootfs verify: the built root is what its manifest says" {
	run --separate-stderr "$SMOLJAIL" rootfs verify
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[[ $output == "python: "*" entries checked, 0 differences" ]]
}

@test "rootfs path: a folder with usr/bin/python3" {
	run --separate-stderr "$SMOLJAIL" rootfs path
	[ "$status" -eq 0 ]
	[ -x "$output/usr/bin/python3" ]
	[ "$("$SMOLJAIL" rootfs path python)" = "$output" ]
}

@test "rootfs list: name and folder, sorted" {
	make_root zeta
	make_root alpha
	run --separate-stderr "$PLACE/smoljail" rootfs list
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "alpha	$PLACE/rootfs/alpha" ]
	[[ $output == *"zeta	$PLACE/rootfs/zeta"* ]]
	rm -rf "$PLACE"/rootfs/*
}

@test "rootfs verify: names each difference and exits 1" {
	make_root one
	echo 127.0.0.1 localhosT >"$PLACE/rootfs/one/etc/hosts"
	run --separate-stderr "$PLACE/smoljail" rootfs verify one
	[ "$status" -eq 1 ]
	[ "${lines[0]}" = "etc/hosts: has other contents" ]
	[ "${lines[1]}" = "one: 3 entries checked, 1 difference" ]
	chmod 4755 "$PLACE/rootfs/one/etc/hosts"
	touch "$PLACE/rootfs/one/extra"
	run "$PLACE/smoljail" rootfs verify one
	[ "$status" -eq 1 ]
	[[ $output == *"extra: is not in the manifest"* ]]
	[[ $output == *"etc/hosts: has mode 4755 instead of 0644"* ]]
	rm "$PLACE/rootfs/one/etc/hosts"
	run "$PLACE/smoljail" rootfs verify one
	[[ $output == *"etc/hosts: is missing"* ]]
}

@test "rootfs verify: file names from a hostile root do not reach the terminal raw" {
	make_root one
	touch "$PLACE/rootfs/one/"$'\033[31m\n'
	run "$PLACE/smoljail" rootfs verify one
	[ "${lines[0]}" = '\x1b[31m\x0a: is not in the manifest' ]
}

@test "rootfs: a root or manifest that others may write is refused" {
	make_root one
	chmod 777 "$PLACE/rootfs/one"
	run --separate-stderr "$PLACE/smoljail" rootfs path one
	[ "$status" -eq 125 ]
	[ -z "$output" ]
	[[ $stderr == *"mode is 0777"*"chmod go-w"* ]]
	chmod 755 "$PLACE/rootfs/one"
	chmod 666 "$PLACE/rootfs/one.manifest"
	run --separate-stderr "$PLACE/smoljail" rootfs verify one
	[ "$status" -eq 125 ]
	[[ $stderr == *"one.manifest"*"cannot be trusted"* ]]
}

@test "rootfs: damaged, missing and huge manifests" {
	make_root one
	echo "f 4755 0 - ../../etc/passwd" >>"$PLACE/rootfs/one.manifest"
	run --separate-stderr "$PLACE/smoljail" rootfs verify one
	[ "$status" -eq 125 ]
	[[ $stderr == *"is damaged"*"line 4: "* ]]
	truncate -s 1G "$PLACE/rootfs/one.manifest"
	run --separate-stderr "$PLACE/smoljail" rootfs verify one
	[ "$status" -eq 125 ]
	rm "$PLACE/rootfs/one.manifest"
	run --separate-stderr "$PLACE/smoljail" rootfs verify one
	[ "$status" -eq 125 ]
	[[ $stderr == *"one.manifest"*"No such file"* ]]
}

@test "rootfs: unknown names, names that are paths, and wrong usage" {
	run --separate-stderr "$SMOLJAIL" rootfs path nothing-of-that-name
	[ "$status" -eq 125 ]
	[[ $stderr == *'no root named "nothing-of-that-name"'*"looked in "* ]]
	for name in ../rootfs/python /etc Python "" .hidden; do
		run --separate-stderr "$SMOLJAIL" rootfs path "$name"
		[ "$status" -eq 125 ]
		[[ $stderr == *"is not the name of a root"* ]]
	done
	for args in "" "frobnicate" "list x" "path a b" "verify --all"; do
		# shellcheck disable=SC2086
		run --separate-stderr "$SMOLJAIL" rootfs $args
		[ "$status" -eq 2 ]
		[ -z "$output" ]
		[[ $stderr == *"rootfs: "*"smoljail rootfs --help"* ]]
	done
	run "$SMOLJAIL" rootfs --help
	[ "$status" -eq 0 ]
}

# ---- the Python root from inside -------------------------------------------

@test "root: the modules that programs expect import" {
	run --separate-stderr "$SMOLJAIL" run -c '
import asyncio, bz2, concurrent.futures, csv, ctypes, curses, dbm.ndbm, decimal, distutils.core, doctest, email, hashlib
import http.client, json, logging, lzma, mmap, multiprocessing, pdb, pickle, pydoc, readline, resource, shelve, sqlite3
import ssl, statistics, sysconfig, tempfile, tomllib, unittest.mock, urllib.request, uuid, venv, xml.etree.ElementTree
import xmlrpc.client, zipfile, zlib, zoneinfo
print("fine")'
	[ "$status" -eq 0 ]
	[ "$output" = fine ]
}

@test "root: every module of sys.stdlib_module_names imports, but for the ones left out" {
	run "$SMOLJAIL" run -c '
import importlib, sys
other_systems = {"_msi", "_overlapped", "_scproxy", "_winapi", "msilib", "msvcrt", "nt", "winreg", "winsound"}
left_out = {"_gdbm", "_tkinter", "ensurepip", "idlelib", "nis", "ossaudiodev", "spwd", "tkinter", "turtle", "turtledemo"}
loud = {"antigravity", "this"}
for name in sorted(set(sys.stdlib_module_names) - other_systems - left_out - loud):
    try:
        importlib.import_module(name)
    except BaseException as e:
        print(name, repr(e))
print("done")'
	[ "$output" = "done" ]
}

@test "root: time zones, locale, users, name service, media types" {
	run "$SMOLJAIL" run -c '
import datetime, getpass, grp, locale, mimetypes, os, pathlib, pwd, socket, time, zoneinfo
print(locale.setlocale(locale.LC_ALL, "C.UTF-8"))
summer = datetime.datetime(2023, 7, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Paris"))
print(summer.isoformat(), len(zoneinfo.available_timezones()) > 400, time.tzname[0])
print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir, grp.getgrgid(os.getgid()).gr_name, pathlib.Path.home())
print(socket.getservbyname("https"), socket.getprotobyname("tcp"), socket.gethostbyname("localhost"))
print(mimetypes.guess_type("a.md")[0], mimetypes.guess_type("a.html")[0])'
	[ "${lines[0]}" = C.UTF-8 ]
	[ "${lines[1]}" = "2023-07-01T00:00:00+02:00 True UTC" ]
	[ "${lines[2]}" = "user /work user /work" ]
	[ "${lines[3]}" = "443 6 127.0.0.1" ]
	[ "${lines[4]}" = "text/markdown text/html" ]
}

@test "root: byte code is used as it lies there, and names the files inside" {
	run "$SMOLJAIL" run -c '
import argparse, importlib.util, os, sys
print(argparse.__cached__ == importlib.util.cache_from_source(argparse.__file__), os.path.exists(argparse.__cached__))
print(open(argparse.__cached__, "rb").read(8)[4:] == b"\1\0\0\0")
print(argparse.ArgumentParser.parse_args.__code__.co_filename == argparse.__file__)
import inspect
print(inspect.getsource(argparse.ArgumentParser.parse_args).lstrip().startswith("def parse_args"))'
	[ "$output" = $'True True\nTrue\nTrue\nTrue' ]
}

@test "root: libraries are found by name, certificates are there" {
	run "$SMOLJAIL" run -c '
import ctypes, ctypes.util, ssl
print(ctypes.util.find_library("c"), ctypes.CDLL("libc.so.6").abs(-7), ctypes.util.find_library("nope"))
for name in ("libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"):
    ctypes.CDLL(name)
print(ssl.create_default_context().verify_mode.name)'
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = "libc.so.6 7 None" ]
	[ "${lines[1]}" = CERT_REQUIRED ]
}

@test "root: sh and the common utilities" {
	run "$SMOLJAIL" run -- sh -c '
printf "b\na\nc\n" >f; sort f | head -n 2 | tr a-z A-Z | xargs
seq 3 | awk "{ n += \$1 } END { print n }"; echo abc | sed s/b/-/ | cut -c1-2
tar cf - f | gzip | gunzip | tar tf -; find . -name f; grep -c . f; basename /x/y.z .z
echo | sha256sum | cut -c1-8; date -u -d @0 +%Y; test -x /bin/sh && expr 6 \* 7'
	[ "$status" -eq 0 ]
	[ "$output" = $'A B\n6\na-\nf\n./f\n3\ny\n01ba4719\n1970\n42' ]
}

@test "root: sys.executable is a working interpreter by all its names" {
	run "$SMOLJAIL" run -c '
import subprocess, sys
version = "python%d.%d" % sys.version_info[:2]
for name in (sys.executable, "python3", "python", version, "/usr/bin/" + version):
    print(subprocess.run([name, "-c", "import sys, os; print(sys.prefix, os.__file__.rpartition(chr(47))[2])"],
                         capture_output=True, text=True).stdout, end="")'
	[ "$status" -eq 0 ]
	[ "$output" = $'/usr os.py\n/usr os.py\n/usr os.py\n/usr os.py\n/usr os.py' ]
}

@test "root: no set-id file, nothing writable, no package manager, no compiler" {
	run "$SMOLJAIL" run -- sh -c '
find /usr /etc -perm /6000 2>/dev/null; find /usr /etc ! -type l -perm /022 2>/dev/null
for c in su sudo mount umount wget nc telnet apt dpkg rpm pip pip3 gcc cc ld make; do command -v $c; done
touch /usr/x /etc/x 2>/dev/null && echo written
python3 -c "import ensurepip" 2>/dev/null && echo ensurepip; echo end'
	echo "$output"
	[[ $output != */* ]]
	[ "${lines[-1]}" = end ]
}
