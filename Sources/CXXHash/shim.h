#pragma once
// The header-only build of xxHash: small keys are hashed inline, no library is linked.
#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t millrace_xxh64(const void *bytes, size_t count) {
  return XXH64(bytes, count, 0);
}
