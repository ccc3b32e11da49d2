/*
 * reference.c - the field table as a JSON schema and as a manual page
 *
 * Runs as: supervisor, outside the jail
 * Trusts: the field table and policies/
 * Never: describes a setting that this version refuses
 */
#include <stdlib.h>
#include <string.h>

#include "policy/internal.h"

#define REFERENCE_MAX (1u << 20)
#define MDOC_COLUMNS 68
#define SIZE_PATTERN "^[0-9]+(\\.[0-9]+)?[KkMmGgTt]?$"
#define TIME_PATTERN "^[0-9]+(\\.[0-9]+)?(ms|MS|s|S|m|M|h|H)?$"
#define CONST_PATTERN "^(0[xX][0-9a-fA-F]+|[0-9]+|[A-Za-z_][A-Za-z0-9_]*)(\\|(0[xX][0-9a-fA-F]+|[0-9]+|[A-Za-z_][A-Za-z0-9_]*))*$"

#define NAME_PATTERN "^[a-z0-9][a-z0-9._-]*$"
#define ENV_PATTERN "^!?[A-Za-z_][A-Za-z0-9_]*$"
#define MOUNT_PATTERN "^!?(/.*|[^/~].*:/.+)$"
#define CALL_PATTERN "^!?(@[a-z][a-z0-9-]*|[a-z_][a-z0-9_]*)$"
/* Draft 7: the newest that editors know in full. */
#define DRAFT "http://json-schema.org/draft-07/schema#"
#define SCHEMA_ID "urn:smoljail:policy"

static json_t *schema_object(const struct field *parent);

/* A number in its own unit, or a string. The exact range of the string form is checked when the policy is loaded. */
static json_t *schema_quantity(const struct field *f, const char *pattern)
{
	const char *type = f->type == T_SIZE || f->type == T_INT ? "integer" : "number";
	double unit = f->type == T_TIME || f->type == T_CPUS ? 1000 : 1;
	json_t *number = json_pack("{s:s}", "type", type), *forms = json_pack("[o]", number);

	if (f->type == T_SIZE || f->type == T_INT) {
		json_object_set_new(number, "minimum", json_integer((json_int_t)f->min));
		json_object_set_new(number, "maximum", json_integer((json_int_t)f->max));
	} else {
		json_object_set_new(number, "minimum", json_real((double)f->min / unit));
		json_object_set_new(number, "maximum", json_real((double)f->max / unit));
	}
	if (f->flags & F_NONE)
		json_array_append_new(forms, json_pack("{s:[i,s]}", "enum", 0, "none"));
	if (pattern)
		json_array_append_new(forms, json_pack("{s:s,s:s}", "type", "string", "pattern", pattern));
	if (json_array_size(forms) == 1) {
		json_incref(number);
		json_decref(forms);
		return number;
	}
	return json_pack("{s:o}", "anyOf", forms);
}

static json_t *schema_words(const struct field *f)
{
	json_t *words = json_array();
	const char *const *names;
	size_t n;

	if (f->type == T_ENUM) {
		for (const struct word *word = f->words; word->word; word++)
			if (!word->later)
				json_array_append_new(words, json_string(word->word));
	} else {
		names = errno_names(&n);
		for (size_t i = 0; i < n; i++)
			json_array_append_new(words, json_string(names[i]));
	}
	return json_pack("{s:o}", "enum", words);
}

/* What the texts of a field look like, as far as a pattern can say; NULL: anything. */
static const char *text_pattern(const struct field *f)
{
	if (f->check == text_name)
		return NAME_PATTERN;
	if (f->check == text_env_name)
		return ENV_PATTERN;
	if (f->check == text_mount)
		return MOUNT_PATTERN;
	return f->check == text_call_entry || f->check == text_call ? CALL_PATTERN : NULL;
}

static json_t *schema_string(const struct field *f)
{
	json_t *value = json_pack("{s:s,s:I,s:I}", "type", "string", "minLength", (json_int_t)f->min, "maxLength", (json_int_t)f->max);
	const char *pattern = text_pattern(f);

	if (pattern)
		json_object_set_new(value, "pattern", json_string(pattern));
	return value;
}

/* Entries of a list; of a list of calls editors offer the groups. */
static json_t *schema_items(const struct field *f)
{
	_cleanup_free_ struct groups *groups = f->type == T_CALLS ? calloc(1, sizeof(*groups)) : NULL;
	json_t *text = json_pack("{s:s,s:i}", "type", "string", "minLength", 1), *names = json_array();
	const char *pattern = text_pattern(f);

	if (pattern)
		json_object_set_new(text, "pattern", json_string(pattern));
	for (size_t i = 0; groups && groups_open(groups) == 0 && i < groups->n; i++) {
		_cleanup_free_ char *name = str_printf("%.*s", (int)groups->list[i].name.len, groups->list[i].name.s);

		if (name && !groups_implicit(name))
			json_array_append_new(names, json_string(name));
	}
	if (json_array_size(names) > 0)
		return json_pack("{s:[{s:o},o]}", "anyOf", "enum", names, text);
	json_decref(names);
	return text;
}

static json_t *schema_value(const struct field *f)
{
	switch (f->type) {
	case T_SECTION:
		return schema_object(f);
	case T_SIZE:
		return schema_quantity(f, SIZE_PATTERN);
	case T_TIME:
		return schema_quantity(f, TIME_PATTERN);
	case T_CPUS:
	case T_INT:
		return schema_quantity(f, NULL);
	case T_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case T_ENUM:
	case T_ERRNO:
		return schema_words(f);
	case T_STRING:
		return schema_string(f);
	case T_CONST:
		return json_pack("{s:[{s:s,s:i},{s:s,s:s}]}", "anyOf", "type", "integer", "minimum", 0, "type", "string",
				 "pattern", CONST_PATTERN);
	case T_LIST:
	case T_CALLS:
		return json_pack("{s:s,s:I,s:o}", "type", "array", "maxItems", (json_int_t)f->max, "items", schema_items(f));
	case T_MAP:
		return json_pack("{s:s,s:I,s:{s:s},s:{s:[s,s]}}", "type", "object", "maxProperties", (json_int_t)f->max,
				 "propertyNames", "pattern", ENV_PATTERN, "additionalProperties", "type", "string", "null");
	case T_OBJECTS:
		return json_pack("{s:s,s:I,s:o}", "type", "array", "maxItems", (json_int_t)f->max, "items", schema_object(f));
	}
	return NULL;
}

static json_t *schema_field(const struct field *f)
{
	json_t *value = schema_value(f), *def = NULL;
	char text[1024];

	if (json_object_set_new(value, "title", json_string(f->path)) < 0 ||
	    json_object_set_new(value, "description", json_string(f->help)) < 0)
		return value;
	field_default_text(f, text, sizeof(text));
	if (text[0] && f->type != T_SECTION && !(f->flags & F_OWN))
		def = json_loads(text, JSON_DECODE_ANY, NULL);
	if (def)
		json_object_set_new(value, "default", def);
	return value;
}

static json_t *schema_object(const struct field *parent)
{
	json_t *properties = json_object(), *required = json_array(), *ret;

	json_object_set_new(properties, "comment",
			    json_pack("{s:s,s:[s,s],s:{s:s},s:s}", "title", "comment", "type", "string", "array", "items",
				      "type", "string", "description", "For readers; ignored."));
	for (size_t i = 0; i < policy_n_fields; i++) {
		const struct field *f = &policy_fields[i];

		if (!field_is_child(parent, f) || (f->flags & F_LATER))
			continue;
		json_object_set_new(properties, field_key(f), schema_field(f));
		if (f->flags & F_REQUIRED)
			json_array_append_new(required, json_string(field_key(f)));
	}
	ret = json_pack("{s:s,s:b,s:o}", "type", "object", "additionalProperties", 0, "properties", properties);
	if (json_array_size(required) > 0)
		json_object_set(ret, "required", required);
	json_decref(required);
	return ret;
}

char *policy_schema_json(void)
{
	_cleanup_json_ json_t *schema = schema_object(NULL), *out = json_object();

	json_object_set_new(out, "$schema", json_string(DRAFT));
	json_object_set_new(out, "$id", json_string(SCHEMA_ID));
	json_object_set_new(out, "title", json_string("smoljail policy"));
	json_object_set_new(out, "description", json_string("What a jailed program may do, use and see; see smoljail-policy(5)."));
	if (!schema || json_object_update(out, schema) < 0)
		return NULL;
	return json_dumps(out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

/* A backslash, a hyphen and a quote mean something to mdoc; so do dots and quotes that begin a line. */
static int mdoc_char(struct buf *b, char c, bool begins_line)
{
	if (c == '\\')
		return buf_append(b, "\\e", 2);
	if (c == '-')
		return buf_append(b, "\\-", 2);
	if (c == '"')
		return buf_append(b, "\\(dq", 4);
	if (begins_line && (c == '.' || c == '\''))
		return buf_printf(b, "\\&%c", c);
	return buf_append(b, &c, 1);
}

/* One sentence a line, as mdoc wants it, and no line much over 70 columns. */
static int mdoc_text(struct buf *b, const char *text)
{
	bool begins_line = true;
	size_t column = 0;
	int r = 0;

	for (; *text && r == 0; text++) {
		size_t word = strcspn(text + 1, " ");
		bool ends = column > 0 && (text[-1] == '.' || text[-1] == '?') && text[1] >= 'A' && text[1] <= 'Z';

		if (*text == ' ' && (ends || column + word > MDOC_COLUMNS)) {
			r = buf_append(b, "\n", 1);
			begins_line = true;
			column = 0;
			continue;
		}
		r = mdoc_char(b, *text, begins_line);
		begins_line = false;
		column++;
	}
	return r;
}

static int mdoc_line(struct buf *b, const char *label, const char *text)
{
	int r = text[0] ? buf_printf(b, ".br\n%s: ", label) : 0;

	if (r == 0 && text[0])
		r = mdoc_text(b, text);
	return r < 0 || !text[0] ? r : buf_append(b, ".\n", 2);
}

static int mdoc_field(struct buf *b, const struct field *f)
{
	char text[1024];
	int r = buf_printf(b, ".It Cm %s\n", f->path);

	if (r == 0)
		r = mdoc_text(b, f->help);
	if (r == 0)
		r = buf_append(b, "\n", 1);
	if (r == 0 && f->type != T_SECTION)
		r = mdoc_line(b, "Type", field_type_text(f));
	field_range_text(f, text, sizeof(text));
	if (r == 0)
		r = mdoc_line(b, "Range", text);
	field_default_text(f, text, sizeof(text));
	if (r == 0 && f->type != T_SECTION && !(f->flags & F_OWN))
		r = mdoc_line(b, "Default", text);
	return r;
}

static int mdoc_fields(struct buf *b)
{
	int r = buf_printf(b, ".Sh SETTINGS\n"
			      "Every object may also hold\n.Cm comment ,\na string or a list of strings, which is ignored.\n"
			      "The defaults are those of a policy without\n.Cm extends .\n"
			      ".Bl -tag -width Ds\n");

	for (size_t i = 0; i < policy_n_fields && r == 0; i++)
		if (!(policy_fields[i].flags & F_LATER))
			r = mdoc_field(b, &policy_fields[i]);
	return r < 0 ? r : buf_printf(b, ".El\n");
}

static int mdoc_groups(struct buf *b, const struct groups *groups)
{
	int r = buf_printf(b, ".Sh SYSTEM CALL GROUPS\n.Bl -tag -width Ds\n");

	for (size_t i = 0; i < groups->n && r == 0; i++) {
		const struct group *g = &groups->list[i];
		_cleanup_free_ char *help = str_printf("%.*s", (int)g->help.len, g->help.s);

		if (help)
			groups_unescape(help);
		r = help ? buf_printf(b, ".It Cm %.*s\n", (int)g->name.len, g->name.s) : -ENOMEM;
		if (r == 0)
			r = mdoc_text(b, help);
		if (r == 0)
			r = buf_append(b, "\n", 1);
	}
	return r < 0 ? r : buf_printf(b, ".El\n");
}

static int mdoc_constants(struct buf *b)
{
	const char *const *names;
	size_t n;
	int r = buf_printf(b, ".Sh CONSTANTS\nNames that\n.Cm value\nand\n.Cm mask\nof a rule may use:\n");

	names = const_names(&n);
	for (size_t i = 0; i < n && r == 0; i++)
		r = buf_printf(b, "%s%s\n", names[i], i + 1 < n ? "," : ".");
	return r;
}

char *policy_schema_mdoc(void)
{
	_cleanup_buf_ struct buf b = BUF_INIT(REFERENCE_MAX);
	_cleanup_free_ struct groups *groups = calloc(1, sizeof(*groups));
	int r = groups ? groups_open(groups) : -ENOMEM;

	if (r == 0)
		r = mdoc_fields(&b);
	if (r == 0)
		r = mdoc_groups(&b, groups);
	if (r == 0)
		r = mdoc_constants(&b);
	return r < 0 ? NULL : steal_ptr(b.data);
}
