/*
 * test_policy_within.c - policies that clients send, and whether they are within the server's
 *
 * Runs as: any user
 * Trusts: nothing
 * Never: reads a file of the host
 */
#include <jansson.h>

#include "policy/policy.h"
#include "tap.h"

static struct policy *load(const char *json, const char *base, struct sj_err *err)
{
	_cleanup_json_ json_t *doc = json_loads(json, 0, NULL);
	struct policy *p = NULL;

	return doc && policy_load_doc(doc, base, "the policy", NULL, 0, &p, err) == 0 ? p : NULL;
}

static const struct row {
	const char *a, *b;
	const char *word;	/* of the refusal; NULL: within */
} rows[] = {
	{ "{}", "{}", NULL },
	{ "{\"extends\":\"python\"}", "{\"extends\":\"python\"}", NULL },
	{ "{\"extends\":\"python-strict\"}", "{\"extends\":\"python\"}", NULL },
	{ "{\"extends\":\"python\"}", "{\"extends\":\"shell\"}", NULL },
	{ "{\"extends\":\"shell\"}", "{\"extends\":\"python\"}", "" },
	{ "{\"extends\":\"open\"}", "{\"extends\":\"python\"}", "" },
	{ "{\"limits\":{\"memory\":\"64M\"}}", "{\"limits\":{\"memory\":\"64M\"}}", NULL },
	{ "{\"limits\":{\"memory\":\"65M\"}}", "{\"limits\":{\"memory\":\"64M\"}}", "limits.memory" },
	{ "{\"limits\":{\"memory\":0}}", "{\"limits\":{\"memory\":\"64M\"}}", "limits.memory" },
	{ "{\"limits\":{\"memory\":\"64M\"}}", "{\"limits\":{\"memory\":0}}", NULL },
	{ "{\"limits\":{\"wall\":\"none\"}}", "{}", "limits.wall" },
	{ "{\"limits\":{\"swap\":\"1M\"}}", "{}", "limits.swap" },
	{ "{\"limits\":{\"open_files\":2000}}", "{}", "limits.open_files" },
	{ "{\"files\":{\"tmp\":{\"size\":\"1G\"}}}", "{}", "files.tmp.size" },
	{ "{\"files\":{\"exec_from_writable\":true}}", "{}", "exec_from_writable" },
	{ "{\"files\":{\"root\":\"other\"}}", "{}", "files.root" },
	{ "{\"files\":{\"read\":[\"/srv:/data\"]}}", "{}", "/srv" },
	{ "{\"files\":{\"read\":[\"/srv:/data\"]}}", "{\"files\":{\"read\":[\"/srv:/data\"]}}", NULL },
	{ "{\"files\":{\"read\":[\"/srv:/data\"]}}", "{\"files\":{\"write\":[\"/srv:/data\"]}}", NULL },
	{ "{\"files\":{\"write\":[\"/srv:/data\"]}}", "{\"files\":{\"read\":[\"/srv:/data\"]}}", "/srv" },
	{ "{\"network\":{\"mode\":\"loopback\"}}", "{}", "network.mode" },
	{ "{\"network\":{\"mode\":\"loopback\"}}", "{\"network\":{\"mode\":\"host\"}}", NULL },
	{ "{\"env\":{\"set\":{\"A\":\"b\"}}}", "{}", NULL },
	{ "{\"env\":{\"pass\":[\"HOME\"]}}", "{}", "env.pass" },
	{ "{\"landlock\":\"off\"}", "{}", "landlock" },
	{ "{\"landlock\":\"require\"}", "{}", NULL },
	{ "{}", "{\"limits\":{\"enforcement\":\"cgroup\"}}", "enforcement" },
	{ "{\"python\":{\"packages\":[\"/x\"]}}", "{}", "/x" },
	{ "{\"python\":{\"packages\":[\"/x\"]}}", "{\"python\":{\"packages\":[\"/y\",\"/x\"]}}", NULL },
	{ "{\"syscalls\":{\"allow\":[\"getcpu\"]}}", "{}", "getcpu" },
	{ "{}", "{\"syscalls\":{\"allow\":[\"getcpu\"]}}", NULL },
	{ "{\"syscalls\":{\"allow\":[\"getcpu\"],\"deny\":[\"getcpu\"]}}", "{}", NULL },
	/* A part of a call, where the whole is refused. */
	{ "{\"syscalls\":{\"rules\":[{\"name\":\"getcpu\",\"args\":[{\"index\":0,\"op\":\"==\",\"value\":1}],\"action\":\"allow\"}]}}", "{}", "getcpu" },
	{ "{\"syscalls\":{\"rules\":[{\"name\":\"getcpu\",\"args\":[{\"index\":0,\"op\":\"==\",\"value\":1}],\"action\":\"allow\"}]}}",
	  "{\"syscalls\":{\"allow\":[\"getcpu\"]}}", NULL },
	/* The whole, where a part is refused. */
	{ "{\"syscalls\":{\"allow\":[\"getcpu\"]}}",
	  "{\"syscalls\":{\"allow\":[\"getcpu\"],\"rules\":[{\"name\":\"getcpu\",\"args\":[{\"index\":0,\"op\":\"==\",\"value\":1}],\"action\":\"deny\"}]}}",
	  "getcpu" },
	{ "{\"syscalls\":{\"allow\":[\"getcpu\"],\"rules\":[{\"name\":\"getcpu\",\"args\":[{\"index\":0,\"op\":\"==\",\"value\":1}],\"action\":\"deny\"}]}}",
	  "{\"syscalls\":{\"allow\":[\"getcpu\"]}}", NULL },
	/* Another part is refused than by the server. */
	{ "{\"syscalls\":{\"allow\":[\"getcpu\"],\"rules\":[{\"name\":\"getcpu\",\"args\":[{\"index\":0,\"op\":\"==\",\"value\":2}],\"action\":\"deny\"}]}}",
	  "{\"syscalls\":{\"allow\":[\"getcpu\"],\"rules\":[{\"name\":\"getcpu\",\"args\":[{\"index\":0,\"op\":\"==\",\"value\":1}],\"action\":\"deny\"}]}}",
	  "getcpu" },
};

static void test_row(const struct row *row)
{
	struct sj_err err = { 0 };
	_cleanup_policy_ struct policy *a = load(row->a, NULL, &err);
	_cleanup_policy_ struct policy *b = load(row->b, NULL, &err);
	char why[POLICY_LOOSER_MAX] = "";

	if (!ok(a && b, "%s and %s load (%s)", row->a, row->b, err.why))
		return;
	is_int(!row->word, policy_is_within(a, b, why), "%s within %s", row->a, row->b);
	if (row->word)
		has_str(row->word, why, "says what loosens");
}

static void test_documents(void)
{
	struct sj_err err = { 0 };
	_cleanup_policy_ struct policy *p = load("{\"limits\":{\"pids\":7}}", "python", &err);

	ok(p && p->limits.pids == 7 && p->limits.cpu_milli == 2000, "without extends it stands on its base");
	ok(!load("{\"extends\":\"./x.json\"}", NULL, &err), "a file is no base that a client names");
	is_str("E_POLICY_EXTENDS", err.id, "and the refusal says so");
	ok(!load("{\"extends\":\"/etc/passwd\"}", "python", &err), "by no path");
	ok(!load("{\"extends\":\"nothing\"}", "python", &err), "nor an unknown one");
	ok(!load("[]", "python", &err), "a list is no policy");
	ok(!load("{\"extends\":5}", "python", &err), "a number is no name");
	ok(!load("{\"limits\":{\"memory\":\"1\"}}", "python", &err), "limits are checked");
	has_str("the policy", err.what, "and the document named");
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		test_row(&rows[i]);
	test_documents();
	return done();
}
