/*
 * score.c - how much a policy leaves open, in one number that can be compared, and of what it is made
 *
 * Runs as: the caller
 * Trusts: a policy that policy_load() returned
 * Never: judges a program: only what a policy would let any program do
 *
 * Each risk of the table has a weight; the number is the sum of those that a
 * policy takes, in hundredths, and ends at 10: who could have more has all that
 * matters already.
 */
#include <stdlib.h>
#include <string.h>

#include "workbench/internal.h"

#define SCHEMA "smoljail.policy-score/1"
#define RISKS_MAX 128
#define EXPOSURE_MAX 10.0
#define WEIGHT_OF_ONE 100.0	/* of a risk that makes one point */

struct part {
	const struct risk *risk;
	double points;
	size_t places;
	char detail[WORDS_MAX];	/* of the first place */
};

struct score {
	struct part parts[RISKS_MAX];
	size_t n;
	double total;
};

static void rate(struct score *s, const struct risk *risk, const struct policy *p)
{
	struct part *part = &s->parts[s->n];
	char detail[WORDS_MAX];
	unsigned int share = risk_share(risk, p, 0, part->detail);

	if (share == 0 || risk->weight == 0 || s->n == RISKS_MAX)
		return;
	part->risk = risk;
	part->places = 1;
	while (risk_share(risk, p, part->places, detail) > 0)
		part->places++;
	part->points = (double)risk->weight * share / RISK_WHOLE / WEIGHT_OF_ONE;
	s->total += part->points;
	s->n++;
}

static int worse(const void *x, const void *y)
{
	const struct part *a = x, *b = y;

	if (a->points < b->points || a->points > b->points)
		return a->points < b->points ? 1 : -1;
	return strcmp(a->risk->id, b->risk->id);
}

static struct score *score_of(const struct policy *p)
{
	struct score *s = calloc(1, sizeof(*s));

	for (const struct risk *risk = workbench_risks; s && risk->id; risk++)
		rate(s, risk, p);
	if (s)
		qsort(s->parts, s->n, sizeof(s->parts[0]), worse);
	if (s && s->total > EXPOSURE_MAX)
		s->total = EXPOSURE_MAX;
	return s;
}

double workbench_exposure(const struct policy *p)
{
	struct score *s = score_of(p);
	double total = s ? s->total : EXPOSURE_MAX;

	free(s);
	return total;
}

static void put_part(struct page *page, const struct part *part)
{
	page_put(page, "  %5.2f  %-18s  %s", part->points, part->risk->id, part->risk->title);
	if (part->detail[0]) {
		page_put(page, ": ");
		page_plain(page, part->detail);
	}
	if (part->places > 1)
		page_put(page, " and %zu more", part->places - 1);
	page_put(page, "\n");
}

static char *print(const struct policy *p, const struct score *s, bool parts)
{
	_cleanup_page_ struct page page = PAGE_INIT;

	page_put(&page, "%5.2f  ", s->total);
	page_plain(&page, p->name);
	page_put(&page, "\n");
	for (size_t i = 0; parts && i < s->n; i++)
		put_part(&page, &s->parts[i]);
	return page_end(&page);
}

static char *print_json(const struct policy *p, const struct score *s)
{
	_cleanup_json_ json_t *out = json_pack("{s:s, s:s, s:f}", "schema", SCHEMA, "policy", p->name, "exposure", s->total);
	json_t *parts = json_array();

	for (size_t i = 0; i < s->n; i++) {
		const struct part *part = &s->parts[i];

		json_array_append_new(parts, json_pack("{s:s, s:f, s:s, s:s, s:s, s:s?, s:i}", "id", part->risk->id, "points", part->points,
						       "what", part->risk->title, "why", part->risk->why, "reference", part->risk->ref,
						       "detail", part->detail[0] ? part->detail : NULL, "places", (int)part->places));
	}
	return !out || json_object_set_new(out, "missing", parts) < 0 ? NULL : words_json(out);
}

int workbench_score(const struct policy *p, enum workbench_score_form form, char **ret, struct sj_err *err)
{
	struct score *s = score_of(p);
	char *text = !s ? NULL : form == WORKBENCH_SCORE_JSON ? print_json(p, s) : print(p, s, form == WORKBENCH_SCORE_PARTS);

	free(s);
	if (!text)
		return err_oom(err);
	*ret = text;
	return 0;
}
