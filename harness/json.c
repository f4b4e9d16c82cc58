#include "json.h"

#include <math.h>
#include <stdio.h>

void rung_json_number(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, isfinite(value) ? json_real(value) : json_null());
}

void rung_json_count(json_t *object, const char *key, long long value)
{
    json_object_set_new(object, key, json_integer(value));
}

void rung_json_text(json_t *object, const char *key, const char *value)
{
    json_t *v = value ? json_string(value) : json_null();
    /* Not UTF-8: a driver's string must not lose the record. */
    json_object_set_new(object, key, v ? v : json_string("(not UTF-8)"));
}

void rung_json_bool(json_t *object, const char *key, bool value)
{
    json_object_set_new(object, key, json_boolean(value));
}

const char *rung_json_get_text(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s ? s : "";
}

double rung_json_get_number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

json_t *rung_json_array_in(json_t *object, const char *key)
{
    json_t *a = json_array();
    json_object_set_new(object, key, a);
    return a;
}

json_t *rung_json_object_in(json_t *object, const char *key)
{
    json_t *o = json_object();
    json_object_set_new(object, key, o);
    return o;
}

json_t *rung_json_append(json_t *array)
{
    json_t *o = json_object();
    json_array_append_new(array, o);
    return o;
}

void rung_json_print(json_t *root)
{
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    putchar('\n');
    json_decref(root);
}
