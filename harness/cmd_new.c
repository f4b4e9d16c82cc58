/* rung new KERNEL: a folder with a kernel, its build file and the headers of this binary. */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* plugins/TEMPLATE.cu and the headers, embedded by the build. */
extern const char rung_template_cu[], rung_template_meson[], rung_header_plugin[],
    rung_header_gpu[], rung_header_emu[];

static enum rung_status write_file(const char *dir, const char *name, const char *text,
                                   const char *id, struct rung_err *err)
{
    static const char word[] = "mykernel";
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wx");
    if (!f)
        return rung_fail(err, RUNG_E_IO, "%s: %s", path, strerror(errno));
    while (*text) {
        const char *at = strstr(text, word);
        size_t n = at ? (size_t)(at - text) : strlen(text);
        fwrite(text, 1, n, f);
        if (at)
            fputs(id, f);
        text += n + (at ? sizeof word - 1 : 0);
    }
    const bool bad = ferror(f);
    if (fclose(f) || bad)
        return rung_fail(err, RUNG_E_IO, "%s: %s", path, strerror(errno));
    return RUNG_OK;
}

static enum rung_status make_dir(const char *path, struct rung_err *err)
{
    if (mkdir(path, 0777))
        return rung_fail(err, RUNG_E_IO, "%s: %s", path, strerror(errno));
    return RUNG_OK;
}

static enum rung_status check_id(const char *id, struct rung_err *err)
{
    const char *p = id;
    if (*p >= 'a' && *p <= 'z')
        while ((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_')
            p++;
    if (p == id || *p || strlen(id) > 64)
        return rung_fail(err, RUNG_E_USAGE, "'%s' is no kernel id: a letter, then letters, "
                         "digits and _, all lower case", id);
    return RUNG_OK;
}

int cmd_new(const struct rung_options *o)
{
    struct rung_err err;
    char include[256], headers[256], source[128];

    if (o->n_args != 1) {
        rung_fail(&err, RUNG_E_USAGE, "new takes one kernel id: rung new mykernel");
        return rung_die(&err);
    }
    const char *id = o->arg[0];
    if (o->family && strcmp(o->family, "sgemm")) {
        rung_fail(&err, RUNG_E_USAGE, "--family '%s': there is a template for sgemm", o->family);
        return rung_die(&err);
    }
    if (check_id(id, &err))
        return rung_die(&err);
    snprintf(include, sizeof include, "%s/include", id);
    snprintf(headers, sizeof headers, "%s/include/rung", id);
    snprintf(source, sizeof source, "%s.cu", id);
    if (make_dir(id, &err) || make_dir(include, &err) || make_dir(headers, &err) ||
        write_file(id, source, rung_template_cu, id, &err) ||
        write_file(id, "meson.build", rung_template_meson, id, &err) ||
        write_file(headers, "plugin.h", rung_header_plugin, "mykernel", &err) ||
        write_file(headers, "gpu.h", rung_header_gpu, "mykernel", &err) ||
        write_file(headers, "emu.h", rung_header_emu, "mykernel", &err))
        return rung_die(&err);
    printf("wrote %s/: edit %s/%s, then\n\n"
           "  cd %s && meson setup build && ninja -C build\n"
           "  RUNG_PLUGIN_PATH=$PWD/build rung check %s\n",
           id, id, source, id, id);
    return RUNG_EXIT_OK;
}
