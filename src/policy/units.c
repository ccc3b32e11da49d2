/*
 * units.c - sizes, times and CPU shares as people write them
 *
 * Runs as: supervisor, outside the jail
 * Trusts: nothing
 * Never: rounds what was written, or listens to the locale
 */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "policy/internal.h"

#define FRACTION_DIGITS_MAX 9

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit size_units[] = {
	{ "", 1 }, { "K", 1ull << 10 }, { "M", 1ull << 20 }, { "G", 1ull << 30 }, { "T", 1ull << 40 },
};
static const struct unit time_units[] = {
	{ "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 },
};
static const struct unit milli_units[] = { { "", 1000 } };

static const struct unit *find_unit(const struct unit *units, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(units[i].name, name) == 0)
			return &units[i];
	return NULL;
}

/* Digits from *s on; -EINVAL without one, -ERANGE when they do not fit. */
static int parse_digits(const char **s, size_t max, uint64_t *ret, uint64_t *ret_scale)
{
	uint64_t value = 0, scale = 1;
	const char *p = *s;

	for (; *p >= '0' && *p <= '9'; p++) {
		if ((size_t)(p - *s) >= max)
			return -EINVAL;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -ERANGE;
		if (ret_scale)
			scale *= 10;
	}
	if (p == *s)
		return -EINVAL;
	*s = p;
	*ret = value;
	if (ret_scale)
		*ret_scale = scale;
	return 0;
}

/* number[.fraction][unit], and the result must be whole. */
static int parse_quantity(const char *text, const struct unit *units, size_t n, uint64_t *ret)
{
	uint64_t whole, part = 0, scale = 1, value;
	const struct unit *unit;
	int r = parse_digits(&text, SIZE_MAX, &whole, NULL);

	if (r < 0)
		return r;
	if (*text == '.') {
		text++;
		r = parse_digits(&text, FRACTION_DIGITS_MAX, &part, &scale);
		if (r < 0)
			return r;
	}
	unit = find_unit(units, n, text);
	if (!unit)
		return -EINVAL;
	/* part < 10^9 and factor <= 2^40: the product needs 70 bits. */
	if ((unsigned __int128)part * unit->factor % scale != 0)
		return -EINVAL;
	part = (uint64_t)((unsigned __int128)part * unit->factor / scale);
	if (__builtin_mul_overflow(whole, unit->factor, &value) || __builtin_add_overflow(value, part, &value))
		return -ERANGE;
	*ret = value;
	return 0;
}

int policy_parse_size(const char *text, uint64_t *ret)
{
	return parse_quantity(text, size_units, ARRAY_LEN(size_units), ret);
}

int policy_parse_time_ms(const char *text, uint64_t *ret)
{
	return parse_quantity(text, time_units, ARRAY_LEN(time_units), ret);
}

int parse_milli(const char *text, uint64_t *ret)
{
	return parse_quantity(text, milli_units, ARRAY_LEN(milli_units), ret);
}

void policy_format_size(uint64_t bytes, char *ret, size_t len)
{
	uint64_t rest;
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(size_units) && bytes >= size_units[i + 1].factor)
		i++;
	/* A smaller unit where that one is exact: 1.5G is better read as 1536M. */
	if (i > 1 && bytes % size_units[i].factor != 0 && bytes % size_units[i - 1].factor == 0)
		i--;
	rest = bytes % size_units[i].factor;
	if (rest == 0)
		snprintf(ret, len, "%" PRIu64 "%s", bytes / size_units[i].factor, size_units[i].name);
	else
		/* Cut, not rounded: never says more than there was. Both factors are below 2^41. */
		snprintf(ret, len, "%" PRIu64 ".%" PRIu64 "%s", bytes / size_units[i].factor,
			 rest * 10 / size_units[i].factor, size_units[i].name);
}

void policy_format_time(uint64_t ms, char *ret, size_t len)
{
	if (ms % 1000 != 0)
		snprintf(ret, len, "%" PRIu64 "ms", ms);
	else if (ms > 0 && ms % 3600000 == 0)
		snprintf(ret, len, "%" PRIu64 "h", ms / 3600000);
	else if (ms >= 120000 && ms % 60000 == 0)
		snprintf(ret, len, "%" PRIu64 "m", ms / 60000);
	else
		snprintf(ret, len, "%" PRIu64 "s", ms / 1000);
}
