/*
 * test_library.c - the library in a caller's hands: every allocation fails once; many threads run jails at the same time
 *
 * Runs as: any user, beside the built root (build/tests/rootfs)
 * Trusts: nothing
 * Never: counts an allocation that another thread makes
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter/filter.h"
#include "policy/policy.h"
#include "session/msg.h"
#include "session/session.h"
#include "tap.h"

#define THREADS 8
#define RUNS_EACH 4
#define FAILURES_MAX 200000

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* ---- an allocator that fails once --------------------------------------------- */

static __thread long countdown;		/* 0: do not fail */
static __thread bool hit;
static __thread long live;

#ifndef __SANITIZE_ADDRESS__
/* Shared libraries find these instead of libc's. */
#define EXPORTED __attribute__((visibility("default")))
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

/* libseccomp 2.5 crashes, or loses memory, where it gets none: what it asks for itself is let through. */
static bool is_let_through(void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "libseccomp");
}

static bool fails(void *caller)
{
	if (countdown == 0 || --countdown > 0)
		return false;
	hit = true;
	if (is_let_through(caller))
		return false;
	errno = ENOMEM;
	return true;
}

static void *counted(void *p)
{
	live += p != NULL;
	return p;
}

EXPORTED void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : counted(__libc_malloc(size));
}

EXPORTED void *calloc(size_t n, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : counted(__libc_calloc(n, size));
}

EXPORTED void *realloc(void *p, size_t size)
{
	if (fails(__builtin_return_address(0)))
		return NULL;
	return p ? __libc_realloc(p, size) : counted(__libc_realloc(p, size));
}

EXPORTED void free(void *p)
{
	live -= p != NULL;
	__libc_free(p);
}
#endif

/* ---- what is done with it -------------------------------------------------------- */

static const char all_of_it[] =
	"{\"extends\":\"python-data\",\"limits\":{\"memory\":\"64M\",\"pids\":9},\"files\":{\"read\":[\"/usr:/x\"]},\"env\":{\"set\":{\"A\":\"b\"}},"
	"\"syscalls\":{\"rules\":[{\"name\":\"socket\",\"action\":\"deny\",\"errno\":\"EACCES\","
	"\"args\":[{\"index\":0,\"op\":\"==\",\"value\":\"AF_UNIX\"}]}],\"deny\":[\"fork\"]}}";

static int load(struct policy **ret, struct sj_err *err)
{
	const struct policy_set sets[] = { { "limits.wall", "5s", "--timeout" }, { "env.set", "X=y", NULL } };

	return policy_load("python", sets, ARRAY_LEN(sets), ret, err);
}

static int do_load(struct sj_err *err)
{
	_cleanup_policy_ struct policy *p = NULL;

	return load(&p, err);
}

static int do_document(struct sj_err *err)
{
	_cleanup_policy_ struct policy *p = NULL;
	_cleanup_json_ json_t *doc = NULL;
	int r = base_json_parse(all_of_it, strlen(all_of_it), "test", &doc, err);

	return r < 0 ? r : policy_load_doc(doc, NULL, "test", NULL, 0, &p, err);
}

static struct policy *ready;

static int do_show(struct sj_err *err)
{
	_cleanup_free_ char *json = policy_print_json(ready), *flat = json ? policy_print_expanded(ready) : NULL;

	return flat ? 0 : err_oom(err);
}

static int do_schema(struct sj_err *err)
{
	_cleanup_free_ char *text = policy_schema_json();

	return text ? 0 : err_oom(err);
}

static int do_filter(struct sj_err *err)
{
	_cleanup_filter_ struct filter_prog prog = { 0 };

	return filter_compile(ready, true, &prog, err);
}

static int do_message(struct sj_err *err)
{
	static const char text[] = "{\"type\":\"run\",\"id\":7,\"session\":\"a\",\"code\":\"x = [1, 2]\"}";
	_cleanup_msg_ struct msg m = { 0 };
	struct msg_fault fault = { 0 };
	int r = msg_parse(MSG_FROM_CLIENT, text, sizeof(text) - 1, &m, &fault);

	return r == -ENOMEM ? err_oom(err) : r;
}

static int do_report(struct sj_err *err)
{
	struct session_report rep = { .status = STATUS_OK, .reason = "x", .n_denied = 1, .isolation = { "userns" } };
	_cleanup_free_ char *text = session_report_json(&rep, ready);

	return text ? 0 : err_oom(err);
}

/* A whole jail. That nothing ran is seen by what it did not write. */
static int do_run(struct sj_err *err)
{
	struct sj_run *run = NULL;
	struct sj_report *report = NULL;
	struct sj_summary s = { .exit_status = -1 };
	char got[16] = "";
	int out[2], r;
	ssize_t n;

	if (pipe2(out, O_CLOEXEC | O_NONBLOCK) < 0)
		abort();
	r = sj_run_new("python", &run, err);
	if (r == 0 && (sj_run_code(run, "print('ran', end='')") < 0))
		r = err_oom(err);
	if (r == 0) {
		sj_run_stdio(run, -1, out[1], -1);
		r = sj_run_start(run, &report, err);
	}
	if (report)
		sj_report_summary(report, &s);
	n = read(out[0], got, sizeof(got) - 1);
	if (r < 0 && (n > 0 || (report && (s.ran || strcmp(s.status, "setup_error") != 0))))
		err->what[0] = '\0'; /* told as a failure, and ran */
	if (r == 0 && s.exit_status == 0 && strcmp(got, "ran") != 0)
		r = -EDOM;
	sj_report_free(report);
	sj_run_free(run);
	close(out[0]);
	close(out[1]);
	return r;
}

/* ---- one failure after the other --------------------------------------------------- */

static long open_files(void)
{
	long n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* What is wrong after the nth allocation failed, NULL: nothing. */
static const char *one_failure(int (*act)(struct sj_err *), long n, struct sj_err *err, bool *ret_hit)
{
	long before = live, files = open_files();
	int r;

	*err = (struct sj_err){ 0 };
	hit = false;
	countdown = n;
	r = act(err);
	countdown = 0;
	*ret_hit = hit;
	if (r == -EDOM)
		return "success, and no output";
	if (!hit && r < 0)
		return "failed without a cause";
	if (r < 0 && (err->what[0] == '\0' || err->exit != SJ_EXIT_SETUP))
		return "no error in words, or not 125";
	if (live != before)
		return live > before ? "memory is left" : "memory is freed that was not counted";
	if (open_files() != files)
		return "a descriptor is left";
	if (waitpid(-1, NULL, WNOHANG | __WALL) != -1)
		return "a process is left";
	return NULL;
}

static void each_failure(const char *name, int (*act)(struct sj_err *), long first, long step)
{
	const char *wrong = NULL;
	struct sj_err err = { 0 };
	bool was_hit = true;
	long n = first;

	(void)act(&err); /* what libraries keep for good is allocated now */
	for (; was_hit && !wrong && n < FAILURES_MAX; n += step)
		wrong = one_failure(act, n, &err, &was_hit);
	if (!ok(!wrong, "%s: %ld allocations fail, one at a time, which is told and leaves nothing", name, (n - first) / step - 1))
		printf("# allocation %ld: %s: [%s] exit %d: %s; %s\n", n - step, wrong, err.id, err.exit, err.what, err.why);
}

/* How many allocations a thing takes. */
static long count(int (*act)(struct sj_err *))
{
	struct sj_err err = { 0 };
	long n;

	countdown = FAILURES_MAX;
	(void)act(&err);
	n = FAILURES_MAX - countdown;
	countdown = 0;
	return n;
}

static void test_allocations(void)
{
	struct sj_err err = { 0 };

	if (SANITIZED) {
		skip("allocations fail", "the sanitizer has the allocator");
		return;
	}
	if (!ok(load(&ready, &err) == 0, "a policy loads"))
		return;
	each_failure("loading a policy", do_load, 1, 1);
	each_failure("a document from a client", do_document, 1, 1);
	each_failure("showing a policy", do_show, 1, 1);
	each_failure("the schema", do_schema, 1, 41);
	each_failure("compiling a filter", do_filter, 1, 1);
	each_failure("a message", do_message, 1, 1);
	each_failure("a report", do_report, 1, 1);
	/* Those of loading the policy were all tried, without a jail behind each. */
	each_failure("a run", do_run, count(do_load) > 100 ? count(do_load) - 100 : 1, 1);
	ready = policy_free(ready);
}

/* ---- threads -------------------------------------------------------------------------- */

/* One jail with input and output of its own: true when it returned what it was asked. */
static bool run_one(int me, int round)
{
	char code[96], want[32], got[64] = "";
	struct sj_run *run = NULL;
	struct sj_report *report = NULL;
	struct sj_summary s = { 0 };
	struct sj_err err = { 0 };
	int out[2];
	bool good;

	snprintf(code, sizeof(code), "import sys; print(%d * 1000 + %d, end=''); sys.exit(%d)", me, round, me + 1);
	snprintf(want, sizeof(want), "%d", me * 1000 + round);
	if (pipe2(out, O_CLOEXEC | O_NONBLOCK) < 0 || sj_run_new("python", &run, &err) < 0)
		return false;
	(void)sj_run_code(run, code);
	sj_run_stdio(run, -1, out[1], -1);
	if (sj_run_start(run, &report, &err) < 0)
		printf("# [%s] %s: %s\n", err.id, err.what, err.why);
	if (report)
		sj_report_summary(report, &s);
	good = report && s.exit_status == me + 1 && read(out[0], got, sizeof(got) - 1) > 0 && strcmp(got, want) == 0;
	if (!good)
		printf("# thread %d: status %d, output \"%s\", wanted \"%s\"\n", me, s.exit_status, got, want);
	sj_report_free(report);
	sj_run_free(run);
	close(out[0]);
	close(out[1]);
	return good;
}

static void *thread_main(void *arg)
{
	int me = (int)(intptr_t)arg;
	long good = 0;

	for (int i = 0; i < RUNS_EACH; i++)
		good += run_one(me, i);
	return (void *)(intptr_t)good;
}

static void test_threads(void)
{
	pthread_t threads[THREADS];
	long good = 0, files = open_files();
	void *part;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread_main, (void *)(intptr_t)i) != 0)
			abort();
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &part);
		good += (intptr_t)part;
	}
	is_int(THREADS * RUNS_EACH, good, "%d threads run %d jails each at the same time, and each gets its own output", THREADS, RUNS_EACH);
	is_int(files, open_files(), "no descriptor is left of them");
	ok(waitpid(-1, NULL, WNOHANG | __WALL) == -1, "no process either");
}

/* A caller that ignores SIGCHLD has the kernel reap: no status to wait for. */
static void test_sigchld_ignored(void)
{
	void (*old)(int) = signal(SIGCHLD, SIG_IGN);

	ok(run_one(3, 1), "a caller that ignores SIGCHLD");
	(void)signal(SIGCHLD, old);
}

int main(void)
{
	if (SANITIZED) {
		skip("jails of a program with threads", "the sanitizer's locks do not survive a clone among threads");
	} else {
		test_threads();
		test_sigchld_ignored();
	}
	test_allocations();
	return done();
}
