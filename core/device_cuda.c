/* The cuda device: one GPU through the CUDA runtime. The runtime loads the driver on first
 * use, so a binary with this file in it starts where there is none. */
#include "device.h"

#include <ctype.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern const struct rung_kit rung_kit_cuda;
extern const struct rung_device_ops rung_device_cuda;
/* core/cuda/probe.cu */
enum rung_status rung_cuda_clock_mark(struct rung_device *dev, int mark, struct rung_err *err);
enum rung_status rung_cuda_clock_read(struct rung_device *dev, double *cycles, double *ns,
                                      struct rung_err *err);
enum rung_status rung_cuda_copy_enqueue(struct rung_device *dev, enum rung_copy_how how, void *dst,
                                        const void *src, size_t bytes, struct rung_err *err);

struct rung_timer {
    cudaEvent_t start, stop;
};

static enum rung_status failed(struct rung_err *err, const char *what, cudaError_t e)
{
    return rung_fail(err, e == cudaErrorMemoryAllocation ? RUNG_E_NOMEM : RUNG_E_DEVICE,
                     "%s: %s (%s)", what, cudaGetErrorString(e), cudaGetErrorName(e));
}

#define TRY(call, what)                                                                     \
    do {                                                                                    \
        cudaError_t e_ = (call);                                                            \
        if (e_)                                                                             \
            return failed(err, what, e_);                                                   \
    } while (0)

static int cuda_count(struct rung_err *err)
{
    int n = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e) {
        cudaGetLastError();
        rung_fail(err, RUNG_E_UNAVAILABLE, "%s",
                  e == cudaErrorInsufficientDriver ? "no NVIDIA driver, or one older than CUDA needs"
                                                   : cudaGetErrorString(e));
        return 0;
    }
    if (n == 0)
        rung_fail(err, RUNG_E_UNAVAILABLE, "the driver lists no GPU");
    return n;
}

static void format_uuid(const cudaUUID_t *uuid, char out[64])
{
    const unsigned char *b = (const unsigned char *)uuid->bytes;
    snprintf(out, 64, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12],
             b[13], b[14], b[15]);
}

static enum rung_status find_device(const char *selector, int count, int *ordinal,
                                    struct rung_err *err)
{
    char *end = NULL;
    long index = selector ? strtol(selector, &end, 10) : 0;
    if (!selector || (isdigit((unsigned char)selector[0]) && *end == '\0')) {
        if (index < 0 || index >= count)
            return rung_fail(err, RUNG_E_USAGE, "cuda:%ld: this machine has %d GPU%s", index,
                             count, count == 1 ? "" : "s");
        *ordinal = (int)index;
        return RUNG_OK;
    }
    for (int i = 0; i < count; i++) {
        struct cudaDeviceProp p;
        char uuid[64];
        TRY(cudaGetDeviceProperties(&p, i), "device properties");
        format_uuid(&p.uuid, uuid);
        if (!strcasecmp(uuid, selector)) {
            *ordinal = i;
            return RUNG_OK;
        }
    }
    return rung_fail(err, RUNG_E_USAGE, "cuda:%s: no GPU has this index or UUID", selector);
}

static enum rung_status cuda_open(const char *selector, struct rung_device **out,
                                  struct rung_err *err)
{
    struct cudaDeviceProp p;
    cudaStream_t stream;
    struct rung_err none;
    int ordinal = 0, count = cuda_count(&none);

    if (count == 0)
        return rung_fail(err, RUNG_E_UNAVAILABLE, "device cuda: %s", none.msg);
    enum rung_status s = find_device(selector, count, &ordinal, err);
    if (s)
        return s;
    TRY(cudaSetDevice(ordinal), "select device");
    TRY(cudaGetDeviceProperties(&p, ordinal), "device properties");
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create stream");

    struct rung_device *dev = calloc(1, sizeof *dev);
    if (!dev) {
        cudaStreamDestroy(stream);
        return rung_fail(err, RUNG_E_NOMEM, "cuda: out of memory");
    }
    dev->ops = &rung_device_cuda;
    dev->kit = &rung_kit_cuda;
    dev->stream = stream;
    struct rung_device_info *info = &dev->info;
    snprintf(info->kind, sizeof info->kind, "cuda");
    snprintf(info->name, sizeof info->name, "%.*s", (int)sizeof info->name - 1, p.name);
    format_uuid(&p.uuid, info->uuid);
    if (cudaDeviceGetPCIBusId(info->pci, sizeof info->pci, ordinal))
        info->pci[0] = '\0';
    info->index = ordinal;
    info->sm = (uint32_t)(p.major * 10 + p.minor);
    info->sm_count = (uint32_t)p.multiProcessorCount;
    info->mem_bytes = p.totalGlobalMem;
    info->l2_bytes = (uint64_t)p.l2CacheSize;
    info->smem_block_max = p.sharedMemPerBlockOptin;
    cudaDriverGetVersion(&info->driver_version);
    cudaRuntimeGetVersion(&info->runtime_version);
    *out = dev;
    return RUNG_OK;
}

static void cuda_close(struct rung_device *dev)
{
    cudaStreamDestroy(dev->stream);
    free(dev);
}

static enum rung_status cuda_alloc(struct rung_device *dev, size_t bytes, void **out,
                                   struct rung_err *err)
{
    cudaError_t e = cudaMalloc(out, bytes ? bytes : 1);
    (void)dev;
    if (e) {
        cudaGetLastError();
        char what[64];
        snprintf(what, sizeof what, "cannot allocate %zu bytes", bytes);
        return failed(err, what, e);
    }
    return RUNG_OK;
}

static void cuda_free(struct rung_device *dev, void *ptr)
{
    (void)dev;
    cudaFree(ptr);
}

static enum rung_status cuda_sync(struct rung_device *dev, struct rung_err *err)
{
    TRY(cudaStreamSynchronize(dev->stream), "device");
    return RUNG_OK;
}

static enum rung_status cuda_copy(struct rung_device *dev, void *dst, const void *src,
                                  size_t bytes, enum rung_copy_dir dir, struct rung_err *err)
{
    static const enum cudaMemcpyKind kind[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                               cudaMemcpyDeviceToDevice};
    if (bytes == 0)
        return RUNG_OK;
    TRY(cudaMemcpyAsync(dst, src, bytes, kind[dir], dev->stream), "copy");
    return cuda_sync(dev, err);
}

/* Pages of one repeated pattern, doubled in place; cudaMemset takes bytes only. */
static enum rung_status cuda_fill32(struct rung_device *dev, void *ptr, uint32_t bits,
                                    size_t n_words, struct rung_err *err)
{
    uint32_t page[256];
    size_t done = n_words < 256 ? n_words : 256;

    if (n_words == 0)
        return RUNG_OK;
    for (size_t i = 0; i < 256; i++)
        page[i] = bits;
    TRY(cudaMemcpyAsync(ptr, page, done * 4, cudaMemcpyHostToDevice, dev->stream), "fill");
    while (done < n_words) {
        size_t n = n_words - done < done ? n_words - done : done;
        TRY(cudaMemcpyAsync((uint32_t *)ptr + done, ptr, n * 4, cudaMemcpyDeviceToDevice,
                            dev->stream),
            "fill");
        done += n;
    }
    return cuda_sync(dev, err);
}

static uint64_t cuda_mem_free(struct rung_device *dev)
{
    size_t free_bytes = 0, total = 0;
    (void)dev;
    return cudaMemGetInfo(&free_bytes, &total) ? 0 : free_bytes;
}

static enum rung_status cuda_launched(struct rung_device *dev, struct rung_err *err)
{
    (void)dev;
    TRY(cudaGetLastError(), "launch");
    return RUNG_OK;
}

static enum rung_status cuda_timer_create(struct rung_device *dev, struct rung_timer **out,
                                          struct rung_err *err)
{
    struct rung_timer *t = calloc(1, sizeof *t);
    cudaError_t e;
    (void)dev;
    if (!t)
        return rung_fail(err, RUNG_E_NOMEM, "timer: out of memory");
    if ((e = cudaEventCreate(&t->start)) || (e = cudaEventCreate(&t->stop))) {
        if (t->start)
            cudaEventDestroy(t->start);
        free(t);
        return failed(err, "create event", e);
    }
    *out = t;
    return RUNG_OK;
}

static void cuda_timer_destroy(struct rung_device *dev, struct rung_timer *t)
{
    (void)dev;
    if (!t)
        return;
    cudaEventDestroy(t->start);
    cudaEventDestroy(t->stop);
    free(t);
}

static enum rung_status cuda_timer_start(struct rung_device *dev, struct rung_timer *t,
                                         struct rung_err *err)
{
    TRY(cudaEventRecord(t->start, dev->stream), "record event");
    return RUNG_OK;
}

static enum rung_status cuda_timer_stop(struct rung_device *dev, struct rung_timer *t,
                                        struct rung_err *err)
{
    TRY(cudaEventRecord(t->stop, dev->stream), "record event");
    return RUNG_OK;
}

static enum rung_status cuda_timer_ms(struct rung_device *dev, struct rung_timer *t, double *ms,
                                      struct rung_err *err)
{
    float f = 0;
    (void)dev;
    TRY(cudaEventSynchronize(t->stop), "device");
    TRY(cudaEventElapsedTime(&f, t->start, t->stop), "elapsed time");
    *ms = f;
    return RUNG_OK;
}

/* Relaxed: what a library does on other threads meanwhile is its own business. */
static enum rung_status cuda_graph_begin(struct rung_device *dev, struct rung_err *err)
{
    TRY(cudaStreamBeginCapture(dev->stream, cudaStreamCaptureModeRelaxed), "begin capture");
    return RUNG_OK;
}

static enum rung_status cuda_graph_end(struct rung_device *dev, struct rung_graph **out,
                                       struct rung_err *err)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec;
    TRY(cudaStreamEndCapture(dev->stream, &graph), "end capture");
    const cudaError_t e = cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    if (e)
        return failed(err, "instantiate graph", e);
    *out = (struct rung_graph *)exec;
    return RUNG_OK;
}

static enum rung_status cuda_graph_launch(struct rung_device *dev, struct rung_graph *g,
                                          struct rung_err *err)
{
    TRY(cudaGraphLaunch((cudaGraphExec_t)g, dev->stream), "launch graph");
    return RUNG_OK;
}

static void cuda_graph_destroy(struct rung_device *dev, struct rung_graph *g)
{
    (void)dev;
    if (g)
        cudaGraphExecDestroy((cudaGraphExec_t)g);
}

static enum rung_status cuda_entry_facts(struct rung_device *dev, const struct rung_entry *e,
                                         struct rung_entry_facts *out, struct rung_err *err)
{
    struct cudaFuncAttributes a;
    (void)dev;
    if (!e->function)
        return rung_fail(err, RUNG_E_UNAVAILABLE, "%s: the plugin gives no address", e->name);
    TRY(cudaFuncGetAttributes(&a, e->function), e->name);
    out->registers = a.numRegs;
    out->local_bytes = (int64_t)a.localSizeBytes;
    out->static_smem = (int64_t)a.sharedSizeBytes;
    out->max_threads = a.maxThreadsPerBlock;
    out->binary_sm = a.binaryVersion;
    return RUNG_OK;
}

const struct rung_device_ops rung_device_cuda = {
    .kind = "cuda",
    .has_time = true,
    .count = cuda_count,
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .copy = cuda_copy,
    .fill32 = cuda_fill32,
    .mem_free = cuda_mem_free,
    .sync = cuda_sync,
    .launched = cuda_launched,
    .timer_create = cuda_timer_create,
    .timer_destroy = cuda_timer_destroy,
    .timer_start = cuda_timer_start,
    .timer_stop = cuda_timer_stop,
    .timer_ms = cuda_timer_ms,
    .graph_begin = cuda_graph_begin,
    .graph_end = cuda_graph_end,
    .graph_launch = cuda_graph_launch,
    .graph_destroy = cuda_graph_destroy,
    .clock_mark = rung_cuda_clock_mark,
    .clock_read = rung_cuda_clock_read,
    .n_copies = RUNG_COPY_HOWS,
    .copy_enqueue = rung_cuda_copy_enqueue,
    .entry_facts = cuda_entry_facts,
};
