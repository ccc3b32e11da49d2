/*
 * learn_limits.c - limits from what was used at most, with head room
 *
 * Runs as: outside the jail
 * Trusts: the supervisor's counters
 * Never: makes a limit of a number that is not known: the default stays
 */
#include <inttypes.h>
#include <string.h>

#include "workbench/learn.h"

#define KIB (1ull << 10)
#define MIB (1ull << 20)

enum form { SIZE, COUNT, SECONDS };

/* limit = the larger of `least` and peak * room, rounded up to a multiple of `step`, or to a power of two. */
static const struct row {
	const char *section, *sub, *key;	/* sub NULL: the key is in the section itself */
	enum form form;
	size_t peak;				/* in struct learn_peaks */
	uint64_t room, least, step;		/* step 0: powers of two */
	bool zero_is_known;			/* nothing written: that is a peak, too */
	const char *unit;			/* behind the number, in the comment; NULL: no comment */
} rows[] = {
#define PEAK(member) offsetof(struct learn_peaks, member)
	{ "limits", NULL, "memory", SIZE, PEAK(memory), LEARN_ROOM, 64 * MIB, 16 * MIB, false, "" },
	{ "limits", NULL, "pids", COUNT, PEAK(pids), LEARN_ROOM, 8, 4, false, " processes and threads" },
	{ "limits", NULL, "cpus", COUNT, PEAK(cpus), 1, 1, 1, false, " busy on the average, rounded up" },
	{ "limits", NULL, "wall", SECONDS, PEAK(wall_ms), LEARN_ROOM_TIME, 10000, 1000, false, " ms by the clock" },
	{ "limits", NULL, "cpu_time", SECONDS, PEAK(cpu_ms), LEARN_ROOM_TIME, 10000, 1000, false, " ms of all processes" },
	{ "limits", NULL, "open_files", COUNT, PEAK(files), LEARN_ROOM, 64, 16, false, " in one process" },
	{ "limits", NULL, "output", SIZE, PEAK(output), LEARN_ROOM_OUTPUT, 64 * KIB, 0, true, "" },
	{ "files", "tmp", "size", SIZE, PEAK(disk), LEARN_ROOM, MIB, MIB, true, "" },
	{ "files", "work", "size", SIZE, PEAK(disk), LEARN_ROOM, MIB, MIB, true, NULL },
	{ "files", "shm", "size", SIZE, PEAK(disk), LEARN_ROOM, MIB, MIB, true, NULL },
	/* Learning needs plenty of these, and nobody counts them. */
	{ "limits", NULL, "file_size", SIZE, PEAK(nothing), 1, 0, 1, false, NULL },
	{ "files", "tmp", "inodes", COUNT, PEAK(nothing), 1, 0, 1, false, NULL },
	{ "files", "work", "inodes", COUNT, PEAK(nothing), 1, 0, 1, false, NULL },
	{ "files", "shm", "inodes", COUNT, PEAK(nothing), 1, 0, 1, false, NULL },
#undef PEAK
};

static uint64_t round_up(uint64_t n, uint64_t step)
{
	uint64_t power = 1;

	if (step)
		return (n + step - 1) / step * step;
	while (power < n && power < 1ull << 62)
		power <<= 1;
	return power;
}

static uint64_t limit_of(const struct row *row, uint64_t peak)
{
	uint64_t with_room = peak > UINT64_MAX / 64 ? peak : peak * row->room;

	return round_up(with_room > row->least ? with_room : row->least, row->step);
}

static json_t *place(json_t *doc, const char *section, const char *sub)
{
	json_t *at = json_object_get(doc, section);

	return sub ? json_object_get(at, sub) : at;
}

/* The number that a setting's text stands for; 0: no limit, or not this form. */
static uint64_t number_of(const json_t *value, enum form form)
{
	const char *text = json_string_value(value);
	uint64_t n = 0;

	if (json_is_number(value))
		return (uint64_t)json_number_value(value);
	if (text && form == SIZE)
		return policy_parse_size(text, &n) < 0 ? 0 : n;
	if (text && form == SECONDS)
		return policy_parse_time_ms(text, &n) < 0 ? 0 : n;
	return 0;
}

static json_t *text_of(uint64_t n, enum form form)
{
	char text[40];

	if (form == COUNT)
		return json_integer((json_int_t)n);
	if (form == SIZE)
		policy_format_size(n, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%" PRIu64 "s", n / 1000);
	return json_string(text);
}

/* Not less than the older policy gave; none is more than any number. Steals value. */
static json_t *unite(const struct learn *l, const struct row *row, json_t *value)
{
	json_t *old = l->old ? json_object_get(place(l->old->doc, row->section, row->sub), row->key) : NULL;
	uint64_t had = old ? number_of(old, row->form) : 0, has = number_of(value, row->form);

	if (!old || !has || (had && had < has))
		return value;
	json_decref(value);
	return json_incref(old);
}

static int set_limit(const struct learn *l, const struct row *row, json_t *doc, json_t *defaults, json_t *comment)
{
	json_t *at = place(doc, row->section, row->sub), *value;
	uint64_t peak;
	char text[40];

	memcpy(&peak, (const char *)&l->peaks + row->peak, sizeof(peak));
	if (peak || row->zero_is_known)
		value = text_of(limit_of(row, peak), row->form);
	else
		value = json_incref(json_object_get(place(defaults, row->section, row->sub), row->key));
	if (json_object_set_new(at, row->key, unite(l, row, value)) < 0)
		return -1;
	if (!row->unit || (!peak && !row->zero_is_known))
		return 0;
	if (row->form == SIZE)
		policy_format_size(peak, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%" PRIu64, peak);
	return learn_say(comment, "%s: %s%s", row->sub ? "private folders, together" : row->key, text, row->unit);
}

int learn_limits(const struct learn *l, json_t *doc, json_t *defaults, struct sj_err *err)
{
	json_t *comment = json_array();
	int r = learn_say(comment, "The most that was used. The limits are %u times as much, for times %u and for output %u times, "
			  "rounded up.", LEARN_ROOM, LEARN_ROOM_TIME, LEARN_ROOM_OUTPUT);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		r |= set_limit(l, &rows[i], doc, defaults, comment);
	r |= json_object_set_new(json_object_get(doc, "limits"), "comment", comment);
	return r < 0 ? err_oom(err) : 0;
}
