/*
 * k0: cuBLAS, the mark that every ratio of the ladder is taken against.
 *
 * FP32 and nothing less: CUBLAS_PEDANTIC_MATH forbids TF32 and every other short cut, whatever
 * the environment says. cuBLAS is column-major; a row-major C = A B is the column-major
 * C^T = B^T A^T on the same bytes, so A and B change places and nothing is transposed.
 *
 * The library is loaded in prepare, after the environment has been set and so that rung starts
 * where it is not installed. Handle, then stream, then workspace: setting the stream resets the
 * workspace. A launch is then one call that allocates nothing. RUNG_CUBLAS names a file to use
 * instead of the system's.
 *
 * No cuBLAS header is needed: five functions, declared here as the C ABI has them.
 */
#include "sgemm.cuh"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

namespace {

enum { CUBLAS_OP_N = 0, CUBLAS_PEDANTIC_MATH = 2, CUBLAS_TF32_TENSOR_OP_MATH = 3 };
constexpr size_t WORKSPACE = 32u << 20; /* what cuBLAS itself takes on Hopper */

struct cublas_api {
    void *so;
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    int (*set_workspace)(void *handle, void *workspace, size_t bytes);
    int (*set_math)(void *handle, int mode);
    int (*version)(void *handle, int *version);
    int (*sgemm)(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
                 const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                 int ldc);
};

/* Loaded once and kept: its modules stay on the GPU. */
cublas_api cublas;

struct k0_state {
    const struct rung_case *c;
    void *handle;
};

template <class F> bool resolve(F *to, const char *name)
{
    *to = reinterpret_cast<F>(dlsym(cublas.so, name));
    return *to;
}

enum rung_status load(const struct rung_env *env)
{
    const char *asked = getenv("RUNG_CUBLAS");
    const char *const names[] = {asked ? asked : "libcublas.so.13", asked ? nullptr : "libcublas.so.12",
                                 nullptr};
    if (cublas.sgemm)
        return RUNG_OK;
    for (int i = 0; names[i] && !cublas.so; i++)
        cublas.so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!cublas.so)
        return env->fail(env->ctx, RUNG_E_UNAVAILABLE,
                         "cuBLAS does not load (%s): install libcublas, add its folder to "
                         "LD_LIBRARY_PATH, or let RUNG_CUBLAS name its file", dlerror());
    if (resolve(&cublas.create, "cublasCreate_v2") && resolve(&cublas.destroy, "cublasDestroy_v2") &&
        resolve(&cublas.set_stream, "cublasSetStream_v2") &&
        resolve(&cublas.set_workspace, "cublasSetWorkspace_v2") &&
        resolve(&cublas.set_math, "cublasSetMathMode") &&
        resolve(&cublas.version, "cublasGetVersion_v2") && resolve(&cublas.sgemm, "cublasSgemm_v2"))
        return RUNG_OK;
    cublas.sgemm = nullptr;
    return env->fail(env->ctx, RUNG_E_UNAVAILABLE, "%s: this is not cuBLAS 11 or newer",
                     dlerror());
}

/* Row-major operands in column-major order: see the head of the file. */
int call(void *handle, const struct rung_case *c, const struct rung_set *set)
{
    const auto at_least = [](int64_t ld, int64_t min) {
        return static_cast<int>(ld > min ? ld : min > 1 ? min : 1);
    };
    return cublas.sgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(c->dim[1]),
                        static_cast<int>(c->dim[0]), static_cast<int>(c->dim[2]), &c->alpha,
                        static_cast<const float *>(set->operand[1].data),
                        at_least(c->ld[1], c->dim[1]),
                        static_cast<const float *>(set->operand[0].data),
                        at_least(c->ld[0], c->dim[2]), &c->beta,
                        static_cast<float *>(set->operand[2].data), at_least(c->ld[2], c->dim[1]));
}

/* C = beta * C. What BLAS says of alpha == 0 and K == 0, without a word from the library on
 * what it does with NaN there. */
__global__ void __launch_bounds__(256) sgemm_k0_scale(sgemm_args p)
{
    const int64_t i = static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x;
    if (i >= static_cast<int64_t>(p.m) * p.n)
        return;
    float *c = &p.c[i / p.n * p.ldc + i % p.n];
    *c = p.beta != 0.0f ? p.beta * *c : 0.0f;
}

bool is_empty(const struct rung_case *c) { return c->dim[0] == 0 || c->dim[1] == 0; }
bool is_scale(const struct rung_case *c) { return c->alpha == 0.0f || c->dim[2] == 0; }

/* Which kernels does the library choose for this case? Captured, not run: C stays as it is.
 * The names come from the driver, since the functions are not the runtime's. */
void note_kernels(const struct rung_env *env, const k0_state *s, const struct rung_set *set)
{
    const cudaStream_t stream = static_cast<cudaStream_t>(env->stream);
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t nodes[8];
    size_t n = 8, used = 0;
    char text[512] = "";
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver)
        return;
    const auto params = reinterpret_cast<CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2 *)>(
        dlsym(driver, "cuGraphKernelNodeGetParams_v2"));
    const auto func_name = reinterpret_cast<CUresult (*)(const char **, CUfunction)>(
        dlsym(driver, "cuFuncGetName"));
    const auto kern_name = reinterpret_cast<CUresult (*)(const char **, CUkernel)>(
        dlsym(driver, "cuKernelGetName"));

    if (!params || !func_name || !kern_name ||
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal))
        return;
    const int failed = call(s->handle, s->c, set);
    if (cudaStreamEndCapture(stream, &graph) || failed || cudaGraphGetNodes(graph, nodes, &n))
        n = 0;
    for (size_t i = 0; i < n && i < 8; i++) {
        CUDA_KERNEL_NODE_PARAMS_v2 p = {};
        const char *name = nullptr;
        if (params(nodes[i], &p))
            continue; /* a memset or a copy */
        const CUresult r = p.func ? func_name(&name, p.func) : kern_name(&name, p.kern);
        if (!r && name && used < sizeof text)
            used += snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "", name);
    }
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError();
    if (used)
        env->note(env->ctx, "cublas_kernel", text);
}

void note_library(const struct rung_env *env, void *handle)
{
    int version = 0;
    char text[32];
    Dl_info info;
    if (!cublas.version(handle, &version)) {
        snprintf(text, sizeof text, "%d", version);
        env->note(env->ctx, "cublas_version", text);
    }
    if (dladdr(reinterpret_cast<void *>(cublas.sgemm), &info) && info.dli_fname)
        env->note(env->ctx, "cublas_path", info.dli_fname);
}

constexpr int PROBE_MN = 256, PROBE_K = 8;

__global__ void sgemm_k0_probe_fill(float *a, float *b)
{
    a[blockIdx.x * PROBE_K + threadIdx.x] = 1.0f + 1.0f / 4096.0f;
    b[blockIdx.x * PROBE_K + threadIdx.x] = 1.0f;
}

/* A = 1 + 2^-12, B = 1, K = 8: the sum 8 + 2^-9 is exact in FP32; TF32 has 10 bits of fraction and
 * rounds A to 1. What this handle makes of it in its present mode. */
const char *probe(void *handle, cudaStream_t stream, float *device)
{
    float *a = device, *b = a + PROBE_MN * PROBE_K, *c = b + PROBE_MN * PROBE_K, got = 0.0f;
    const float one = 1.0f, zero = 0.0f;
    if (rung_launch(sgemm_k0_probe_fill, dim3(PROBE_MN), dim3(PROBE_K), 0, stream, a, b) ||
        cublas.sgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, PROBE_MN, PROBE_MN, PROBE_K, &one, b, PROBE_MN,
                     a, PROBE_K, &zero, c, PROBE_MN) ||
        cudaMemcpyAsync(&got, c, sizeof got, cudaMemcpyDeviceToHost, stream) ||
        cudaStreamSynchronize(stream))
        return "failed";
    return got == 8.0f + 1.0f / 512.0f ? "exact" : "rounded";
}

/* The probe in the mode that is timed, and with TF32 asked for: the control. Where the environment locks
 * TF32 out (NVIDIA_TF32_OVERRIDE=0) the control is exact too; without that it must be rounded, or
 * the probe could see nothing. Once a process. */
void note_tf32(const struct rung_env *env, void *handle)
{
    static const char *pedantic, *control;
    const cudaStream_t stream = static_cast<cudaStream_t>(env->stream);
    float *memory = nullptr;
    if (!pedantic && !cudaMalloc(&memory, sizeof(float) * (2 * PROBE_MN * PROBE_K + PROBE_MN * PROBE_MN))) {
        pedantic = probe(handle, stream, memory);
        cublas.set_math(handle, CUBLAS_TF32_TENSOR_OP_MATH);
        control = probe(handle, stream, memory);
        cublas.set_math(handle, CUBLAS_PEDANTIC_MATH);
        cudaFree(memory);
    }
    if (pedantic) {
        env->note(env->ctx, "tf32_probe", pedantic);
        env->note(env->ctx, "tf32_control", control);
    }
}

bool accepts(const struct rung_case *c, char *reason, size_t cap)
{
    for (int i = 0; i < 3; i++)
        if (c->dim[i] > INT32_MAX || c->ld[i] > INT32_MAX) {
            snprintf(reason, cap, "cublasSgemm takes dimensions and leading dimensions below 2^31");
            return false;
        }
    return true;
}

size_t workspace_bytes(const struct rung_case *)
{
    return WORKSPACE;
}

enum rung_status prepare(const struct rung_env *env, const struct rung_case *c,
                         const struct rung_set *sets, size_t n_sets, void **state)
{
    enum rung_status status = load(env);
    if (status)
        return status;
    k0_state *s = static_cast<k0_state *>(calloc(1, sizeof *s));
    if (!s)
        return env->fail(env->ctx, RUNG_E_NOMEM, "cuBLAS state: out of memory");
    s->c = c;
    int e = cublas.create(&s->handle);
    if (e) {
        free(s);
        return env->fail(env->ctx, RUNG_E_DEVICE, "cublasCreate: status %d", e);
    }
    if ((e = cublas.set_stream(s->handle, env->stream)) ||
        (e = cublas.set_math(s->handle, CUBLAS_PEDANTIC_MATH)) ||
        (n_sets && sets[0].workspace &&
         (e = cublas.set_workspace(s->handle, sets[0].workspace, sets[0].workspace_bytes)))) {
        cublas.destroy(s->handle);
        free(s);
        return env->fail(env->ctx, RUNG_E_DEVICE, "setting up cuBLAS: status %d", e);
    }
    note_library(env, s->handle);
    note_tf32(env, s->handle);
    if (n_sets && !is_empty(c) && !is_scale(c))
        note_kernels(env, s, &sets[0]);
    *state = s;
    return RUNG_OK;
}

enum rung_status launch(void *state, const struct rung_set *set, void *stream)
{
    const k0_state *s = static_cast<const k0_state *>(state);
    if (is_empty(s->c))
        return RUNG_OK;
    if (is_scale(s->c)) {
        const sgemm_args p = sgemm_unpack(s->c, set);
        return rung_launch(sgemm_k0_scale, dim3(rung_blocks(s->c->dim[0] * s->c->dim[1], 256)),
                           dim3(256), 0, stream, p);
    }
    return call(s->handle, s->c, set) ? RUNG_E_DEVICE : RUNG_OK;
}

void finish(void *state)
{
    k0_state *s = static_cast<k0_state *>(state);
    cublas.destroy(s->handle);
    free(s);
}

const struct rung_entry entries[] = {
    {"sgemm_k0_scale", RUNG_KERNEL_ADDRESS(sgemm_k0_scale)},
    {"sgemm_k0_probe_fill", RUNG_KERNEL_ADDRESS(sgemm_k0_probe_fill)}};
const struct rung_limit limits[] = {
    {"shape", "M, N, K and leading dimensions below 2^31"},
    {"library", "libcublas.so.13 or .12, or what RUNG_CUBLAS names"},
    {"math", "CUBLAS_PEDANTIC_MATH: FP32 throughout"}};

} // namespace

RUNG_PLUGIN(k0) = {
    RUNG_PLUGIN_HEAD,
    .id = "k0",
    .family = "sgemm",
    .title = "cuBLAS, pedantic FP32",
    .summary = "cublasSgemm of the cuBLAS found on this machine, row-major by operand swap",
    .notes = "The mark. Its own kernels are named by `rung run k0`; only the case without a product "
             "(alpha or K of 0) is ours.",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .needs = RUNG_NEED_CUDA_LIBRARY,
    .traits = RUNG_TRAIT_DETERMINISTIC | RUNG_TRAIT_GRAPH_CAPTURABLE | RUNG_TRAIT_LIBRARY_CALL,
    .entries = entries,
    .n_entries = 2,
    .limits = limits,
    .n_limits = sizeof limits / sizeof limits[0],
    .accepts = accepts,
    .workspace_bytes = workspace_bytes,
    .prepare = prepare,
    .launch = launch,
    .finish = finish,
    .cost = sgemm_cost,
};
