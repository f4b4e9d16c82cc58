#include "options.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_ALPHA = 256, KEY_BETA, KEY_EPS, KEY_LD, KEY_OFFSET, KEY_SEED, KEY_ROUNDS, KEY_SLICE,
       KEY_PATH, KEY_STRICT, KEY_DRY, KEY_TARGET, KEY_BUDGET, KEY_L2, KEY_TIMING, KEY_OUT, KEY_CSV,
       KEY_NULL, KEY_OFFICIAL, KEY_ABSOLUTE, KEY_REGRESSION, KEY_TIMEOUT };

/* Every option of every command. `letter` is what a command lists in its `options`. */
static const struct {
    char letter;
    struct argp_option o;
} table[] = {
    {'d', {"device", 'd', "DEVICE", 0, "cuda, cuda:INDEX, cuda:UUID, emu or cpu", 0}},
    {'f', {"family", 'f', "FAMILY", 0, "sgemm, rmsnorm or softmax", 0}},
    {'s', {"shapes", 's', "LIST", 0,
           "shapes, e.g. 1024,2048x18944x3584, or names of sets, e.g. p0", 0}},
    {'a', {"alpha", KEY_ALPHA, "X", 0, "factor of A*B (1)", 0}},
    {'b', {"beta", KEY_BETA, "X", 0, "factor of C (0)", 0}},
    {'e', {"eps", KEY_EPS, "X", 0, "epsilon of a normalisation (1e-6)", 0}},
    {'l', {"ld", KEY_LD, "LD", 0, "leading dimensions: +PAD, or one number an operand", 0}},
    {'o', {"offset", KEY_OFFSET, "N", 0, "elements every operand is shifted off 256 bytes", 0}},
    {'S', {"seed", KEY_SEED, "N", 0, "seed of data and order (1)", 0}},
    {'r', {"rounds", KEY_ROUNDS, "N", 0, "rounds to measure", 0}},
    {'t', {"slice-ms", KEY_SLICE, "MS", 0, "shortest timed slice, in milliseconds", 0}},
    {'T', {"target", KEY_TARGET, "PCT", 0, "half-width of the interval to reach, percent (0.1)", 0}},
    {'B', {"budget", KEY_BUDGET, "S", 0, "seconds a kernel may take to reach it (20)", 0}},
    {'W', {"timeout", KEY_TIMEOUT, "S", 0, "seconds after which a kernel hangs (120)", 0}},
    {'2', {"l2", KEY_L2, "warm|cold", 0, "operands in the cache, or rotated through more than twice it "
           "(sgemm warm, row families cold)", 0}},
    {'g', {"timing", KEY_TIMING, "events|graph", 0, "time launches, or replays of a graph of them", 0}},
    {'O', {"out", KEY_OUT, "FILE", 0, "where the records go (runs/STAMP-HOST.jsonl)", 0}},
    {'N', {"null", KEY_NULL, NULL, 0, "each kernel against itself: the noise of this machine", 0}},
    {'F', {"official", KEY_OFFICIAL, NULL, 0, "exit 5 unless every ratio is official", 0}},
    {'c', {"csv", KEY_CSV, NULL, 0, "print CSV", 0}},
    {'A', {"absolute", KEY_ABSOLUTE, NULL, 0, "compare times even across boots or binaries", 0}},
    {'R', {"fail-on-regression", KEY_REGRESSION, "PCT", 0, "exit 7 on a slow-down of more than PCT "
           "percent that its interval confirms", 0}},
    {'j', {"json", 'j', NULL, 0, "print JSON", 0}},
    {'x', {"strict", KEY_STRICT, NULL, 0, "fail if any plugin file was turned down", 0}},
    {'n', {"dry-run", KEY_DRY, NULL, 0, "print what would be run, and stop", 0}},
    {'q', {"quiet", 'q', NULL, 0, "no progress, no warnings", 0}},
    {'p', {"plugin-path", KEY_PATH, "DIRS", 0, "directories of modules, before RUNG_PLUGIN_PATH", 0}},
};
#define N_TABLE (sizeof table / sizeof table[0])

static double number(struct argp_state *st, const char *name, const char *arg)
{
    char *end;
    errno = 0;
    double v = strtod(arg, &end);
    /* Not finite: every result would be NaN, and NaN as expected proves nothing. */
    if (end == arg || *end || errno || !isfinite(v))
        argp_error(st, "--%s: '%s' is not a finite number", name, arg);
    return v;
}

static int64_t whole(struct argp_state *st, const char *name, const char *arg, int64_t low)
{
    char *end;
    errno = 0;
    long long v = strtoll(arg, &end, 10);
    if (end == arg || *end || errno || v < low)
        argp_error(st, "--%s: '%s' is not a whole number of at least %lld", name, arg,
                   (long long)low);
    return v;
}

static double positive(struct argp_state *st, const char *name, const char *arg)
{
    const double v = number(st, name, arg);
    if (!(v > 0.0))
        argp_error(st, "--%s: '%s' is not above 0", name, arg);
    return v;
}

static const char *one_of(struct argp_state *st, const char *name, const char *arg, const char *a,
                          const char *b)
{
    if (strcmp(arg, a) && strcmp(arg, b))
        argp_error(st, "--%s: '%s' is neither %s nor %s", name, arg, a, b);
    return arg;
}

static error_t parse_one(int key, char *arg, struct argp_state *st)
{
    struct rung_options *o = st->input;
    switch (key) {
    case 'd': o->device = arg; break;
    case 'f': o->family = arg; break;
    case 's': o->shapes = arg; break;
    case 'j': o->json = true; break;
    case 'q': o->quiet = true; break;
    case KEY_ALPHA: o->alpha = number(st, "alpha", arg), o->has_alpha = true; break;
    case KEY_BETA: o->beta = number(st, "beta", arg), o->has_beta = true; break;
    case KEY_EPS: o->eps = number(st, "eps", arg), o->has_eps = true; break;
    case KEY_LD: o->ld = arg; break;
    case KEY_OFFSET: o->offset = whole(st, "offset", arg, 0); break;
    case KEY_SEED: o->seed = (uint64_t)whole(st, "seed", arg, 0); break;
    case KEY_ROUNDS: o->rounds = (int)whole(st, "rounds", arg, 1); break;
    case KEY_SLICE: o->slice_ms = positive(st, "slice-ms", arg); break;
    case KEY_PATH: o->plugin_path = arg; break;
    case KEY_TARGET: o->target_pct = positive(st, "target", arg); break;
    case KEY_BUDGET: o->budget_s = positive(st, "budget", arg); break;
    case KEY_TIMEOUT: o->timeout_s = positive(st, "timeout", arg); break;
    case KEY_L2: o->l2 = one_of(st, "l2", arg, "warm", "cold"); break;
    case KEY_TIMING: o->timing = one_of(st, "timing", arg, "events", "graph"); break;
    case KEY_OUT: o->out = arg; break;
    case KEY_CSV: o->csv = true; break;
    case KEY_NULL: o->null_run = true; break;
    case KEY_OFFICIAL: o->official = true; break;
    case KEY_ABSOLUTE: o->absolute = true; break;
    case KEY_REGRESSION:
        o->regression_pct = number(st, "fail-on-regression", arg);
        o->has_regression = true;
        break;
    case KEY_STRICT: o->strict = true; break;
    case KEY_DRY: o->dry_run = true; break;
    case ARGP_KEY_ARGS:
        o->arg = st->argv + st->next;
        o->n_args = st->argc - st->next;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

void rung_options_parse(const struct rung_command *cmd, int argc, char **argv,
                        struct rung_options *out)
{
    struct argp_option list[N_TABLE + 1] = {0};
    char *doc = NULL, name[64];
    size_t n = 0;

    for (size_t i = 0; i < N_TABLE; i++)
        if (strchr(cmd->options, table[i].letter))
            list[n++] = table[i].o;
    if (asprintf(&doc, "%s\v%s", cmd->summary, cmd->help) < 0)
        exit(RUNG_EXIT_FAILURE);
    struct argp parser = {list, parse_one, cmd->args, doc, NULL, NULL, NULL};
    *out = (struct rung_options){.seed = 1, .argc = argc, .argv = argv};
    snprintf(name, sizeof name, "rung %s", cmd->name);
    argv[0] = name;
    argp_err_exit_status = RUNG_EXIT_USAGE;
    argp_parse(&parser, argc, argv, 0, NULL, out);
    free(doc);
}

enum rung_exit rung_exit_of(enum rung_status s)
{
    switch (s) {
    case RUNG_OK: return RUNG_EXIT_OK;
    case RUNG_E_USAGE: return RUNG_EXIT_USAGE;
    case RUNG_E_REFUSED: return RUNG_EXIT_REFUSED;
    case RUNG_E_WRONG: return RUNG_EXIT_WRONG;
    default: return RUNG_EXIT_FAILURE;
    }
}

int rung_die(const struct rung_err *err)
{
    fprintf(stderr, "rung: %s\n", err->msg);
    return rung_exit_of(err->code);
}
