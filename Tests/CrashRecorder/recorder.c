// A library to be preloaded into a child process: it writes down, in order, everything that the child does to files
// below one folder, so that a test can rebuild what a crash of the machine could have left of them. It can also make
// the Nth write or sync fail. Compiled by the tests with the system's C compiler; see Tests/CrashSupport/Recorder.swift.
//
//   CRASH_ROOT       the folder, absolute and without symbolic links
//   CRASH_JOURNAL    the file written, outside of that folder; layout: struct record below, then its payload
//   CRASH_SKIP_SYNC  set: syncs are written down but not done, which makes long runs fast
//   CRASH_FAIL       KIND:N:ERRNO or KIND:N+:ERRNO: the Nth (or every one from there) of kind `write`, `dsync` (a
//                    write on a descriptor opened with O_DSYNC) or `sync` fails; ERRNO 0 means a short write, -9 that the
//                    write is done and the process killed at once
//
// Raw system calls are used throughout, so nothing here calls what it replaces. Not seen: writes through shared
// mappings, and stdio, whose calls stay inside the C library.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { FILE_SEEN = 1, WRITE, TRUNCATE, SYNC_BEGIN, SYNC_END, RENAME, UNLINK, MAKE_FOLDER, REMOVE_FOLDER, MARK, LINK };
enum flag { IS_NEW = 1, IS_FOLDER = 2, IS_SYNCED = 4 };

struct record {
  uint32_t magic, kind, file, flags;
  uint64_t offset, length; // of a sync: its number
  uint32_t payload, unused;
};

struct identity {
  dev_t device;
  ino_t inode;
};

#define MAX_FILES 65536
static struct identity files[MAX_FILES]; // file n is at n - 1; the newest of an inode counts
static uint32_t file_count;
static char root[PATH_MAX];
static size_t root_length;
static int journal = -1;
static int skips_sync;
static uint64_t sync_count;
static struct { char kind[8]; long at; int on_and_on, error; long seen; } failing;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void start(void) {
  const char *folder = getenv("CRASH_ROOT"), *path = getenv("CRASH_JOURNAL"), *fail = getenv("CRASH_FAIL");
  if (!folder || !path || strlen(folder) >= sizeof root) return;
  strcpy(root, folder);
  root_length = strlen(root);
  skips_sync = getenv("CRASH_SKIP_SYNC") != NULL;
  char plus[2] = "";
  if (fail && sscanf(fail, "%7[a-z]:%ld+:%d", failing.kind, &failing.at, &failing.error) == 3) {
    failing.on_and_on = 1;
  } else if (fail && sscanf(fail, "%7[a-z]:%ld:%d%1s", failing.kind, &failing.at, &failing.error, plus) != 3) {
    failing.kind[0] = 0;
  }
  journal = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static int below_root(const char *path) {
  return strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || path[root_length] == 0);
}

static void append(uint32_t kind, uint32_t file, uint32_t flags, uint64_t offset, uint64_t length,
                   const struct iovec *payload, int count, size_t size) {
  struct record head = {0x4a524e4c, kind, file, flags, offset, length, (uint32_t)size, 0};
  struct iovec parts[2] = {{&head, sizeof head}, {NULL, 0}};
  char *copy = malloc(size + 1);
  if (!copy) return;
  size_t filled = 0;
  for (int i = 0; i < count && filled < size; i++) {
    size_t part = payload[i].iov_len < size - filled ? payload[i].iov_len : size - filled;
    memcpy(copy + filled, payload[i].iov_base, part);
    filled += part;
  }
  parts[1].iov_base = copy;
  parts[1].iov_len = size;
  syscall(SYS_writev, journal, parts, 2);
  free(copy);
}

static void append_text(uint32_t kind, uint32_t file, uint32_t flags, uint64_t length, const char *text, size_t size) {
  struct iovec part = {(void *)text, size};
  append(kind, file, flags, 0, length, &part, 1, size);
}

// The number of an open file or folder below the root, 0 for any other. `is_new`: its name did not exist before.
static uint32_t file_of(int fd, int is_new) {
  struct stat status;
  if (syscall(SYS_fstat, fd, &status) != 0) return 0;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return 0;
  if (!is_new) {
    for (uint32_t i = file_count; i-- > 0;) {
      if (files[i].device == status.st_dev && files[i].inode == status.st_ino) return i + 1;
    }
  }
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  if (size <= 0 || file_count == MAX_FILES) return 0;
  path[size] = 0;
  // A file without a name is gone at a crash, whatever is written to it.
  if (!below_root(path) || status.st_nlink == 0) return 0;
  files[file_count++] = (struct identity){status.st_dev, status.st_ino};
  uint32_t flags = (is_new ? IS_NEW : 0) | (S_ISDIR(status.st_mode) ? IS_FOLDER : 0);
  append_text(FILE_SEEN, file_count, flags, (uint64_t)status.st_size, path, (size_t)size);
  return file_count;
}

// The place of the entry for what `path` names, NULL if it is unknown.
static struct identity *entry_of(const char *path) {
  struct stat status;
  if (syscall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) != 0) return NULL;
  if (!S_ISDIR(status.st_mode) && status.st_nlink > 1) return NULL;
  for (uint32_t i = file_count; i-- > 0;) {
    if (files[i].device == status.st_dev && files[i].inode == status.st_ino) return &files[i];
  }
  return NULL;
}

// The error that was ordered for this call, -1 if none.
static int ordered_failure(const char *kind) {
  if (strcmp(kind, failing.kind) != 0) return -1;
  failing.seen++;
  return failing.seen == failing.at || (failing.on_and_on && failing.seen > failing.at) ? failing.error : -1;
}

// MARK: opening

static int open_file(int folder, const char *path, int flags, mode_t mode) {
  if (journal < 0) return (int)syscall(SYS_openat, folder, path, flags, mode);
  pthread_mutex_lock(&mutex);
  int is_new = (flags & O_CREAT) && syscall(SYS_faccessat, folder, path, F_OK) != 0;
  int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
  int error = errno;
  if (fd >= 0) {
    uint32_t file = file_of(fd, is_new);
    if (file && (flags & O_TRUNC) && !is_new) append_text(TRUNCATE, file, 0, 0, "", 0);
  }
  pthread_mutex_unlock(&mutex);
  errno = error;
  return fd;
}

#define MODE_OF(flags)                     \
  mode_t mode = 0;                         \
  if ((flags) & (O_CREAT | O_TMPFILE)) {   \
    va_list list;                          \
    va_start(list, flags);                 \
    mode = (mode_t)va_arg(list, int);      \
    va_end(list);                          \
  }

int open(const char *path, int flags, ...) { MODE_OF(flags) return open_file(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_OF(flags) return open_file(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE_OF(flags) return open_file(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE_OF(flags) return open_file(folder, path, flags, mode); }
int __open_2(const char *path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
int __openat_2(int folder, const char *path, int flags) { return open_file(folder, path, flags, 0); }
int __openat64_2(int folder, const char *path, int flags) { return open_file(folder, path, flags, 0); }
int creat(const char *path, mode_t mode) { return open_file(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return open_file(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

// MARK: writing

static size_t size_of(const struct iovec *parts, int count) {
  size_t size = 0;
  for (int i = 0; i < count; i++) size += parts[i].iov_len;
  return size;
}

// `offset` -1: at the descriptor's position.
static ssize_t write_parts(int fd, const struct iovec *parts, int count, off_t offset) {
  if (journal < 0) {
    return offset < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwritev, fd, parts, count, offset, 0L);
  }
  pthread_mutex_lock(&mutex);
  ssize_t written;
  int error;
  uint32_t file = fd == 1 || fd == 2 ? 0 : file_of(fd, 0);
  if (!file) {
    // What the child tells its parent is a mark in the journal: all before it had happened. Written down first.
    if (fd == 1) append(MARK, 0, 0, 0, 0, parts, count, size_of(parts, count));
    pthread_mutex_unlock(&mutex);
    return offset < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwritev, fd, parts, count, offset, 0L);
  }
  int status = (int)syscall(SYS_fcntl, fd, F_GETFL);
  int is_synced = (status & O_DSYNC) != 0;
  off_t at = offset;
  if (offset < 0) at = syscall(SYS_lseek, fd, 0L, status & O_APPEND ? SEEK_END : SEEK_CUR);
  int failure = ordered_failure(is_synced ? "dsync" : "write");
  if (failure > 0) {
    pthread_mutex_unlock(&mutex);
    errno = failure;
    return -1;
  }
  struct iovec half;
  if (failure == 0) {
    half = (struct iovec){parts[0].iov_base, parts[0].iov_len / 2};
    parts = &half;
    count = 1;
  }
  written = offset < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwritev, fd, parts, count, offset, 0L);
  error = errno;
  if (written > 0) {
    append(WRITE, file, is_synced ? IS_SYNCED : 0, (uint64_t)at, (uint64_t)written, parts, count, (size_t)written);
  }
  if (failure == -9) syscall(SYS_kill, (pid_t)syscall(SYS_getpid), SIGKILL);
  pthread_mutex_unlock(&mutex);
  errno = error;
  return written;
}

ssize_t write(int fd, const void *bytes, size_t size) {
  struct iovec part = {(void *)bytes, size};
  return write_parts(fd, &part, 1, -1);
}
ssize_t writev(int fd, const struct iovec *parts, int count) { return write_parts(fd, parts, count, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
  struct iovec part = {(void *)bytes, size};
  return write_parts(fd, &part, 1, offset);
}
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset) { return pwrite(fd, bytes, size, offset); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  return write_parts(fd, parts, count, offset);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
  return write_parts(fd, parts, count, offset);
}

static int truncate_file(int fd, off_t size) {
  if (journal < 0) return (int)syscall(SYS_ftruncate, fd, size);
  pthread_mutex_lock(&mutex);
  int code = (int)syscall(SYS_ftruncate, fd, size), error = errno;
  uint32_t file = code == 0 ? file_of(fd, 0) : 0;
  if (file) append_text(TRUNCATE, file, 0, (uint64_t)size, "", 0);
  pthread_mutex_unlock(&mutex);
  errno = error;
  return code;
}
int ftruncate(int fd, off_t size) { return truncate_file(fd, size); }
int ftruncate64(int fd, off64_t size) { return truncate_file(fd, size); }

static int allocate(int fd, int mode, off_t offset, off_t size) {
  int code = (int)syscall(SYS_fallocate, fd, mode, offset, size), error = errno;
  struct stat status;
  if (code == 0 && journal >= 0 && syscall(SYS_fstat, fd, &status) == 0) {
    pthread_mutex_lock(&mutex);
    uint32_t file = file_of(fd, 0);
    if (file) append_text(TRUNCATE, file, 0, (uint64_t)status.st_size, "", 0);
    pthread_mutex_unlock(&mutex);
  }
  errno = error;
  return code;
}
int fallocate(int fd, int mode, off_t offset, off_t size) { return allocate(fd, mode, offset, size); }
int fallocate64(int fd, int mode, off64_t offset, off64_t size) { return allocate(fd, mode, offset, size); }
int posix_fallocate(int fd, off_t offset, off_t size) { return allocate(fd, 0, offset, size) == 0 ? 0 : errno; }
int posix_fallocate64(int fd, off64_t offset, off64_t size) { return allocate(fd, 0, offset, size) == 0 ? 0 : errno; }

// MARK: syncing

// What was written before a sync begins is durable once it ended; others may write meanwhile.
static int sync_file(int fd, long call) {
  if (journal < 0) return (int)syscall(call, fd);
  pthread_mutex_lock(&mutex);
  uint32_t file = file_of(fd, 0);
  uint64_t number = 0;
  int failure = -1;
  if (file) {
    failure = ordered_failure("sync");
    number = ++sync_count;
    if (failure <= 0) append_text(SYNC_BEGIN, file, 0, number, "", 0);
  }
  pthread_mutex_unlock(&mutex);
  if (failure > 0) {
    errno = failure;
    return -1;
  }
  int code = file && skips_sync ? 0 : (int)syscall(call, fd), error = errno;
  if (file && code == 0) {
    pthread_mutex_lock(&mutex);
    append_text(SYNC_END, file, 0, number, "", 0);
    pthread_mutex_unlock(&mutex);
  }
  errno = error;
  return code;
}
int fsync(int fd) { return sync_file(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_file(fd, SYS_fdatasync); }
// msync and sync_file_range promise nothing for what write() wrote: left to the system, and not counted as a sync.

// MARK: names

// The absolute path of a name, its folder resolved; 0 if it is not below the root.
static int absolute(int folder, const char *name, char *path) {
  char parent[PATH_MAX], link[64];
  const char *slash = strrchr(name, '/');
  size_t length = slash ? (size_t)(slash - name) + 1 : 0;
  if (length >= sizeof parent) return 0;
  memcpy(parent, length ? name : ".", length ? length : 1);
  parent[length ? length : 1] = 0;
  int fd = (int)syscall(SYS_openat, folder, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 256);
  syscall(SYS_close, fd);
  const char *last = slash ? slash + 1 : name;
  if (size <= 0 || strlen(last) > 250) return 0;
  path[size] = '/';
  strcpy(path + size + 1, last);
  return below_root(path);
}

static int change_name(uint32_t kind, int folder, const char *name, int new_folder, const char *new_name, long call, long a, long b,
                       long c, long d, long e) {
  if (journal < 0) return (int)syscall(call, a, b, c, d, e);
  char text[2 * PATH_MAX + 1];
  pthread_mutex_lock(&mutex);
  int is_known = absolute(folder, name, text);
  size_t size = is_known ? strlen(text) : 0;
  if (is_known && new_name) {
    is_known = absolute(new_folder, new_name, text + size + 1);
    if (is_known) size += 1 + strlen(text + size + 1);
  }
  // What loses its last name gives its inode number back, for another file to get it.
  struct identity *gone = NULL;
  if (is_known && kind == RENAME) gone = entry_of(text + strlen(text) + 1);
  if (is_known && (kind == UNLINK || kind == REMOVE_FOLDER)) gone = entry_of(text);
  int code = (int)syscall(call, a, b, c, d, e), error = errno;
  if (code == 0 && gone) *gone = (struct identity){0, 0};
  if (code == 0 && is_known) append_text(kind, 0, 0, 0, text, size);
  pthread_mutex_unlock(&mutex);
  errno = error;
  return code;
}

#define L(x) ((long)(x))
int renameat2(int f, const char *from, int t, const char *to, unsigned flags) {
  return change_name(RENAME, f, from, t, to, SYS_renameat2, f, L(from), t, L(to), flags);
}
int renameat(int f, const char *from, int t, const char *to) { return renameat2(f, from, t, to, 0); }
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int f, const char *from, int t, const char *to, int flags) {
  return change_name(LINK, f, from, t, to, SYS_linkat, f, L(from), t, L(to), flags);
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
int unlinkat(int f, const char *name, int flags) {
  uint32_t kind = flags & AT_REMOVEDIR ? REMOVE_FOLDER : UNLINK;
  return change_name(kind, f, name, 0, NULL, SYS_unlinkat, f, L(name), flags, 0, 0);
}
int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }
int mkdirat(int f, const char *name, mode_t mode) {
  return change_name(MAKE_FOLDER, f, name, 0, NULL, SYS_mkdirat, f, L(name), mode, 0, 0);
}
int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }
