/* Pieces of the vtable shared by the devices whose memory is the host's. */
#ifndef RUNG_DEVICE_HOST_H
#define RUNG_DEVICE_HOST_H

#include "device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rung_status rung_host_copy(struct rung_device *dev, void *dst, const void *src, size_t bytes,
                                enum rung_copy_dir dir, struct rung_err *err);
enum rung_status rung_host_fill32(struct rung_device *dev, void *ptr, uint32_t bits,
                                  size_t n_words, struct rung_err *err);
uint64_t rung_host_mem_free(struct rung_device *dev);
void rung_host_cpu_name(char *out, size_t cap);

#ifdef __cplusplus
}
#endif
#endif
