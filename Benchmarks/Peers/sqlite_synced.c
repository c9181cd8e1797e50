/* SQLite as an event log: appends 100-byte records to one table, in WAL mode with synchronous=FULL, so that every commit
 * is synced before it returns, as Millrace's are.
 *
 *   gcc -O2 sqlite_synced.c -o sqlite_synced -lsqlite3
 *   sqlite_synced FOLDER RECORDS RECORDS_PER_COMMIT [SECONDS]
 *
 * Ends after SECONDS (20) if the records take longer. FOLDER/sqlite_synced.db is made anew and removed.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RECORD = 100, POOL = 1 << 20 };

static sqlite3 *database;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static void fail(const char *what) {
  fprintf(stderr, "sqlite_synced: %s: %s\n", what, sqlite3_errmsg(database));
  exit(1);
}

static void run(const char *statement) {
  if (sqlite3_exec(database, statement, NULL, NULL, NULL) != SQLITE_OK) fail(statement);
}

static int ascending(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static void forget(const char *path) {
  static const char *const ends[] = {"", "-wal", "-shm"};
  char name[4096];
  for (int index = 0; index < 3; index++) {
    snprintf(name, sizeof name, "%s%s", path, ends[index]);
    unlink(name);
  }
}

int main(int count, char **arguments) {
  if (count < 4) {
    fprintf(stderr, "usage: sqlite_synced FOLDER RECORDS RECORDS_PER_COMMIT [SECONDS]\n");
    return 64;
  }
  long records = atol(arguments[2]), per_commit = atol(arguments[3]);
  double limit = count > 4 ? atof(arguments[4]) : 20;
  if (records < 1 || per_commit < 1) return 64;
  char path[4000];
  snprintf(path, sizeof path, "%s/sqlite_synced.db", arguments[1]);
  forget(path);
  if (sqlite3_open(path, &database) != SQLITE_OK) fail("open");
  run("PRAGMA journal_mode=WAL");
  run("PRAGMA synchronous=FULL");
  run("CREATE TABLE log(id INTEGER PRIMARY KEY, record BLOB)");
  static unsigned char pool[POOL];
  uint64_t random = 88172645463325252ull;
  for (size_t index = 0; index < POOL; index += 8) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    memcpy(pool + index, &random, 8);
  }
  sqlite3_stmt *insert, *begin, *commit;
  if (sqlite3_prepare_v2(database, "INSERT INTO log VALUES(?,?)", -1, &insert, NULL) != SQLITE_OK) fail("prepare");
  if (sqlite3_prepare_v2(database, "BEGIN", -1, &begin, NULL) != SQLITE_OK) fail("prepare");
  if (sqlite3_prepare_v2(database, "COMMIT", -1, &commit, NULL) != SQLITE_OK) fail("prepare");
  double *latencies = malloc((size_t)(records / per_commit + 2) * sizeof *latencies);
  if (!latencies) return 1;
  long done = 0, commits = 0;
  double start = now(), last = start;
  while (done < records && last - start < limit) {
    if (sqlite3_step(begin) != SQLITE_DONE) fail("begin");
    sqlite3_reset(begin);
    for (long index = 0; index < per_commit && done < records; index++, done++) {
      sqlite3_bind_int64(insert, 1, done);
      sqlite3_bind_blob(insert, 2, pool + done * RECORD % (POOL - RECORD), RECORD, SQLITE_STATIC);
      if (sqlite3_step(insert) != SQLITE_DONE) fail("insert");
      sqlite3_reset(insert);
    }
    if (sqlite3_step(commit) != SQLITE_DONE) fail("commit");
    sqlite3_reset(commit);
    double time = now();
    latencies[commits++] = time - last;
    last = time;
  }
  double seconds = last - start;
  qsort(latencies, (size_t)commits, sizeof *latencies, ascending);
  printf("sqlite_synced records=%ld per_commit=%ld secs=%.3f rec_s=%.0f commits_s=%.0f p50_us=%.0f p99_us=%.0f\n", done,
         per_commit, seconds, done / seconds, commits / seconds, latencies[commits / 2] * 1e6,
         latencies[commits * 99 / 100] * 1e6);
  free(latencies);
  sqlite3_finalize(insert), sqlite3_finalize(begin), sqlite3_finalize(commit);
  sqlite3_close(database);
  forget(path);
  return 0;
}
