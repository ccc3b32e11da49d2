# files.bats - --ro, --rw, --dir, --packages and what may go wrong with host paths

load helpers

@test "--ro shows a folder or a file, read-only" {
	mkdir d
	echo text >d/f
	jail --ro d:/data -- sh -c 'cat /data/f; echo x >/data/g'
	is "$stdout" text
	has "$stderr" "Read-only"
	[ ! -e d/g ]
	jail --ro d/f:/one -- cat /one
	is "$stdout" text
}

@test "--rw writes as the caller" {
	mkdir out
	jail --rw out:/out -c 'open("/out/r.txt","w").write("result")'
	is "$status" 0
	is "$(cat out/r.txt)" result
	is "$(stat -c %u out/r.txt)" "$(id -u)"
}

@test "what is written into --rw cannot be executed inside" {
	mkdir out
	jail --rw out:/out -- sh -c 'cp /usr/bin/busybox /out/b; chmod +x /out/b; /out/b true'
	is "$status" 126
}

@test "private files of the caller are readable when mounted" {
	echo mine >secret
	chmod 600 secret
	jail --ro secret:/secret -- cat /secret
	is "$stdout" mine
}

@test "a parent and a folder below it, in any order" {
	mkdir -p a/b c
	echo 1 >a/x
	echo 2 >c/y
	jail --ro c:/data/b --ro a:/data -- sh -c 'cat /data/x /data/b/y'
	is "$stdout" $'1\n2'
	jail --ro a:/data --ro c:/data/b -- sh -c 'cat /data/x /data/b/y'
	is "$stdout" $'1\n2'
}

@test "a missing mount point inside a mounted folder is an error; nothing is made on the host" {
	mkdir a c
	jail --rw a:/data --ro c:/data/new -- true
	is "$status" 125
	has "$stderr" /data/new
	[ ! -e a/new ]
}

@test "missing sources are named, exit 2, nothing is made" {
	for flag in --ro --rw --dir --packages; do
		jail $flag nowhere -c 'print(1)'
		is "$status" 2
		has "$stderr" nowhere
		is "$stdout" ""
		[ ! -e nowhere ]
	done
}

@test "places inside that may not be covered" {
	mkdir d
	for dst in / /usr /etc/x /proc /dev/x relative /a/../usr; do
		jail --ro d:$dst -c 'print(1)'
		is "$status" 2
		is "$stdout" ""
	done
}

@test "a symlink that the user names is followed once, before the jail starts" {
	mkdir real
	echo x >real/f
	ln -s real link
	jail --ro link:/data -- cat /data/f
	is "$stdout" x
}

@test "symlinks inside a mounted folder do not lead out" {
	mkdir d
	ln -s /etc/shadow d/s
	ln -s ../../../../etc/hostname d/h
	jail --ro d:/data -- sh -c 'cat /data/s; cat /data/h'
	[ "$stdout" != "$(cat /etc/hostname)" ]
	[ "$status" -ne 0 ]
}

@test "temporary files, home, here documents" {
	jail -c 'import tempfile, os, pathlib
with tempfile.NamedTemporaryFile() as f: print(os.path.dirname(f.name))
(pathlib.Path.home() / ".cache").mkdir(); print(os.access("/dev/shm", os.W_OK))'
	is "$stdout" $'/tmp\nTrue'
}

@test "the caller's working directory may be gone or unreadable" {
	mkdir gone
	cd gone
	rmdir ../gone
	is "$("$SMOLJAIL" run -c 'print(1)')" 1
}
