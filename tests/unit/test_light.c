/*
 * test_light.c - jails without mounts: their list of paths, and their private folders
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: starts a jail
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/base.h"
#include "jail/internal.h"
#include "tap.h"

#define DEEP 3000	/* far past PATH_MAX, and past any number of descriptors */

static char top[64], home[96], root[96];
static char *guest_argv[] = { (char *)"smoljail-guest", NULL };

static struct jail_spec spec_of(const struct jail_bind *binds, size_t n)
{
	return (struct jail_spec){
		.root = root, .home = home, .isolation = JAIL_LANDLOCK, .binds = binds, .n_binds = n,
		.path = "/usr/bin/python3", .argv = guest_argv,
	};
}

static const struct light_path *find(const struct light_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->n; i++)
		if (strcmp(plan->paths[i].path, path) == 0)
			return &plan->paths[i];
	return NULL;
}

static void test_plan(void)
{
	struct jail_bind binds[] = { { "/usr/bin", "/usr/bin", false }, { top, top, true } };
	struct jail_spec spec = spec_of(binds, 1);
	struct light_plan plan = { 0 };
	struct sj_err err = { 0 };
	char work[128];

	is_int(0, light_plan_build(&spec, &plan, &err), "a plan: %s", err.what);
	(void)snprintf(work, sizeof(work), "%s/work", home);
	ok(find(&plan, root) && find(&plan, root)->access == LIGHT_EXEC, "the root is read and executed");
	ok(find(&plan, work) && find(&plan, work)->access == LIGHT_WRITE, "the work folder is written, not executed");
	ok(find(&plan, "/dev/null") && find(&plan, "/dev/null")->access == LIGHT_DEVICE, "/dev/null is a device");
	ok(find(&plan, "/usr/bin") && find(&plan, "/usr/bin")->user, "a folder that the user named");
	ok(!find(&plan, "/") && !find(&plan, "/proc") && !find(&plan, "/etc") && !find(&plan, "/tmp"), "nothing else of the host");
	is_str("smoljail-guest", plan.argv[5], "the guest's role goes through its loader");
	light_plan_clear(&plan);

	spec.exec_from_writable = true;
	is_int(0, light_plan_build(&spec, &plan, &err), "with exec_from_writable");
	ok(find(&plan, work) && find(&plan, work)->access == LIGHT_WRITE_EXEC, "the work folder is executed too");
	light_plan_clear(&plan);
}

/* Rights add up downwards: what cannot be kept is refused. */
static void test_nesting(void)
{
	char inner[96];
	struct jail_bind around[] = { { top, top, true } };
	struct jail_bind both[] = { { inner, inner, false }, { top, top, true } };
	struct jail_bind fine[] = { { inner, inner, true }, { top, top, false } };
	struct jail_spec spec = spec_of(around, 1);
	struct light_plan plan = { 0 };
	struct sj_err err = { 0 };

	(void)snprintf(inner, sizeof(inner), "%s/inner", top);
	(void)mkdir(inner, 0755);
	is_int(-EINVAL, light_plan_build(&spec, &plan, &err), "the root lies in a writable folder");
	is_str("E_LIGHT_NESTED", err.id, "and that is said");
	(void)snprintf(root, sizeof(root), "/usr");
	(void)snprintf(home, sizeof(home), "/var/tmp/smoljail-none");
	spec = spec_of(both, 2);
	is_int(-EINVAL, light_plan_build(&spec, &plan, &err), "a read-only folder in a writable one");
	ok(strstr(err.what, inner) != NULL, "it is named: %s", err.what);
	spec = spec_of(fine, 2);
	is_int(0, light_plan_build(&spec, &plan, &err), "a writable folder in a read-only one");
	light_plan_clear(&plan);
	(void)rmdir(inner);
}

static void test_words(void)
{
	struct jail_spec spec = spec_of(NULL, 0);
	struct light_plan plan = { 0 };
	struct sj_err err = { 0 };

	spec.root = "/a folder";
	is_int(-EINVAL, light_plan_build(&spec, &plan, &err), "a root with a space");
	is_str("E_LIGHT_PATH", err.id, "and that is said");
	spec.root = "/a:b";
	is_int(-EINVAL, light_plan_build(&spec, &plan, &err), "a root with a colon");
	spec.root = "/$LIB";
	is_int(-EINVAL, light_plan_build(&spec, &plan, &err), "a root that the loader would read otherwise");
}

static void test_wrapper(void)
{
	char *folders[] = { (char *)"/a b", (char *)"/it's", NULL };
	struct jail_spec spec = spec_of(NULL, 0);
	struct light_plan plan = { 0 };
	_cleanup_free_ char *text = NULL;

	spec.folders = folders;
	is_int(0, light_plan_build(&spec, &plan, NULL), "a plan");
	text = light_wrapper(&spec, &plan);
	ok(text && strncmp(text, "#!", 2) == 0 && strstr(text, "/usr/bin/busybox sh\n"), "a script for the root's own shell");
	ok(text && strstr(text, "SMOLJAIL_PATH='/a b':'/it'\\''s'\n"), "folders are quoted");
	light_plan_clear(&plan);
}

/* ---- the private folder -------------------------------------------------------- */

static struct light_home make(void)
{
	struct jail_file file = { "a.py", "pass", 4 };
	struct jail_spec spec = spec_of(NULL, 0);
	struct light_home h = LIGHT_HOME_NONE;

	spec.files = &file;
	spec.n_files = 1;
	is_int(0, light_home_make(&spec, "#!/bin/sh\n", geteuid(), getegid(), &h), "the private folder is made");
	return h;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void remove_it(struct light_home *h)
{
	light_home_remove(h);
	light_home_close(h);
	ok(!exists(home), "and removed");
}

static void test_make(void)
{
	struct jail_spec spec = spec_of(NULL, 0);
	struct light_home h = make(), second = LIGHT_HOME_NONE;
	struct stat st;

	ok(fstat(h.top, &st) == 0 && (st.st_mode & 07777) == 0700, "nobody else can enter it");
	ok(faccessat(h.work, "a.py", R_OK, 0) == 0, "files are placed");
	is_int(-EEXIST, light_home_make(&spec, "", geteuid(), getegid(), &second), "what is there already is not taken over");
	ok(exists(home), "nor removed");
	remove_it(&h);
}

static void dig(int dir, int depth)
{
	int at = dup(dir), next;

	for (int i = 0; i < depth; i++) {
		if (mkdirat(at, "n", 0700) < 0)
			break;
		next = openat(at, "n", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(openat(at, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		close(at);
		at = next;
	}
	close(at);
}

static void test_hostile(void)
{
	struct light_home h = make();
	char outside[96];
	int fd;

	(void)snprintf(outside, sizeof(outside), "%s/outside", top);
	(void)mkdir(outside, 0755);
	fd = open(outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(openat(fd, "keep", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	close(fd);
	ok(symlinkat(outside, h.work, "link") == 0 && symlinkat("/", h.tmp, "root") == 0, "links to folders of the host");
	ok(mkfifoat(h.work, "fifo", 0) == 0 && mkdirat(h.work, "closed", 0700) == 0, "a FIFO, a folder");
	fd = openat(h.work, "closed", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dig(fd, 3);
	(void)fchmod(fd, 0);
	close(fd);
	ok(mkdirat(h.top, "~0", 0700) == 0 && mkdirat(h.top, "~1", 0700) == 0, "names that the removal would use");
	dig(h.work, DEEP);
	dig(h.tmp, 5);
	remove_it(&h);
	(void)snprintf(outside, sizeof(outside), "%s/outside/keep", top);
	ok(exists(outside), "what links lead to is left alone");
	(void)unlink(outside);
	(void)snprintf(outside, sizeof(outside), "%s/outside", top);
	(void)rmdir(outside);
}

static void test_usage(void)
{
	uint64_t bytes = 0, entries = 0;
	struct light_home h = make();
	bool deep = false;
	char data[8192] = { 1 };
	int fd = openat(h.tmp, "data", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	ok(write(fd, data, sizeof(data)) == (ssize_t)sizeof(data), "8 KiB");
	close(fd);
	ok(symlinkat("/usr", h.work, "usr") == 0, "a link to a large folder");
	light_home_usage(&h, &bytes, &entries, &deep);
	ok(bytes >= sizeof(data) && bytes < 1 << 20, "they count, the link's target does not");
	is_int(3, (int)entries, "entries of both folders");
	ok(!deep, "not deep");
	dig(h.work, 200);
	light_home_usage(&h, &bytes, &entries, &deep);
	ok(deep, "a folder too deep to be looked through says so");
	remove_it(&h);
}

int main(void)
{
	(void)snprintf(top, sizeof(top), "/tmp/smoljail-test-XXXXXX");
	if (!mkdtemp(top))
		return 1;
	(void)snprintf(home, sizeof(home), "%s/home", top);
	(void)snprintf(root, sizeof(root), "%s/root", top);
	(void)mkdir(root, 0755);
	test_plan();
	test_words();
	test_wrapper();
	test_make();
	test_hostile();
	test_usage();
	(void)rmdir(root);
	test_nesting();
	(void)rmdir(top);
	return done();
}
