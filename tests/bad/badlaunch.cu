/*
 * A kernel whose launch is invalid (2048 threads a block) and whose launch function says that
 * all is well. Built as a module: the core must see the error all the same, which it can
 * only if executable and module share one CUDA runtime.
 */
#include <rung/gpu.h>

namespace {

__global__ void nothing(float *c) { c[threadIdx.x] = 0.0f; }

enum rung_status launch(void *, const struct rung_set *set, void *stream)
{
    (void)rung_launch(nothing, dim3(1), dim3(2048), 0, stream,
                      static_cast<float *>(set->operand[2].data));
    return RUNG_OK;
}

void cost(const struct rung_case *, struct rung_cost *out) { out->flops = out->bytes = 1.0; }

} // namespace

RUNG_PLUGIN(badlaunch) = {
    RUNG_PLUGIN_HEAD,
    .id = "badlaunch",
    .family = "sgemm",
    .title = "an invalid launch",
    .summary = "asks for 2048 threads a block and returns RUNG_OK",
    .notes = "",
    .target = RUNG_TARGET_NAME,
    .build = RUNG_BUILD_FACTS,
    .launch = launch,
    .cost = cost,
};
