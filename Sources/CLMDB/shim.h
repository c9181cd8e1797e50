#pragma once
#include <lmdb.h>
#include <string.h>
#include <sys/prctl.h>

/// Names the calling thread, as the system's tools show it; the system keeps the first 15 bytes.
static inline void millrace_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
