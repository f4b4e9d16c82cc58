/* Small additions to Jansson: members in one call, numbers that are not finite as null. */
#ifndef RUNG_JSON_H
#define RUNG_JSON_H

#include <jansson.h>
#include <stdbool.h>

void rung_json_number(json_t *object, const char *key, double value);
void rung_json_count(json_t *object, const char *key, long long value);
void rung_json_text(json_t *object, const char *key, const char *value); /* NULL: null */
void rung_json_bool(json_t *object, const char *key, bool value);
/* A member that is read: "" and NaN where it is absent or of another type. */
const char *rung_json_get_text(const json_t *object, const char *key);
double rung_json_get_number(const json_t *object, const char *key);
/* A new empty array or object as a member; borrowed. */
json_t *rung_json_array_in(json_t *object, const char *key);
json_t *rung_json_object_in(json_t *object, const char *key);
/* A new object as the array's last element; borrowed. */
json_t *rung_json_append(json_t *array);
/* Prints to stdout with a newline and releases it. */
void rung_json_print(json_t *root);

#endif
