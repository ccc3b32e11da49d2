/*
 * test_root.c - finding a root, the manifest parser, and the comparison of src/root
 *
 * Runs as: any user; as root a few more cases
 * Trusts: nothing
 * Never: leaves its folder under /tmp behind
 */
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "root/internal.h"
#include "tap.h"

#define DIGEST "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define OTHER_UID 12345
#define SAYS_MAX 8192

static char top[] = "/tmp/test_root.XXXXXX";

/* ---- helpers ------------------------------------------------------- */

static const char *in_top(const char *name)
{
	static char path[4][PATH_MAX];
	static unsigned int turn;
	char *p = path[turn++ % 4];

	snprintf(p, PATH_MAX, "%s/%s", top, name);
	return p;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
	int fd = open(in_top(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	if (fd < 0 || io_write_full(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0)
		printf("# cannot write %s: %s\n", name, strerror(errno));
	close(fd);
}

static void make_dir(const char *name, mode_t mode)
{
	if (mkdir(in_top(name), 0755) < 0 && errno != EEXIST)
		printf("# cannot make %s: %s\n", name, strerror(errno));
	chmod(in_top(name), mode);
}

static void make_link(const char *target, const char *name)
{
	if (symlink(target, in_top(name)) < 0)
		printf("# cannot link %s: %s\n", name, strerror(errno));
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st;
	(void)kind;
	(void)f;
	return remove(path);
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- manifest ------------------------------------------------------ */

static int parse(const char *text, size_t len, struct manifest *ret, struct sj_err *err)
{
	char *copy = malloc(len + 1);

	memcpy(copy, text, len);
	copy[len] = '\0';
	return manifest_parse(copy, len, "x.manifest", ret, err);
}

static void test_good_manifest(void)
{
	static const char text[] = "d 0755 0 - .\n"
				   "l 0777 7 usr/bin bin\n"
				   "d 0755 0 - etc\n"
				   "f 0644 0 " DIGEST " etc/a.b\n"
				   "f 0444 12 " DIGEST " etc/\xc3\xa4\n";
	_cleanup_manifest_ struct manifest m = { 0 };
	const struct manifest_entry *e;
	struct sj_err err = { 0 };

	if (!is_int(0, parse(text, sizeof(text) - 1, &m, &err), "a good manifest parses"))
		return;
	is_int(5, m.n, "all its lines");
	e = manifest_lookup(&m, "bin");
	ok(e && e->type == MANIFEST_LINK && e->size == 7 && strcmp(e->what, "usr/bin") == 0, "a link");
	e = manifest_lookup(&m, "etc/\xc3\xa4");
	ok(e && e->type == MANIFEST_FILE && e->mode == 0444 && e->size == 12, "a file");
	ok(!manifest_lookup(&m, "etc/b") && !manifest_lookup(&m, ""), "what is not there is not found");
}

static void test_bad_manifests(void)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "empty" },
		{ "d 0755 0 - .", "cut off" },
		{ "\n", "five fields" },
		{ "d 0755 0 -\n", "five fields" },
		{ "d  0755 0 - .\n", "five fields" },
		{ "f 0644 0 " DIGEST " a\n", "\".\", is not in it" },
		{ "l 0777 1 a .\n", "is not a folder" },
		{ "x 0755 0 - .\n", "type" },
		{ "dd 0755 0 - .\n", "type" },
		{ "d 755 0 - .\n", "mode" },
		{ "d 4755 0 - .\n", "mode" },
		{ "d 0798 0 - .\n", "mode" },
		{ "d 0755 00 - .\n", "size" },
		{ "d 0755 -1 - .\n", "size" },
		{ "d 0755 1 - .\n", "folder" },
		{ "d 0755 0 x .\n", "folder" },
		{ "d 0755 0 - .\nf 0644 1234567890123456789 " DIGEST " a\n", "line 2: the size" },
		{ "d 0755 0 - .\nf 0644 1 " DIGEST "0 a\n", "digest" },
		{ "d 0755 0 - .\nf 0644 1 e3b0 a\n", "digest" },
		{ "d 0755 0 - .\nf 0644 1 E3" DIGEST " a\n", "digest" },
		{ "d 0755 0 - .\nl 0777 4 usr a\n", "link" },
		{ "d 0755 0 - .\nd 0755 0 - /a\n", "path" },
		{ "d 0755 0 - .\nd 0755 0 - a/\n", "path" },
		{ "d 0755 0 - .\nd 0755 0 - a//b\n", "path" },
		{ "d 0755 0 - .\nd 0755 0 - a/../b\n", "path" },
		{ "d 0755 0 - .\nd 0755 0 - ..\n", "path" },
		{ "d 0755 0 - .\nd 0755 0 - a/.\n", "path" },
		{ "d 0755 0 - .\nd 0755 0 - \n", "path" },
		{ "d 0755 0 - .\nd 0755 0 - a b\n", "path" },
		{ "d 0755 0 - .\nd 0755 0 - a\tb\n", "path" },
		{ "d 0755 0 - .\nd 0755 0 - a\r\n", "path" },
		{ "d 0755 0 - .\nd 0755 0 - b\nd 0755 0 - a\n", "line 3: the paths are not sorted" },
		{ "d 0755 0 - .\nd 0755 0 - .\n", "not sorted" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct manifest m = { .n = 77 };
		struct sj_err err = { 0 };
		int r = parse(bad[i].text, strlen(bad[i].text), &m, &err);

		if (r != -EBADMSG || m.n != 77 || !err.fix[0])
			printf("# got %d for %s\n", r, bad[i].text);
		ok(r == -EBADMSG && m.n == 77 && err.fix[0] && strstr(err.why, bad[i].why), "bad manifest %zu: %s", i, err.why);
	}
}

static void test_hostile_sizes(void)
{
	_cleanup_buf_ struct buf b = BUF_INIT(ROOT_MANIFEST_MAX);
	struct manifest m = { 0 };
	struct sj_err err = { 0 };
	char longer[ROOT_PATH_MAX + 2];

	is_int(-EBADMSG, parse("d 0755 0 - .\nd 0755 0 - a\0b\n", 28, &m, &err), "a NUL is refused");
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	buf_printf(&b, "d 0755 0 - .\nd 0755 0 - %s\n", longer);
	is_int(-EBADMSG, parse(b.data, b.len, &m, &err), "a path past the maximum is refused");
	b.len = 0;
	buf_printf(&b, "d 0755 0 - .\n");
	for (unsigned int i = 1; i <= ROOT_ENTRIES_MAX; i++)
		buf_printf(&b, "d 0755 0 - %06u\n", i);
	is_int(-EBADMSG, parse(b.data, b.len, &m, &err), "too many lines are refused");
	has_str("too many", err.why, "and the reason says so");
}

/* ---- comparison ---------------------------------------------------- */

static char says[SAYS_MAX];

static void note(void *arg, const char *path, const char *what)
{
	size_t used = strlen(says);

	++*(int *)arg;
	snprintf(says + used, sizeof(says) - used, "%s %s\n", path, what);
}

static int verify(struct sj_err *err)
{
	char path[PATH_MAX], manifest[PATH_MAX], name[] = "r";
	struct root r = { .name = name, .path = path, .manifest = manifest };
	size_t checked = 0;
	int heard = 0, n;

	snprintf(path, sizeof(path), "%s/r", top);
	snprintf(manifest, sizeof(manifest), "%s/r.manifest", top);
	says[0] = '\0';
	n = root_verify(&r, note, &heard, &checked, err);
	if (n >= 0 && (n != heard || checked != 6))
		ok(false, "%d differences, %d heard, %zu checked", n, heard, checked);
	return n;
}

static void make_root(void)
{
	_cleanup_buf_ struct buf b = BUF_INIT(4096);
	char hex[65];

	remove_tree(in_top("r"));
	make_dir("r", 0755);
	make_dir("r/etc", 0755);
	make_dir("r/usr", 0755);
	write_file("r/etc/hosts", "one\n", 0644);
	write_file("r/usr/sh", "two\n", 0755);
	make_link("usr/sh", "r/sh");
	io_sha256("one\n", 4, hex);
	buf_printf(&b, "d 0755 0 - .\nd 0755 0 - etc\nf 0644 4 %s etc/hosts\nl 0777 6 usr/sh sh\nd 0755 0 - usr\n", hex);
	io_sha256("two\n", 4, hex);
	buf_printf(&b, "f 0755 4 %s usr/sh\n", hex);
	write_file("r.manifest", b.data, 0644);
}

static void test_one_difference(void)
{
	struct sj_err err = { 0 };

	make_root();
	is_int(0, verify(&err), "an untouched root has no differences");
	write_file("r/etc/hosts", "One\n", 0644);
	is_int(1, verify(&err), "changed contents");
	is_str("etc/hosts has other contents\n", says, "are named");

	make_root();
	write_file("r/etc/hosts", "three\n", 0644);
	verify(&err);
	is_str("etc/hosts has 6 bytes instead of 4\n", says, "another size");
	make_root();
	chmod(in_top("r/usr/sh"), 04755);
	verify(&err);
	is_str("usr/sh has mode 4755 instead of 0755\n", says, "a set-user-id bit");
	make_root();
	chmod(in_top("r"), 0777);
	verify(&err);
	is_str(". has mode 0777 instead of 0755\n", says, "the root's own mode");
	make_root();
	write_file("r/usr/new", "", 0644);
	verify(&err);
	is_str("usr/new is not in the manifest\n", says, "something extra in a folder");
	unlink(in_top("r/usr/new"));
	make_dir("r/new", 0755);
	write_file("r/new/x", "", 0644);
	verify(&err);
	is_str("new is not in the manifest\n", says, "an extra folder is named once");
}

static void test_other_kind(void)
{
	struct sj_err err = { 0 };

	make_root();
	unlink(in_top("r/sh"));
	make_link("usr/zz", "r/sh");
	verify(&err);
	is_str("sh leads to \"usr/zz\" instead of \"usr/sh\"\n", says, "another target");
	make_root();
	unlink(in_top("r/etc/hosts"));
	verify(&err);
	is_str("etc/hosts is missing\n", says, "a missing file");
	mkfifo(in_top("r/etc/hosts"), 0644);
	verify(&err);
	is_str("etc/hosts is a pipe instead of a file\n", says, "a pipe is not opened");
	unlink(in_top("r/etc/hosts"));
	make_link("/etc/hosts", "r/etc/hosts");
	verify(&err);
	is_str("etc/hosts is a link instead of a file\n", says, "a link is not followed");

	make_root();
	remove_tree(in_top("r/etc"));
	make_dir("elsewhere", 0755);
	write_file("elsewhere/hosts", "one\n", 0644);
	make_link("../elsewhere", "r/etc");
	is_int(2, verify(&err), "a folder that became a link");
	is_str("etc is a link instead of a folder\netc/hosts is missing\n", says, "is not entered");
}

static void test_many_and_owner(void)
{
	struct sj_err err = { 0 };

	make_root();
	remove_tree(in_top("r/usr"));
	write_file("r/etc/hosts", "xne\n", 0600);
	is_int(4, verify(&err), "each difference counts");
	is_str("etc/hosts has mode 0600 instead of 0644\netc/hosts has other contents\n"
	       "usr is missing\nusr/sh is missing\n", says, "in the order of the paths");
	make_root();
	if (geteuid() != 0 || chown(in_top("r/usr/sh"), OTHER_UID, 0) < 0) {
		skip("a file that somebody else owns", "needs root");
	} else {
		chmod(in_top("r/usr/sh"), 0755);
		verify(&err);
		is_str("usr/sh belongs to user 12345\n", says, "a file that somebody else owns");
	}
}

static void test_manifest_file(void)
{
	struct sj_err err = { 0 };

	make_root();
	chmod(in_top("r.manifest"), 0666);
	is_int(-EPERM, verify(&err), "a manifest that all may write is refused");
	has_str("chmod go-w", err.fix, "with the fix");
	unlink(in_top("r.manifest"));
	is_int(-ENOENT, verify(&err), "a missing manifest is an error");
	has_str("r.manifest", err.what, "that names it");
	mkfifo(in_top("r.manifest"), 0644);
	is_int(-EINVAL, verify(&err), "a pipe for a manifest does not block");
	unlink(in_top("r.manifest"));
	make_link("/etc/passwd", "r.manifest");
	is_int(-ELOOP, verify(&err), "nor is a link followed");
	unlink(in_top("r.manifest"));
	write_file("r.manifest", "d 0755 0 - .\n", 0644);
	is_int(0, truncate(in_top("r.manifest"), (off_t)ROOT_MANIFEST_MAX + 1), "(a sparse file)");
	is_int(-EFBIG, verify(&err), "a huge one is refused before it is read");
	is_int(SJ_EXIT_SETUP, err.exit, "all with the status of a failed set-up");
}

/* ---- finding ------------------------------------------------------- */

static void print_root(void *arg, const struct root *r)
{
	(void)arg;
	printf("%s %s\n", r->name, r->path);
}

/* What the copies of this program in other folders do. */
static int child_main(const char *name)
{
	_cleanup_root_ struct root r = { 0 };
	struct sj_err err = { 0 };
	int e = strcmp(name, "--list") == 0 ? root_list(print_root, NULL, &err) : root_find(name, &r, &err);

	if (e == 0 && r.path)
		printf("%s %s\n", r.path, r.manifest);
	if (e < 0)
		printf("%s: %s: %s: %s\n", err.id, err.what, err.why, err.fix);
	return -e;
}

static void copy_self(const char *name)
{
	_cleanup_free_ char *data = NULL;
	size_t len;
	int fd = open(in_top(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	if (io_read_file("/proc/self/exe", 256u << 20, &data, &len) < 0 || io_write_full(fd, data, len) < 0)
		printf("# cannot copy this program\n");
	close(fd);
}

/* Ask the copy at `program` for a root; what it prints is left in says. */
static int ask(const char *program, const char *name)
{
	_cleanup_free_ char *command = str_printf("exec %s/%s find '%s'", top, program, name);
	FILE *f = popen(command, "re");
	size_t n = f ? fread(says, 1, sizeof(says) - 1, f) : 0;
	int status;

	says[n] = '\0';
	status = f ? pclose(f) : -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void say_where(char *ret, size_t len, const char *where)
{
	snprintf(ret, len, "%s/%s %s/%s.manifest\n", top, where, top, where);
}

static void test_places(void)
{
	char want[2 * PATH_MAX];

	make_dir("inst", 0755);
	make_dir("inst/bin", 0755);
	make_dir("inst/lib", 0755);
	make_dir("inst/lib/smoljail", 0755);
	make_dir("inst/lib/smoljail/rootfs", 0755);
	make_dir("inst/lib/smoljail/rootfs/python", 0755);
	copy_self("inst/bin/prog");
	is_int(0, ask("inst/bin/prog", "python"), "found in ../lib/smoljail");
	say_where(want, sizeof(want), "inst/lib/smoljail/rootfs/python");
	is_str(want, says, "at the right place");
	make_dir("inst/bin/rootfs", 0755);
	make_dir("inst/bin/rootfs/python", 0755);
	is_int(0, ask("inst/bin/prog", "python"), "found beside the program");
	say_where(want, sizeof(want), "inst/bin/rootfs/python");
	is_str(want, says, "which comes first");

	is_int(ENOENT, ask("inst/bin/prog", "other"), "none of that name");
	has_str("no root named \"other\": looked in", says, "is said");
	has_str("inst/bin/rootfs, ", says, "with the places");
	make_dir("inst/lib/smoljail/rootfs/extra-1.0", 0755);
	write_file("inst/lib/smoljail/rootfs/python.manifest", "", 0644);
	make_dir("inst/bin/rootfs/.hidden", 0755);
	is_int(0, ask("inst/bin/prog", "--list"), "the list");
	snprintf(want, sizeof(want), "extra-1.0 %s/inst/lib/smoljail/rootfs/extra-1.0\npython %s/inst/bin/rootfs/python\n",
		 top, top);
	has_str(want, says, "is sorted, and names each root once");
}

static void test_refused(void)
{
	is_int(0, ask("inst/bin/prog", "python"), "before");
	chmod(in_top("inst/bin/rootfs/python"), 0775);
	is_int(EPERM, ask("inst/bin/prog", "python"), "a root that its group may write is refused");
	has_str("E_ROOT_MODE", says, "by its id");
	has_str("mode is 0775", says, "with the mode");
	is_int(EPERM, ask("inst/bin/prog", "--list"), "the list fails");
	has_str("extra-1.0 ", says, "but names the others first");
	chmod(in_top("inst/bin/rootfs/python"), 0755);
	chmod(in_top("inst/bin/rootfs"), 0757);
	is_int(EPERM, ask("inst/bin/prog", "python"), "so is one whose place others may write");
	chmod(in_top("inst/bin/rootfs"), 0755);
	if (geteuid() != 0 || chown(in_top("inst/bin/rootfs/python"), OTHER_UID, 0) < 0) {
		skip("a root that somebody else owns", "needs root");
	} else {
		is_int(EPERM, ask("inst/bin/prog", "python"), "a root that somebody else owns is refused");
		has_str("belongs to user 12345", says, "with the owner");
	}
	rmdir(in_top("inst/bin/rootfs/python"));
	make_link("../../lib/smoljail/rootfs/python", "inst/bin/rootfs/python");
	is_int(ENOTDIR, ask("inst/bin/prog", "python"), "a link is no root");
}

static void test_names(void)
{
	static const char *const bad[] = {
		"", ".", "..", "-x", "_x", ".x", "a/b", "/etc", "Python", "a b", "a\nb", "\xc3\xa4", "a*",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct root r = { 0 };
		struct sj_err err = { 0 };

		is_int(-EINVAL, root_find(bad[i], &r, &err), "\"%zu\" is no name", i);
		ok(!r.path && err.exit == SJ_EXIT_SETUP && err.why[0], "and the error says why");
	}
	root_clear(NULL);
	manifest_clear(NULL);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "find") == 0)
		return child_main(argv[2]);
	umask(022);
	if (!mkdtemp(top))
		skip_all("no folder can be made under /tmp");
	chmod(top, 0755);
	test_good_manifest();
	test_bad_manifests();
	test_hostile_sizes();
	test_one_difference();
	test_other_kind();
	test_many_and_owner();
	test_manifest_file();
	test_places();
	test_refused();
	test_names();
	remove_tree(top);
	return done();
}
