/* Modules: which files of a directory are looked at, and every way one can be bad. Modules
 * are never unloaded: their kernels stay registered with the CUDA runtime. */
#include "device.h"
#include "registry.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Splits "rung-k3.cuda.so"; false if the name is not of that form. */
static bool parse_name(const char *file, char id[128], char target[16])
{
    size_t n = strlen(file);
    if (n < 10 || strncmp(file, "rung-", 5) || strcmp(file + n - 3, ".so"))
        return false;
    const char *stem = file + 5, *end = file + n - 3, *dot = NULL;
    for (const char *p = stem; p < end; p++)
        if (*p == '.')
            dot = p;
    if (!dot || dot == stem || end - dot - 1 > 15 || end - dot - 1 < 1 || dot - stem > 127)
        return false;
    snprintf(id, 128, "%.*s", (int)(dot - stem), stem);
    snprintf(target, 16, "%.*s", (int)(end - dot - 1), dot + 1);
    return !strcmp(target, "cuda") || !strcmp(target, "emu") || !strcmp(target, "cpu");
}

static bool target_supported(const char *target)
{
    for (size_t i = 0; rung_device_kinds[i]; i++)
        if (!strcmp(rung_device_kinds[i]->kind, target))
            return true;
    return false;
}

/* dlopen maps what the headers promise and dies of SIGBUS where a copy was cut short, so the
 * promise is held against the file's size first. NULL, or what is wrong. */
static const char *elf_fault(const char *path)
{
    const char *fault = NULL;
    struct stat st;
    Elf64_Ehdr h;
    Elf64_Phdr ph;
    FILE *f = fopen(path, "rb");

    if (!f || fstat(fileno(f), &st))
        fault = strerror(errno);
    else if (fread(&h, sizeof h, 1, f) != 1)
        fault = "file too short for an ELF header";
    else if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64)
        fault = "invalid ELF header";
    else if (h.e_shoff + (uint64_t)h.e_shnum * h.e_shentsize > (uint64_t)st.st_size)
        fault = "truncated: shorter than its ELF headers say";
    for (int i = 0; !fault && i < h.e_phnum; i++)
        if (fseek(f, (long)(h.e_phoff + (uint64_t)i * h.e_phentsize), SEEK_SET) ||
            fread(&ph, sizeof ph, 1, f) != 1 || ph.p_offset + ph.p_filesz > (uint64_t)st.st_size)
            fault = "truncated: shorter than its ELF headers say";
    if (f)
        fclose(f);
    return fault;
}

static enum rung_status load(struct rung_registry *reg, const char *path, const char *id,
                             const char *target, struct rung_err *err)
{
    char symbol[192];

    if (!target_supported(target))
        return rung_registry_reject(reg, RUNG_LOAD_MISSING_CAPABILITY, path, err,
                                    "this build has no %s device", target);
    const char *fault = elf_fault(path);
    if (fault)
        return rung_registry_reject(reg, RUNG_LOAD_CANNOT_OPEN, path, err, "%s", fault);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so)
        return rung_registry_reject(reg, RUNG_LOAD_CANNOT_OPEN, path, err, "%s", dlerror());
    snprintf(symbol, sizeof symbol, "rung_plugin_%s_%s", id, target);
    const struct rung_plugin *p = dlsym(so, symbol);
    if (!p)
        return rung_registry_reject(reg, RUNG_LOAD_NO_SYMBOL, path, err,
                                    "exports no %s (the name follows from the file's)", symbol);
    return rung_registry_add(reg, p, id, target, path, false, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool already_seen(const struct rung_registry *reg, const char *path)
{
    for (size_t i = 0; i < reg->n; i++)
        if (!strcmp(reg->item[i].origin, path))
            return true;
    return false;
}

enum rung_status rung_dso_scan(struct rung_registry *reg, const char *dir, bool must_exist,
                               struct rung_err *err)
{
    enum rung_status s = RUNG_OK;
    char **name = NULL, real[PATH_MAX];
    size_t n = 0;
    DIR *d = opendir(dir);

    if (!d) {
        if (!must_exist)
            return RUNG_OK;
        return rung_fail(err, RUNG_E_USAGE, "plugin directory %s: %s", dir, strerror(errno));
    }
    if (!realpath(dir, real))
        snprintf(real, sizeof real, "%s", dir);
    for (struct dirent *e; (e = readdir(d)) && !s;) {
        char id[128], target[16];
        if (!parse_name(e->d_name, id, target))
            continue;
        char **grown = realloc(name, (n + 1) * sizeof *name);
        if (grown)
            name = grown;
        if (!grown || !(name[n] = strdup(e->d_name)))
            s = rung_fail(err, RUNG_E_NOMEM, "plugin directory %s: out of memory", dir);
        else
            n++;
    }
    closedir(d);
    if (n)
        qsort(name, n, sizeof *name, by_name);
    for (size_t i = 0; i < n; i++) {
        char path[PATH_MAX + 300], id[128], target[16];
        snprintf(path, sizeof path, "%s/%s", real, name[i]);
        if (!s && parse_name(name[i], id, target) && !already_seen(reg, path))
            s = load(reg, path, id, target, err);
        free(name[i]);
    }
    free(name);
    return s;
}
