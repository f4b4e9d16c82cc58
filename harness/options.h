/* The command line: one table of options drives parsing, help, errors and the man page. */
#ifndef RUNG_OPTIONS_H
#define RUNG_OPTIONS_H

#include "status.h"

/* Process exit codes (docs/rung.1). */
enum rung_exit {
    RUNG_EXIT_OK = 0,
    RUNG_EXIT_FAILURE = 1,
    RUNG_EXIT_USAGE = 2,
    RUNG_EXIT_REFUSED = 3,
    RUNG_EXIT_WRONG = 4,
    RUNG_EXIT_UNOFFICIAL = 5,
    RUNG_EXIT_MISSING = 6,
    RUNG_EXIT_REGRESSION = 7
};

enum rung_exit rung_exit_of(enum rung_status s);

struct rung_options {
    const char *device, *plugin_path, *family, *shapes;
    const char *ld; /* "+3" or "LDA,LDB,LDC" */
    double alpha, beta, eps;
    bool has_alpha, has_beta, has_eps;
    int64_t offset;
    uint64_t seed;
    int rounds;          /* 0: the command's default */
    double slice_ms;     /* 0: the command's default */
    double target_pct;   /* 0: the command's default */
    double budget_s;     /* 0: the command's default */
    double timeout_s;    /* 0: the command's default */
    double regression_pct;
    const char *l2, *timing, *out; /* NULL: the command's default */
    bool json, csv, strict, quiet, dry_run, null_run, official, absolute, has_regression;
    int argc;            /* the whole command line, for the record */
    char **argv;
    char **arg; /* positional arguments, argv's own */
    int n_args;
};

struct rung_command {
    const char *name;
    const char *args; /* "KERNEL SHAPE... [REPS]" */
    const char *summary;
    const char *help;    /* paragraphs behind the summary */
    const char *options; /* keys of the options it takes */
    int (*run)(const struct rung_options *o);
};

extern const struct rung_command rung_commands[]; /* ends with a NULL name */

/* Parses argv (argv[0] is the command's name). On --help and on errors it prints and exits,
 * with 0 and 2. */
void rung_options_parse(const struct rung_command *cmd, int argc, char **argv,
                        struct rung_options *out);

/* One line on stderr: what was wrong, then the exit code that belongs to it. */
int rung_die(const struct rung_err *err);

int cmd_list(const struct rung_options *o);
int cmd_describe(const struct rung_options *o);
int cmd_run(const struct rung_options *o);
int cmd_check(const struct rung_options *o);
int cmd_ladder(const struct rung_options *o);
int cmd_doctor(const struct rung_options *o);
int cmd_compare(const struct rung_options *o);
int cmd_new(const struct rung_options *o);

#endif
