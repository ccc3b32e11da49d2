/*
 * policy_learn_check.c - smoljail policy learn --check: the same programs under the new policy, and what differs
 *
 * Runs as: the caller
 * Trusts: the library's reports
 * Never: calls two runs alike that ended, printed or were refused differently
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/learn.h"

#define LIST_MAX (16u << 20)	/* bytes of a file that lists programs */

/* ---- how a run ended ------------------------------------------------------------- */

struct learn_end *learn_ends_new(size_t n)
{
	struct learn_end *ends = calloc(n + 1, sizeof(*ends));

	for (size_t i = 0; ends && i < n; i++)
		ends[i].out = ends[i].err = -1;
	return ends;
}

void learn_ends_free(struct learn_end *ends, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		base_closep(&ends[i].out);
		base_closep(&ends[i].err);
		base_strv_freep(&ends[i].denied);
	}
	free(ends);
}

static int sum_up(int *fd, char ret[65])
{
	int r = 0;

	if (*fd >= 0 && lseek(*fd, 0, SEEK_SET) == 0)
		r = io_sha256_file(*fd, ret);
	base_closep(fd);
	return r;
}

int learn_end_note(struct learn_end *end, const struct sj_report *report)
{
	struct sj_summary s;
	struct sj_denial d;
	int r = sum_up(&end->out, end->out_sum);

	if (r == 0)
		r = sum_up(&end->err, end->err_sum);
	sj_report_summary(report, &s);
	snprintf(end->status, sizeof(end->status), "%s", s.status);
	end->exit_code = s.exit_code;
	for (size_t i = 0; r == 0 && sj_report_denial(report, i, &d) == 0; i++)
		r = strv_push(&end->denied, d.what);
	return r < 0 ? cli_refuse(NULL, "policy learn: cannot note how a program ended: %s", strerror(-r)) : 0;
}

/* ---- what differs -------------------------------------------------------------------- */

static bool is_in(char *const *list, const char *text)
{
	for (; list && *list; list++)
		if (strcmp(*list, text) == 0)
			return true;
	return false;
}

/* True: something that the learning run was not refused. */
static bool tell_denied(const char *name, const struct learn_end *before, const struct learn_end *after)
{
	bool any = false;

	for (char **what = after->denied; what && *what; what++) {
		if (is_in(before->denied, *what))
			continue;
		fprintf(stderr, "smoljail: check: %s: denied now: ", name);
		cli_print_plain(stderr, *what);
		fputc('\n', stderr);
		any = true;
	}
	return any;
}

static bool tell_difference(const char *name, const struct learn_end *before, const struct learn_end *after)
{
	bool any = tell_denied(name, before, after);

	if (strcmp(before->status, after->status) != 0 || before->exit_code != after->exit_code) {
		fprintf(stderr, "smoljail: check: %s: ended as %s (%d), now as %s (%d)\n", name, before->status,
			before->exit_code, after->status, after->exit_code);
		any = true;
	}
	if (strcmp(before->out_sum, after->out_sum) != 0 || strcmp(before->err_sum, after->err_sum) != 0) {
		fprintf(stderr, "smoljail: check: %s: printed something else\n", name);
		any = true;
	}
	return any;
}

int learn_check(const struct learn_job *job, const struct learn_end *before)
{
	size_t alike = 0;
	int status = 0;

	for (size_t i = 0; status == 0 && i < job->n; i++) {
		const char *script = job->scripts ? job->scripts[i] : NULL;
		struct learn_end *after = learn_ends_new(1);
		struct sj_report *report = NULL;

		if (!after)
			return cli_refuse(NULL, "out of memory");
		status = learn_run_one(job, job->out, false, script, after, &report);
		if (status == 0)
			status = learn_end_note(after, report);
		if (status == 0)
			alike += !tell_difference(script ? script : "the program", &before[i], after);
		sj_report_free(report);
		learn_ends_free(after, 1);
	}
	if (status)
		return status;
	fprintf(stderr, "smoljail: check: %zu of %zu program%s ended, printed and %s refused alike under %s\n", alike, job->n,
		job->n == 1 ? "" : "s", job->n == 1 ? "was" : "were", job->out);
	return alike == job->n ? 0 : 1;
}

/* ---- a corpus --------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_script(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > 3 && strcmp(e->d_name + len - 3, ".py") == 0;
}

static int read_folder(const char *path, char ***ret)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int r = dir ? 0 : -errno;

	while (r == 0 && (e = readdir(dir))) {
		_cleanup_free_ char *file = is_script(e) ? str_printf("%s/%s", path, e->d_name) : NULL;

		if (file)
			r = strv_push(ret, file);
	}
	if (dir)
		closedir(dir);
	if (r == 0 && *ret)
		qsort(*ret, strv_len(*ret), sizeof(**ret), by_name);
	return r;
}

/* One path a line; empty lines and those that begin with # are left out. */
static int read_list(const char *path, char ***ret)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	char *save = NULL;
	int r = io_read_file(path, LIST_MAX, &text, &len);

	for (char *line = r == 0 ? strtok_r(text, "\n", &save) : NULL; line && r == 0; line = strtok_r(NULL, "\n", &save))
		if (line[0] != '#')
			r = strv_push(ret, line);
	return r;
}

int learn_corpus(const char *path, char ***ret)
{
	_cleanup_strv_ char **list = NULL;
	struct stat st;
	int r = stat(path, &st) < 0 ? -errno : 0;

	if (r == 0)
		r = S_ISDIR(st.st_mode) ? read_folder(path, &list) : read_list(path, &list);
	if (r < 0)
		return cli_refuse(NULL, "--runs: cannot read \"%s\": %s", path, strerror(-r));
	if (!list)
		return cli_refuse("a folder of *.py files, or a file that lists programs", "--runs: \"%s\" has no program", path);
	if (strv_len(list) > LEARN_SCRIPTS_MAX)
		return cli_refuse(NULL, "--runs: \"%s\" has more than %u programs", path, LEARN_SCRIPTS_MAX);
	*ret = steal_ptr(list);
	return 0;
}
