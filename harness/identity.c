#include "identity.h"

#include "nvml.h"
#include "version.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static const char *first_line(const char *path, char *out, size_t cap)
{
    FILE *f = fopen(path, "r");
    if (!f || !fgets(out, (int)cap, f)) {
        if (f)
            fclose(f);
        return NULL;
    }
    fclose(f);
    out[strcspn(out, "\n")] = '\0';
    return out;
}

/* The GNU build id in the notes of the executable, the first object of the list. */
static int find_build_id(struct dl_phdr_info *info, size_t size, void *arg)
{
    char *out = arg;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const char *at = (const char *)(uintptr_t)(info->dlpi_addr + p->p_vaddr);
        for (size_t left = p->p_type == PT_NOTE ? p->p_memsz : 0; left > sizeof(ElfW(Nhdr));) {
            const ElfW(Nhdr) *n = (const void *)at;
            const char *name = at + sizeof *n;
            const size_t name_room = (n->n_namesz + 3) & ~3u, desc_room = (n->n_descsz + 3) & ~3u;
            if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(name, "GNU", 4)) {
                const unsigned char *id = (const unsigned char *)name + name_room;
                for (unsigned j = 0; j < n->n_descsz && j < 32; j++)
                    snprintf(out + 2 * j, 3, "%02x", id[j]);
                return 1;
            }
            const size_t all = sizeof *n + name_room + desc_room;
            at += all;
            left -= all < left ? all : left;
        }
    }
    return 1;
}

static const char *container(void)
{
    char line[256];
    if (!access("/.dockerenv", F_OK))
        return "docker";
    if (!access("/run/.containerenv", F_OK))
        return "podman";
    const char *named = getenv("container");
    if (named)
        return named;
    if (first_line("/proc/1/cgroup", line, sizeof line) &&
        (strstr(line, "docker") || strstr(line, "kubepods") || strstr(line, "lxc")))
        return "yes";
    return "none";
}

static void on_off(json_t *o, const char *key, int state)
{
    json_object_set_new(o, key, state < 0 ? json_null() : json_boolean(state));
}

static void gpu(json_t *o, const struct rung_device_info *d)
{
    struct rung_nvml_state s;
    struct rung_err err;
    const bool known = d->uuid[0] && !rung_nvml_read(d->uuid, &s, &err);

    rung_json_text(o, "uuid", d->uuid[0] ? d->uuid : NULL);
    rung_json_text(o, "pci", d->pci[0] ? d->pci : NULL);
    rung_json_count(o, "sm", d->sm);
    rung_json_count(o, "sm_count", d->sm_count);
    rung_json_count(o, "l2_bytes", (long long)d->l2_bytes);
    rung_json_count(o, "cuda_driver", d->driver_version);
    rung_json_count(o, "cuda_runtime", d->runtime_version);
    rung_json_text(o, "driver", known ? s.driver : NULL);
    on_off(o, "ecc", known ? s.ecc : -1);
    on_off(o, "mig", known ? s.mig : -1);
    on_off(o, "persistence", known ? s.persistence : -1);
    json_object_set_new(o, "other_processes", known ? json_integer(s.other_processes) : json_null());
    json_object_set_new(o, "sm_max_mhz", known ? json_integer(s.sm_max_mhz) : json_null());
}

json_t *rung_identity(const struct rung_options *o, const struct rung_device *dev)
{
    json_t *id = json_object(), *argv = rung_json_array_in(id, "argv");
    char build[80] = "", boot[64], stamp[32];
    struct utsname u;
    const time_t now = time(NULL);

    rung_json_text(id, "type", "run");
    rung_json_count(id, "schema", 1);
    json_array_append_new(argv, json_string("rung"));
    for (int i = 0; i < o->argc; i++)
        json_array_append_new(argv, json_string(i ? o->argv[i] : o->argv[0] + 5));
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    rung_json_text(id, "time", stamp);
    rung_json_text(id, "host", uname(&u) ? NULL : u.nodename);
    rung_json_count(id, "pid", getpid());
    dl_iterate_phdr(find_build_id, build);
    rung_json_text(id, "build_id", build[0] ? build : NULL);
    rung_json_text(id, "boot_id", first_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot));
    rung_json_text(id, "git", RUNG_GIT);
    rung_json_text(id, "build_type", RUNG_BUILD_TYPE);
    rung_json_text(id, "sanitizer", RUNG_BUILD_SANITIZER);
    rung_json_text(id, "device", dev->info.kind);
    rung_json_text(id, "device_name", dev->info.name);
    gpu(id, &dev->info);
    rung_json_text(id, "tf32_override", getenv("NVIDIA_TF32_OVERRIDE"));
    rung_json_text(id, "container", container());
    rung_json_count(id, "seed", (long long)o->seed);
    rung_json_text(id, "restarted_without", getenv("RUNG_WITHOUT"));
    return id;
}

static bool yes(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
}

bool rung_official(const json_t *run, const json_t *row, char *why, size_t cap)
{
    const char *type = rung_json_get_text(run, "build_type");
    const struct {
        bool against;
        const char *why;
    } reasons[] = {
        {strcmp(rung_json_get_text(run, "device"), "cuda"), "not measured on a GPU"},
        {!yes(row, "verified"), "the result is not verified"},
        {!yes(row, "reference_verified"), "there is no verified reference"},
        {!json_is_number(json_object_get(row, "ratio")), "there is no ratio"},
        {strcmp(type, "debugoptimized") && strcmp(type, "release"), "not an optimised build"},
        {strcmp(rung_json_get_text(run, "sanitizer"), "none"), "a sanitized build"},
        {!rung_json_get_text(run, "build_id")[0], "the binary has no build id"},
        {!rung_json_get_text(run, "boot_id")[0], "the boot is unknown"},
        {!rung_json_get_text(run, "uuid")[0], "the GPU has no UUID"},
        {!yes(row, "bundled"), "the kernel or its reference is a module: two binaries"},
        {strcmp(rung_json_get_text(run, "tf32_override"), "0"), "TF32 is not locked out by the environment"},
        {!strcmp(rung_json_get_text(row, "family"), "sgemm") && strcmp(rung_json_get_text(row, "tf32_probe"), "exact"),
         "the TF32 probe did not prove FP32"},
        {rung_json_get_text(run, "restarted_without")[0], "the run was restarted without a kernel that failed"},
        {json_integer_value(json_object_get(run, "other_processes")) > 0,
         "other processes use the GPU"},
        {!json_is_number(json_object_get(row, "mhz")), "the clock is unknown"},
        {json_integer_value(json_object_get(row, "discarded")) >
             json_integer_value(json_object_get(row, "rounds")),
         "more rounds were void than valid: the clock is not steady"},
        {json_integer_value(json_object_get(row, "rounds")) < 6, "fewer than 6 rounds"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].against) {
            snprintf(why, cap, "%s", reasons[i].why);
            return false;
        }
    return true;
}
