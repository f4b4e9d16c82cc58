/* rung COMMAND ...: the command table and nothing else. */
#include "options.h"

#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct rung_command rung_commands[] = {
    {"list", "", "List kernels, where each came from, and the files that were turned down.",
     "Needs no driver and no GPU. Exits 1 if a kernel that this build expects is missing.",
     "fdjxqp", cmd_list},
    {"describe", "KERNEL [SHAPE]", "Say what a kernel is, its limits, and its ledger for a case.",
     "Registers, spills and shared memory are asked of the GPU where there is one.",
     "djabelop", cmd_describe},
    {"run", "KERNEL SHAPE... [REPS]", "Verify and time one kernel on one case.",
     "Shapes are positional: `rung run k6 4096 11`, `rung run k6 2048 18944 3584 11`. Exits 3 "
     "if the kernel does not accept the case, 4 if its result is wrong.",
     "dabeloStjqp", cmd_run},
    {"check", "[KERNEL...]", "Verify kernels over the edge cases of their family.",
     "Without --device each kernel is checked on a GPU, else on emu, else on the cpu. Exits 4 "
     "if any result is wrong. A refused case is counted, not an error. "
     "--alpha, --beta, --eps, --ld and --offset go with --shapes; the edge cases have their own.",
     "dfsabeloSjxqp", cmd_check},
    {"ladder", "FAMILY|KERNEL...", "Measure kernels against the family's reference.",
     "Every kernel and the reference share the process; rounds interleave them, and a ratio is "
     "formed inside a round. `ratio` is reference time over kernel time.",
     "dsabeloSrtTBW2gONFcjxnqp", cmd_ladder},
    {"compare", "RUN RUN", "Compare two recorded runs: ratios of ratios, with intervals.",
     "A run is a file that `rung ladder` wrote (runs/*.jsonl). Times are compared only within a boot "
     "and a binary, unless --absolute.",
     "AcRj", cmd_compare},
    {"doctor", "", "Check this machine: driver, libraries, clocks, counters, what disturbs.",
     "Prints a line a finding; exits 0 unless something that rung needs is broken.", "djqp",
     cmd_doctor},
    {"new", "KERNEL", "Write a folder with a new kernel that builds out of tree.",
     "The folder builds with two commands, and rung finds the result through RUNG_PLUGIN_PATH.",
     "f", cmd_new},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

static void usage(FILE *f)
{
    fputs("usage: rung COMMAND [ARGUMENT...]\n\n"
          "A bench for hand-written CUDA kernels whose numbers can be believed.\n\n",
          f);
    for (const struct rung_command *c = rung_commands; c->name; c++)
        fprintf(f, "  %-9s %s\n", c->name, c->summary);
    fputs("\n`rung COMMAND --help` explains a command. Results go to stdout, all else to stderr.\n",
          f);
}

int main(int argc, char **argv)
{
    /* Before any CUDA library loads: TF32 must not be switched on behind our back. The control
     * experiment of the TF32 probe leaves it unset, and nothing it measures is official. */
    if (getenv("RUNG_TF32_CONTROL"))
        unsetenv("NVIDIA_TF32_OVERRIDE");
    else
        setenv("NVIDIA_TF32_OVERRIDE", "0", 1);

    if (argc < 2) {
        usage(stderr);
        return RUNG_EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        usage(stdout);
        return RUNG_EXIT_OK;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("rung %s\n", RUNG_GIT);
        return RUNG_EXIT_OK;
    }
    for (const struct rung_command *c = rung_commands; c->name; c++)
        if (!strcmp(c->name, argv[1])) {
            struct rung_options o;
            rung_options_parse(c, argc - 1, argv + 1, &o);
            const int code = c->run(&o);
            /* A result that did not arrive is no success. */
            if ((fflush(stdout) || ferror(stdout)) && code == RUNG_EXIT_OK) {
                fprintf(stderr, "rung: the results could not be written to stdout\n");
                return RUNG_EXIT_FAILURE;
            }
            return code;
        }
    fprintf(stderr, "rung: '%s' is not a command; `rung --help` lists them\n", argv[1]);
    return RUNG_EXIT_USAGE;
}
