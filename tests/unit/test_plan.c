/*
 * test_plan.c - the mount plan: what is bound how, in which order, and what is refused
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: mounts anything
 */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/base.h"
#include "jail/internal.h"
#include "tap.h"

static char top[64];

static const char *in_top(const char *name)
{
	static char path[8][160];
	static size_t turn;

	turn = (turn + 1) % 8;
	(void)snprintf(path[turn], sizeof(path[turn]), "%s/%s", top, name);
	return path[turn];
}

static const struct mount_op *find(const struct mount_plan *plan, const char *dst)
{
	for (size_t i = 0; i < plan->n; i++)
		if (strcmp(plan->ops[i].dst, dst) == 0)
			return &plan->ops[i];
	return NULL;
}

static bool has(const struct mount_op *op, uint64_t set, uint64_t clear)
{
	return op && (op->attrs & set) == set && (op->attrs & clear) == 0;
}

static struct jail_spec spec_of(const struct jail_bind *binds, size_t n)
{
	return (struct jail_spec){
		.root = in_top("root"), .hostname = "jail", .binds = binds, .n_binds = n,
		.tmp = { 1 << 20, 16 }, .work = { 2 << 20, 32 }, .shm = { 3 << 20, 48 },
	};
}

static void test_shape(void)
{
	struct jail_spec spec = spec_of(NULL, 0);
	struct mount_plan plan = { 0 };
	_cleanup_free_ char *text = NULL;
	const uint64_t quiet = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

	is_int(0, plan_build(&spec, &plan, NULL), "a plan without mounts of the user");
	ok(has(find(&plan, "/usr"), quiet | MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOEXEC), "/usr: read-only, executable");
	ok(find(&plan, "/bin") && find(&plan, "/bin")->kind == MOUNT_SYMLINK, "a link of the root is made again");
	ok(!find(&plan, "/file"), "a file at the root's top is left out");
	ok(!find(&plan, "/sys"), "the root's own /sys is left out");
	ok(has(find(&plan, "/work"), quiet | MOUNT_ATTR_NOEXEC, MOUNT_ATTR_RDONLY), "/work: writable, not executable");
	is_int(2 << 20, find(&plan, "/work")->size, "its size");
	is_int(32, find(&plan, "/work")->inodes, "its inodes");
	ok(has(find(&plan, "/dev/null"), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, MOUNT_ATTR_NODEV), "a device node works as one");
	ok(find(&plan, "/dev")->seal && !find(&plan, "/dev/shm")->seal, "/dev is sealed, /dev/shm is not");
	text = plan_print(&plan);
	ok(text && strstr(text, "tmpfs  /tmp size=1048576 inodes=16 nosuid nodev noexec\n"), "printed for people");
	plan_clear(&plan);
	plan_clear(&plan);
	plan_clear(NULL);
}

static void test_exec_from_writable(void)
{
	const struct jail_bind bind = { in_top("a"), "/out", true };
	struct jail_spec spec = spec_of(&bind, 1);
	struct mount_plan plan = { 0 };

	spec.exec_from_writable = true;
	is_int(0, plan_build(&spec, &plan, NULL), "a plan that may execute what it writes");
	ok(has(find(&plan, "/tmp"), MOUNT_ATTR_NOSUID, MOUNT_ATTR_NOEXEC), "/tmp is executable then");
	ok(has(find(&plan, "/out"), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY),
	   "and so is a writable folder of the user");
	plan_clear(&plan);
}

static void test_binds(void)
{
	const struct jail_bind binds[] = { { in_top("b"), "/data/sub", true }, { in_top("a"), "/data", false },
					   { in_top("root/file"), "/one", false } };
	struct jail_spec spec = spec_of(binds, 3);
	struct mount_plan plan = { 0 };

	is_int(0, plan_build(&spec, &plan, NULL), "a parent named after what lies below it");
	ok(find(&plan, "/data") < find(&plan, "/data/sub"), "is mounted before it");
	ok(has(find(&plan, "/data"), MOUNT_ATTR_RDONLY, 0), "read-only where asked");
	ok(has(find(&plan, "/data/sub"), MOUNT_ATTR_NOEXEC, MOUNT_ATTR_RDONLY), "writable is not executable");
	ok(find(&plan, "/data")->is_dir && !find(&plan, "/one")->is_dir, "folders and files are told apart");
	ok(find(&plan, "/data")->user && !find(&plan, "/usr")->user, "and the user's from the root's");
	plan_clear(&plan);
}

static void test_refusals(void)
{
	const struct jail_bind twice[] = { { in_top("a"), "/x", false }, { in_top("b"), "/x", false } };
	const struct jail_bind missing = { in_top("nowhere"), "/x", false }, fifo = { in_top("fifo"), "/x", false };
	const struct jail_file climbs = { .name = "../t.py" };
	struct jail_spec spec = spec_of(twice, 2);
	struct mount_plan plan = { 0 };
	struct sj_err err = { 0 };

	ok(plan_build(&spec, &plan, &err) < 0 && strstr(err.what, "/x"), "two mounts on one place, which is named");
	spec = spec_of(&missing, 1);
	ok(plan_build(&spec, &plan, &err) < 0 && strstr(err.what, "nowhere"), "a source that is not there, which is named");
	spec = spec_of(&fifo, 1);
	ok(plan_build(&spec, &plan, &err) < 0 && strstr(err.what, "fifo"), "neither a folder nor a file");
	spec = spec_of(NULL, 0);
	spec.files = &climbs;
	spec.n_files = 1;
	ok(plan_build(&spec, &plan, &err) < 0, "a file name that climbs");
	spec = spec_of(NULL, 0);
	spec.root = in_top("nowhere");
	ok(plan_build(&spec, &plan, &err) < 0 && err.exit == SJ_EXIT_SETUP, "a root that is not there");
	ok(plan.n == 0 && !plan.ops, "nothing is returned with an error");
}

int main(void)
{
	char command[160];

	(void)snprintf(top, sizeof(top), "/tmp/smoljail-plan-XXXXXX");
	if (!mkdtemp(top) || mkdir(in_top("a"), 0755) || mkdir(in_top("b"), 0755) || mkdir(in_top("root"), 0755) ||
	    mkdir(in_top("root/usr"), 0755) || mkdir(in_top("root/sys"), 0755) || mkfifo(in_top("fifo"), 0600) ||
	    symlink("usr/bin", in_top("root/bin")) || close(open(in_top("root/file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0644)))
		printf("Bail out! no folder to work in\n");
	test_shape();
	test_exec_from_writable();
	test_binds();
	test_refusals();
	(void)snprintf(command, sizeof(command), "rm -rf %s", top);
	ok(system(command) == 0, "nothing is left");
	return done();
}
