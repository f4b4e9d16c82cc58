/* A plugin that is bad in one way, chosen by -DBAD_...; without any it is a good one, so that
 * each test knows it was turned down for the reason it planted. */
#include <rung/plugin.h>

#ifndef IDENT
#define IDENT bad
#endif

static enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    (void)state, (void)set, (void)stream;
    return RUNG_OK;
}

static void cost(const struct rung_case *c, struct rung_cost *out)
{
    out->flops = 2.0 * (double)c->dim[0] * (double)c->dim[1] * (double)c->dim[2];
}

#ifdef BAD_DEPENDENCY
extern int gone(void);
int calls_gone(void);
int calls_gone(void)
{
    return gone();
}
#endif

#ifdef BAD_SYMBOL
#define SYMBOL someone_else
#else
#define SYMBOL IDENT
#endif

RUNG_PLUGIN(SYMBOL) = {
#ifdef BAD_ABI
    .abi_major = RUNG_ABI_MAJOR + 1,
#else
    .abi_major = RUNG_ABI_MAJOR,
#endif
    .abi_minor = RUNG_ABI_MINOR,
#ifdef BAD_SIZE
    .struct_size = 64,
#else
    .struct_size = sizeof(struct rung_plugin),
#endif
#ifdef BAD_ID
    .id = "",
#else
    .id = RUNG_STRING(IDENT),
#endif
#ifdef BAD_FAMILY
    .family = "knitting",
#else
    .family = "sgemm",
#endif
    .title = "bad",
    .summary = "a plugin for the loader's tests",
    .notes = "",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
#ifdef BAD_NEEDS
    .needs = 1ull << 40,
#endif
#ifndef BAD_LAUNCH
    .launch = launch,
#endif
    .cost = cost,
};
