/*
 * describe.c - a call and its arguments in words
 *
 * Runs as: supervisor, outside the jail
 * Trusts: nothing; number and arguments come from a jailed program
 * Never: follows or shows a pointer by itself
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "filter/internal.h"

#define POINTEE_MAX 160

/* A set of constants: one of them under `base`, and any number of flags in the other bits. */
struct kind {
	char letter;		/* as in calls.c */
	uint64_t base;
	const char *one;	/* how the names of the base begin, "" = no base */
	const char *flags;	/* and those of the flags, "" = none */
};

static const struct kind kinds[] = {
	{ 'f', UINT32_MAX, "AF_", "" },
	{ 't', 0xf, "SOCK_", "SOCK_" },
	{ 'o', O_ACCMODE, "O_", "O_" },
	{ 'O', 0, "", "O_" },
	{ 'a', 0, "", "AT_" },
	{ 'K', S_IFMT, "S_IF", "" },
	{ 'w', UINT32_MAX, "SEEK_", "" },
	{ 'R', 0, "", "RENAME_" },
	{ 'Z', 0, "", "MFD_" },
	{ 'F', UINT32_MAX, "F_", "" },
	{ 'c', UINT32_MAX, "TC", "" },
	{ 'c', UINT32_MAX, "TIOC", "" },
	{ 'c', UINT32_MAX, "FI", "" },
	{ 'c', UINT32_MAX, "SIOC", "" },
	{ 'c', UINT32_MAX, "NS_", "" },
	{ 'c', UINT32_MAX, "FS_", "" },
	{ 'P', UINT32_MAX, "PR_", "" },
	{ 'H', UINT32_MAX, "ARCH_", "" },
	{ 'n', 0xff, "SIG", "CLONE_" },
	{ 'N', 0, "", "CLONE_" },
	{ 's', UINT32_MAX, "SIG", "" },
	{ 'W', 0, "", "W" },
	{ 'I', UINT32_MAX, "P_", "" },
	{ 'r', UINT32_MAX, "RLIMIT_", "" },
	{ 'S', 0xff, "SCHED_", "SCHED_" },
	{ 'M', 0, "PROT_", "PROT_" },
	{ 'G', 0xf, "MAP_", "MAP_" },
	{ 'V', UINT32_MAX, "MADV_", "" },
	{ 'k', UINT32_MAX, "CLOCK_", "" },
	{ 'j', 0x7f, "FUTEX_", "FUTEX_" },
	{ 'E', UINT32_MAX, "EPOLL_CTL_", "" },
	{ 'q', UINT32_MAX, "SECCOMP_SET_", "" },
	{ 'q', UINT32_MAX, "SECCOMP_GET_", "" },
	{ 'e', 0, "", "SECCOMP_FILTER_FLAG_" },
	{ 'L', UINT32_MAX, "SOL_", "" },
	{ 'h', UINT32_MAX, "SHUT_", "" },
	{ 'T', UINT64_MAX, "PTRACE_", "" },
	{ 'Q', UINT32_MAX, "KEYCTL_", "" },
	{ 'B', UINT32_MAX, "BPF_", "" },
};

/* Text into a field of fixed size; what does not fit is cut. */
struct text {
	char *s;
	size_t len, at;
};

static void put(struct text *t, const char *fmt, ...) _printf_(2, 3);

static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (t->at + 1 >= t->len)
		return;
	va_start(ap, fmt);
	n = vsnprintf(t->s + t->at, t->len - t->at, fmt, ap);
	va_end(ap);
	t->at += n < 0 ? 0 : (size_t)n;
	if (t->at >= t->len)
		t->at = t->len - 1;
}

static const char *word_of(const char *prefix, uint64_t value)
{
	size_t n;
	const struct policy_constant *c = policy_constants(&n);

	for (size_t i = 0; i < n; i++)
		if (c[i].shown && c[i].value == value && str_prefix(c[i].name, prefix))
			return c[i].name;
	return NULL;
}

/* The flag with the lowest bits of `rest`, and of those the one that has most: O_SYNC is also O_DSYNC. */
static const struct policy_constant *next_flag(const struct kind *kind, uint64_t rest)
{
	const struct policy_constant *c, *best = NULL;
	size_t n;

	c = policy_constants(&n);
	for (size_t i = 0; i < n; i++) {
		uint64_t value = c[i].value, low = best ? best->value & -best->value : UINT64_MAX;

		if (!c[i].shown || !value || (value & kind->base) == value || (rest & value) != value ||
		    !str_prefix(c[i].name, kind->flags))
			continue;
		if (best && (value & best->value) == best->value ? value != best->value : (value & -value) < low)
			best = &c[i];
	}
	return best;
}

/* Names of the bits of *rest, which loses them. */
static void put_flags(struct text *t, const struct kind *kind, uint64_t *rest, const char **bar)
{
	const struct policy_constant *flag;

	while (*kind->flags && (flag = next_flag(kind, *rest))) {
		put(t, "%s%s", *bar, flag->name);
		*bar = "|";
		*rest &= ~(uint64_t)flag->value;
	}
}

static bool put_words(struct text *t, char letter, uint64_t value)
{
	const struct kind *found = NULL;
	const char *bar = "", *one = NULL;
	uint64_t rest;

	for (size_t i = 0; i < ARRAY_LEN(kinds) && !one; i++) {
		if (kinds[i].letter != letter)
			continue;
		found = &kinds[i];
		/* Without a base, `one` names the value 0. */
		one = *found->one && (found->base || !value) ? word_of(found->one, value & found->base) : NULL;
	}
	if (!found)
		return false;
	rest = one ? value & ~found->base : value;
	if (one) {
		put(t, "%s", one);
		bar = "|";
	}
	put_flags(t, found, &rest, &bar);
	if (rest && letter == 'K')
		put(t, "%s0%" PRIo64, bar, rest);
	else if (rest && !*bar && found->base >= UINT32_MAX)
		put(t, rest < 0x1000 ? "%" PRIu64 : "%#" PRIx64, rest);
	else if (rest)
		put(t, "%s%#" PRIx64, bar, rest);
	else if (!*bar)
		put(t, "0");
	return true;
}

/* What the third argument of socket() means depends on the first. */
static void put_protocol(struct text *t, uint32_t family, uint32_t value)
{
	const char *word = NULL;

	if (family == AF_NETLINK)
		word = word_of("NETLINK_", value);
	else if ((family == AF_INET || family == AF_INET6) && value)
		word = word_of("IPPROTO_", value);
	if (word)
		put(t, "%s", word);
	else
		put(t, "%" PRIu32, value);
}

static void put_arg(struct text *t, char letter, uint64_t value, uint64_t first)
{
	if (letter == 'g')
		put_protocol(t, (uint32_t)first, (uint32_t)value);
	else if ((letter == 'd' || letter == 'D') && (int32_t)value == AT_FDCWD)
		put(t, "AT_FDCWD");
	else if (letter == 'd' || letter == 'D' || letter == 'i')
		put(t, "%" PRId32, (int32_t)value);
	else if (letter == 'l')
		put(t, "%" PRId64, (int64_t)value);
	else if (letter == 'u' || letter == 'z')
		put(t, "%" PRIu64, value);
	else if (letter == 'm')
		put(t, "%#" PRIo64, value);
	else if (!put_words(t, letter, value))
		put(t, "%#" PRIx64, value);
}

void filter_describe_with(int nr, const uint64_t args[6], filter_pointee_fn *pointee, void *arg, char *ret, size_t len)
{
	struct text t = { ret, len, 0 };
	const char *letters = call_args(nr), *comma = "";
	char name[32], shown[POINTEE_MAX];
	bool dots = false;
	int told = 0;

	if (len == 0)
		return;
	ret[0] = '\0';
	put(&t, "%s(", filter_call_name(nr, name, sizeof(name)));
	for (unsigned int i = 0; letters && letters[i]; i++) {
		bool pointer = letters[i] == 'p' || letters[i] == 'A';
		bool superfluous = told == 2 && !letters[i + 1];

		told = pointer && pointee ? pointee(arg, i, shown, sizeof(shown)) : 0;
		/* Pointers in a row are one "...": which of them it is does not matter to people. */
		if (superfluous || (pointer && dots && !told))
			continue;
		put(&t, "%s", comma);
		if (told)
			put(&t, "%s", shown);
		else if (pointer)
			put(&t, "...");
		else
			put_arg(&t, letters[i], args[i] & call_arg_mask(nr, i), args[0]);
		dots = pointer && !told;
		comma = ", ";
	}
	put(&t, ")");
}

void filter_describe(int nr, const uint64_t args[6], char *ret, size_t len)
{
	filter_describe_with(nr, args, NULL, NULL, ret, len);
}

void filter_describe_arg(int nr, unsigned int index, uint64_t value, uint64_t first, char *ret, size_t len)
{
	struct text t = { ret, len, 0 };
	const char *letters = call_args(nr);

	if (len == 0)
		return;
	ret[0] = '\0';
	put_arg(&t, letters && index < strlen(letters) ? letters[index] : 'X', value & call_arg_mask(nr, index), first);
}

unsigned int filter_arg_bits(int nr, unsigned int index)
{
	return call_arg_mask(nr, index) == UINT32_MAX ? 32 : 64;
}
