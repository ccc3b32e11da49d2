/* test_policy_merge.c - files, chains of extends, lists, flags, checks between settings, shipped policies */
#include "policy_help.h"

static void test_extends(void)
{
	struct policy *p;

	help_write("base.json", "{\"extends\":\"python\",\"name\":\"base\",\"description\":\"d\",\"limits\":{\"pids\":10,\"memory\":\"1G\"},"
		   "\"env\":{\"set\":{\"A\":\"1\",\"B\":\"2\"},\"pass\":[\"X\",\"Y\"]},\"files\":{\"read\":[\"/a:/one\",\"/b:/two\"]}}");
	p = help_load("{\"extends\":\"./base.json\",\"limits\":{\"pids\":20},\"env\":{\"set\":{\"B\":null,\"C\":\"3\"},"
		      "\"pass\":[\"!X\",\"Z\",\"Y\"]},\"files\":{\"read\":[\"!/a:/one\",\"/c:/three\"]}}");
	if (ok(p, "a file extends a file")) {
		is_str("p", p->name, "a name is not inherited");
		is_str("", p->description, "nor a description");
		is_int(20, p->limits.pids, "the nearest wins");
		is_int(1 << 30, p->limits.memory, "the base counts");
		is_int(2000, p->limits.cpu_milli, "python's own counts");
		is_int(60000, p->limits.wall_ms, "the defaults count");
		is_int(2, strv_len(p->env_set), "two variables");
		is_str("A=1", p->env_set[0], "of the base");
		is_str("C=3", p->env_set[1], "its own");
		is_int(2, strv_len(p->env_pass), "two are passed");
		is_str("Y", p->env_pass[0], "no name twice");
		is_int(2, p->files.n_mounts, "two mounts");
		is_str("/b", p->files.mounts[0].src, "of the base");
		is_str("/three", p->files.mounts[1].dst, "its own");
		is_str("p.json", strrchr(p->origin, '/') + 1, "origin is the file");
		ok(policy_count_allowed(p) > 150, "calls of python");
	}
	policy_free(p);
	p = help_load("{}");
	if (ok(p, "an empty policy is the defaults"))
		is_int(512 << 20, p->limits.memory, "memory of the defaults");
	policy_free(p);
	refused("{\"extends\":\"base.json\",\"files\":{\"read\":[\"!/q:/q\"]}}", "E_POLICY_REMOVE", "/q:/q");
	refused("{\"extends\":\"base.json\",\"env\":{\"set\":{\"Q\":null}}}", "E_POLICY_VALUE", "to take out");
	refused("{\"extends\":\"pythn\"}", "E_POLICY_NAME", "did you mean \"python\"?");
	refused("{\"extends\":\"pythn\"}", "E_POLICY_NAME", "p.json extends it");
	refused("{\"extends\":\"none.json\"}", "E_POLICY_FILE", "none.json");
	refused("{\"extends\":[\"python\"]}", "E_POLICY_TYPE", "extends");
	refused("{\"extends\":\"groups\"}", "E_POLICY_NAME", "groups");
	refused("{\"extends\":\"\"}", "E_POLICY_NAME", "no policy named");
}

static void test_loops(void)
{
	char name[32], text[64];

	refused("{\"extends\":\"p.json\"}", "E_POLICY_LOOP", "comes back");
	help_write("a.json", "{\"extends\":\"b.json\"}");
	help_write("b.json", "{\"extends\":\"a.json\"}");
	refused("{\"extends\":\"a.json\"}", "E_POLICY_LOOP", "comes back");
	if (symlink("p.json", help_path("link.json")) == 0)
		refused("{\"extends\":\"link.json\"}", "E_POLICY_LOOP", "comes back");
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "c%d.json", i);
		snprintf(text, sizeof(text), "{\"extends\":\"c%d.json\"}", i + 1);
		help_write(name, text);
	}
	refused("{\"extends\":\"c0.json\"}", "E_POLICY_CHAIN", "at most 8");
	/* Seven files and the defaults are eight. */
	help_write("c7.json", "{}");
	accepted("{\"extends\":\"c1.json\"}");
}

static void test_files(void)
{
	struct policy *p;
	char *big;

	refused("", "E_JSON", "p.json");
	refused("{\"name\":\"a\",\"name\":\"b\"}", "E_JSON", "name");
	refused("[]", "E_POLICY_TYPE", "JSON object");
	refused("{\"a\":\"\\u0000\"}", "E_JSON", "p.json");
	refused("{\"a\":\"\xff\"}", "E_JSON", "UTF-8");
	big = calloc(1, 401);
	memset(big, '[', 200);
	memset(big + 200, ']', 200);
	refused(big, "E_JSON_DEPTH", "nested");
	free(big);
	big = malloc(POLICY_FILE_MAX + 2);
	memset(big, ' ', POLICY_FILE_MAX + 1);
	big[POLICY_FILE_MAX + 1] = '\0';
	refused(big, "E_POLICY_FILE", "too large");
	free(big);

	p = help_load_sets(help_dir, NULL, 0);
	ok(!p && strcmp(help_err.why, "it is a folder") == 0, "a folder is refused");
	ok(mkfifo(help_path("fifo.json"), 0600) == 0, "a FIFO");
	p = help_load_sets(help_path("fifo.json"), NULL, 0);
	ok(!p && strcmp(help_err.why, "it is not a regular file") == 0, "is refused without waiting");
	p = help_load_sets("/nonexistent/x.json", NULL, 0);
	is_int(ENOENT, help_err.error, "a missing file");
	has_str("/nonexistent/x.json", help_err.what, "is named");
	p = help_load_sets("pyton", NULL, 0);
	ok(!p && strstr(help_err.fix, "did you mean \"python\"?"), "a slip in a name");
	is_int(SJ_EXIT_USAGE, help_err.exit, "is wrong use");

	p = help_load_sets(help_write("My Policy.json", "{}"), NULL, 0);
	if (ok(p, "a file without a name"))
		is_str("my-policy", p->name, "is named by its file");
	policy_free(p);
	ok(!policy_free(NULL), "NULL can be freed");
}

static void test_flags(void)
{
	const struct policy_set sets[] = {
		{ "limits.memory", "128M", "--memory" },	   { "limits.memory", "64M", "--memory" },
		{ "env.set", "LANG=de_DE.UTF-8", "--env" },	   { "env.set", "TERM", "--env" },
		{ "env.set", "EMPTY=", "--env" },		   { "env.set", "EQ=a=b", "--env" },
		{ "files.write", "out:/out", "--rw" },		   { "files.read", "/data/set", "--ro" },
		{ "python.packages", "pkgs", "--packages" },	   { "syscalls.deny", "listen", NULL },
		{ "files.exec_from_writable", "yes", NULL },	   { "limits.pids", "7", "--pids" },
	};
	struct policy_set bad = { "limits.memory", "1K", "--memory" };
	struct policy *p = help_load_sets("python", sets, ARRAY_LEN(sets));

	if (ok(p, "flags of every type")) {
		is_int(64 << 20, p->limits.memory, "the last one wins");
		is_int(7, p->limits.pids, "pids");
		is_str("LANG=de_DE.UTF-8", p->env_set[0], "replaces a variable");
		is_str("EMPTY=", p->env_set[1], "an empty value");
		is_str("EQ=a=b", p->env_set[2], "a value with =");
		is_str("TERM", p->env_pass[0], "a bare name is passed");
		is_str("/data/set", p->files.mounts[0].dst, "same path inside");
		ok(!p->files.mounts[0].writable, "read-only");
		is_str("out", p->files.mounts[1].src, "relative to the caller");
		ok(p->files.mounts[1].writable, "writable");
		is_str("pkgs", p->python.packages[0], "packages");
		ok(p->files.exec_from_writable, "yes is true");
		is_str("shipped", p->origin, "still the shipped one");
	}
	policy_free(p);

	p = help_load_sets("python", &bad, 1);
	ok(!p && str_prefix(help_err.what, "--memory: \"1K\""), "an error names the flag and the value");
	has_str("8M to 1T", help_err.why, "and the range");
	set_refused("limits.memroy", "1M", "E_POLICY_KEY", "limits.memroy");
	set_refused("limits", "1M", "E_POLICY_KEY", "limits");
	set_refused("syscalls.rules", "x", "E_POLICY_KEY", "syscalls.rules");
	set_refused("name", "x", "E_POLICY_KEY", "name");
	set_refused("limits.pids", "seven", "E_POLICY_TYPE", "whole number");
	set_refused("limits.pids", "-7", "E_POLICY_RANGE", "2 to 32768");
	set_refused("env.set", "=x", "E_POLICY_VALUE", "letters");
}

/* The last word wins between setting a variable and passing it. */
static void test_set_or_pass(void)
{
	const struct policy_set sets[] = { { "env.set", "A=1", NULL }, { "env.set", "A", NULL },
					   { "env.set", "B", NULL },   { "env.set", "B=2", NULL } };
	struct policy *p = help_load_sets("python", sets, ARRAY_LEN(sets));

	if (ok(p, "set and passed, passed and set")) {
		is_int(1, strv_len(p->env_set), "one is set");
		is_str("B=2", p->env_set[0], "the one that was set last");
		is_int(1, strv_len(p->env_pass), "one is passed");
		is_str("A", p->env_pass[0], "the other");
	}
	policy_free(p);
	refused("{\"env\":{\"set\":{\"A\":\"1\"},\"pass\":[\"A\"]}}", "E_POLICY_ENV", "env.pass");
	accepted("{\"env\":{\"set\":{\"LANG\":\"C\"},\"pass\":[\"LANGUAGE\",\"LAN\"]}}");
}

static void test_env(void)
{
	set_refused("env.set", "1A=x", "E_POLICY_VALUE", "letters");
	set_refused("env.set", "A-B=x", "E_POLICY_VALUE", "letters");
	set_refused("env.set", "A B", "E_POLICY_VALUE", "letters");
	set_refused("env.set", "LD_PRELOAD=x", "E_POLICY_VALUE", "loader");
	set_refused("env.pass", "LD_LIBRARY_PATH", "E_POLICY_VALUE", "loader");
	set_refused("env.set", "GLIBC_TUNABLES=x", "E_POLICY_VALUE", "loader");
	set_refused("env.set", "GCONV_PATH=x", "E_POLICY_VALUE", "loader");
	accepted("{\"env\":{\"set\":{\"LDFLAGS\":\"x\",\"_a1\":\"\"}}}");
	refused("{\"env\":{\"set\":{\"A\":1}}}", "E_POLICY_TYPE", "env.set.A");
}

static void test_mounts(void)
{
	static const char *const bad[] = {
		"/a:/",	      "/a:/usr",      "/a:/usr/x",  "/a:/etc/x",   "/a:/proc",	"/a:/dev/shm", "/a:/sys/x",
		"/a:/bin",    "/a:/lib64/x",  "/a:/sbin",   "/a:/work",	   "/a:/tmp",	"/a:data",     "/a:/d/",
		"/a://d",     "/a:/d/../x",   "/a:/./d",    "/a:",	   ":/d",	"~/a:/d",      "/proc/1:/d",
		"/sys:/d",    "/dev/sda:/d",  "data",	    "../x",	   "/usr/share", "/a:/project", "/a:/packages-2",
		"/a\n:/d",    "",
	};
	struct policy *p;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		set_refused("files.read", bad[i], "E_POLICY_VALUE", "");
	set_refused("files.read", "/a:/usr/x", "E_POLICY_VALUE", "/usr/x");
	set_refused("files.read", "sets/one", "E_POLICY_VALUE", "sets/one:/one");
	p = help_set("python", "files.read", "/a:b/c:/work/in");
	if (ok(p, "a colon in the source")) {
		is_str("/a:b/c", p->files.mounts[0].src, "source");
		is_str("/work/in", p->files.mounts[0].dst, "place inside");
	}
	policy_free(p);
	accepted("{\"files\":{\"read\":[\"/a:/tmp/in\",\"../b:/usr2\",\"/c:/home/x\",\"/d:/data/.x/..y\"]}}");
	refused("{\"files\":{\"read\":[\"/a:/d\"],\"write\":[\"/b:/d\"]}}", "E_POLICY_MOUNTS", "another place");
	for (int full = 0; full < 2; full++) {
		char text[4096] = "{\"files\":{\"read\":[";

		for (int i = 0; i < POLICY_MOUNTS_MAX + full; i++)
			snprintf(text + strlen(text), 64, "%s\"/a%d\"", i ? "," : "", i);
		strcat(text, "]}}");
		if (full)
			refused(text, "E_POLICY_RANGE", "at most 64 entries");
		else
			accepted(text);
		text[strlen(text) - 2] = '\0';
		strcat(text, ",\"write\":[\"/w\"]}}");
		refused(text, full ? "E_POLICY_RANGE" : "E_POLICY_MOUNTS", "at most 64");
	}
}

static void test_cross(void)
{
	refused("{\"limits\":{\"memory\":\"none\",\"swap\":\"1M\"}}", "E_POLICY_SWAP", "limits.swap");
	refused("{\"limits\":{\"memory\":0,\"pids\":0,\"cpus\":0,\"enforcement\":\"cgroup\"}}", "E_POLICY_ENFORCEMENT",
		"limits.enforcement");
	accepted("{\"limits\":{\"memory\":0,\"pids\":0,\"enforcement\":\"cgroup\"}}");
}

static void test_shipped(void)
{
	const char *name;
	size_t n = 0;

	for (; (name = policy_shipped_name(n)); n++) {
		struct policy *p = help_load_sets(name, NULL, 0), *again;
		char *text;

		if (!ok(p, "%s loads", name))
			continue;
		is_str(name, p->name, "under its name");
		is_str("shipped", p->origin, "as shipped");
		ok(p->description[0], "and describes itself");
		ok(json_object_get(p->doc, "comment"), "with a comment");
		is_int(64, strlen(p->sha256), "and a sum");
		text = policy_print_json(p);
		again = help_load(text);
		if (ok(again, "what is shown can be loaded"))
			is_str(p->sha256, again->sha256, "and is the same policy");
		policy_free(again);
		free(text);
		policy_free(p);
	}
	is_int(5, n, "five are shipped");
}

static void sum_of(const char *text, char ret[65])
{
	struct policy *p = help_load(text);

	strcpy(ret, p ? p->sha256 : "refused");
	policy_free(p);
}

static void test_sum(void)
{
	char a[65], b[65], c[65];

	sum_of("{\"name\":\"x\",\"limits\":{\"memory\":\"1G\",\"wall\":\"60s\",\"cpus\":1.50}}", a);
	sum_of("{\"comment\":\"c\",\"limits\":{\"cpus\":1.5,\"wall\":\"1m\",\"memory\":\"1024M\",\"comment\":\"d\"},\"name\":\"x\"}", b);
	sum_of("{\"name\":\"x\",\"limits\":{\"memory\":\"1G\",\"wall\":\"61s\",\"cpus\":1.5}}", c);
	is_int(64, strlen(a), "a sum");
	is_str(a, b, "the same meaning, the same sum");
	ok(strcmp(a, c) != 0, "another meaning, another sum");
}

static void test_reference(void)
{
	char *schema = policy_schema_json(), *page = policy_schema_mdoc();
	json_t *j = schema ? json_loads(schema, 0, NULL) : NULL;

	ok(j, "the schema is JSON");
	for (size_t i = 0; i < policy_n_fields; i++) {
		const struct field *f = &policy_fields[i];
		char line[128];

		snprintf(line, sizeof(line), ".It Cm %s\n", f->path);
		ok(!!strstr(page, line) == !(f->flags & F_LATER), "the page %s %s", f->flags & F_LATER ? "lacks" : "has", f->path);
	}
	is_str("512M", json_string_value(doc_get(j, "properties.limits.properties.memory.default")), "a default");
	ok(doc_get(j, "properties.limits.properties.frame") == NULL, "nothing that is not in this version");
	json_decref(j);
	free(schema);
	free(page);
}

int main(void)
{
	help_begin();
	test_extends();
	test_loops();
	test_files();
	test_flags();
	test_set_or_pass();
	test_env();
	test_mounts();
	test_cross();
	test_shipped();
	test_sum();
	test_reference();
	return help_end();
}
