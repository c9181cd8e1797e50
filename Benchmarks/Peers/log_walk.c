/* What a scan of the log costs in plain C: walks every record of one segment with LMDB directly, the same framing and
 * the same CRC-32C (isa-l's crc32_iscsi, which runs three streams at once) as Millrace's own reader. The bytes are drawn
 * in docs/FORMAT.md, "Log: segment".
 *
 *   gcc -O2 log_walk.c -o log_walk -llmdb -lisal
 *   log_walk SEGMENT.mdb [crc|nocrc] [SCANS]
 *
 * The file is read once to warm it, then SCANS (3) times; the fastest is printed. No process may write the segment.
 */
#include <isa-l/crc.h>
#include <lmdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEADER = 96, PREFIX = 8 };

static const char *file;

static void fail(const char *what, long at) {
  fprintf(stderr, "log_walk: %s: %s (batch %ld)\n", file, what, at);
  exit(1);
}

static void check(int code, const char *what) {
  if (code) fail(what, -1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

/* x86 and arm are little-endian, as the format is. */
#define LOAD(type, pointer) ({ type loaded; memcpy(&loaded, (pointer), sizeof loaded); loaded; })

struct totals {
  long batches, records;
  uint64_t sum;
};

/* What stands behind the header first, then the header without the checksum itself. */
static uint32_t checksum(unsigned char *batch, size_t size) {
  uint32_t crc = crc32_iscsi(batch + HEADER, (int)(size - HEADER), ~0u);
  crc = crc32_iscsi(batch, 8, crc);
  return ~crc32_iscsi(batch + 12, HEADER - 12, crc);
}

static void walk(MDB_env *environment, int verifies, struct totals *totals) {
  MDB_txn *transaction;
  MDB_dbi batches;
  MDB_cursor *cursor;
  check(mdb_txn_begin(environment, NULL, MDB_RDONLY, &transaction), "no read transaction");
  check(mdb_dbi_open(transaction, "batches", 0, &batches), "no database of batches");
  check(mdb_cursor_open(transaction, batches, &cursor), "no cursor");
  MDB_val key, value;
  while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
    unsigned char *batch = value.mv_data;
    if (value.mv_size < HEADER || memcmp(batch, "MLB1", 4) != 0) fail("no batch", totals->batches);
    if (LOAD(uint16_t, batch + 6) != 0) fail("flags: walk a topic without compression and compaction", totals->batches);
    if (verifies && checksum(batch, value.mv_size) != LOAD(uint32_t, batch + 8)) fail("checksum", totals->batches);
    uint32_t count = LOAD(uint32_t, batch + 12);
    unsigned char *position = batch + HEADER, *end = batch + value.mv_size;
    for (uint32_t record = 0; record < count; record++) {
      if (end - position < PREFIX) fail("framing", totals->batches);
      uint64_t word = LOAD(uint64_t, position);
      position += PREFIX;
      size_t value_size = word & 0xFFFFFF, key_field = word >> 24 & 0xFFFF, headers = 0;
      size_t key_size = key_field == 0xFFFF ? 0 : key_field;
      if ((int64_t)word >> 41 == -(1 << 22)) {
        if (end - position < 8) fail("framing", totals->batches);
        position += 8;
      }
      if (word & 1ull << 40) {
        if (end - position < 4) fail("framing", totals->batches);
        headers = LOAD(uint32_t, position);
        position += 4;
      }
      if (key_size + value_size + headers > (size_t)(end - position)) fail("framing", totals->batches);
      if (value_size >= 8) totals->sum += LOAD(uint64_t, position + key_size);
      position += key_size + value_size + headers;
    }
    totals->records += count;
    totals->batches++;
  }
  mdb_cursor_close(cursor);
  mdb_txn_abort(transaction);
}

int main(int count, char **arguments) {
  if (count < 2) {
    fprintf(stderr, "usage: log_walk SEGMENT.mdb [crc|nocrc] [SCANS]\n");
    return 64;
  }
  file = arguments[1];
  int verifies = count < 3 || strcmp(arguments[2], "nocrc") != 0;
  long scans = count < 4 ? 3 : atol(arguments[3]);
  MDB_env *environment;
  check(mdb_env_create(&environment), "no environment");
  check(mdb_env_set_maxdbs(environment, 3), "no databases");
  check(mdb_env_open(environment, file, MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK, 0600), "it cannot be opened");
  struct totals warm = {0};
  walk(environment, 1, &warm);
  double best = 1e9;
  for (long scan = 0; scan < scans; scan++) {
    struct totals totals = {0};
    double start = now();
    walk(environment, verifies, &totals);
    double seconds = now() - start;
    if (totals.records != warm.records || totals.sum != warm.sum) fail("two scans differ", -1);
    if (seconds < best) best = seconds;
  }
  printf("log_walk checksums=%s batches=%ld records=%ld secs=%.4f rec_s=%.0f sum=%lx\n", verifies ? "verified" : "none",
         warm.batches, warm.records, best, warm.records / best, (unsigned long)warm.sum);
  mdb_env_close(environment);
  return 0;
}
