// A disk that fails when a test wants it to, and that keeps a journal of what is done to it.
//
// It is loaded into a process in front of the C library (LD_PRELOAD) and takes the calls of it that change what is
// below one folder: those of libuv for the files of Node.js, and those of LevelDB. LevelDB writes through stdio,
// whose own calls to the system cannot be taken; so a stream for writing is given to it whose bytes come here.
// Nothing waits for the real disk: what a power cut leaves is worked out from the journal.
//
// In the environment: BAOBOX_DISK_FOLDER is the folder; BAOBOX_DISK_CONTROL a file of the size of `struct control`;
// BAOBOX_DISK_JOURNAL a file that is appended to; BAOBOX_DISK_MARKS a file: what is written to it stands in the
// journal in its place; BAOBOX_DISK_SYNC_US how many microseconds a sync takes at most.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, CREATE = 2, SYNC = 4, NAME = 8 };
enum { J_CREATE, J_WRITE, J_TRUNCATE, J_SYNC_BEGIN, J_SYNC_END, J_RENAME, J_UNLINK, J_MKDIR, J_RMDIR, J_MARK };

/** Shared with the test, which writes all but the last two. */
struct control {
  uint32_t is_armed;
  uint32_t kinds;     // which calls may fail, and are counted
  uint32_t pass;      // how many of them are done before one fails
  uint32_t error;     // errno; 0: writes are short, and do not fail
  uint32_t is_sticky; // do all later ones fail, too?
  uint32_t seen;      // counted since it was armed
  uint32_t failed;
};

struct entry {
  uint32_t kind, path_len, other_len, len;
  uint64_t file;   // its inode
  uint64_t offset; // of a write; what is left by a truncation; the number of a sync
};

enum { MAX_FD = 1 << 16, MAX_STREAMS = 256, MAX_PATH = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[MAX_PATH], marks[MAX_PATH];
static size_t folder_len;
static unsigned sync_us;
static int journal = -1;
static struct control none, *control = &none;
static uint64_t syncs;
/** What was opened below the folder, or is the file of marks (2). It may have been closed since: see `is_watched`. */
static unsigned char opened[MAX_FD];
static struct { FILE *stream; int fd; } streams[MAX_STREAMS];

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (real == NULL) real = (type (*)(__VA_ARGS__)) dlsym(RTLD_NEXT, name)

static ssize_t real_writev(int fd, const struct iovec *parts, int count) {
  REAL(ssize_t, "writev", int, const struct iovec *, int);
  return real(fd, parts, count);
}

static ssize_t real_pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  REAL(ssize_t, "pwritev64", int, const struct iovec *, int, off_t);
  return real(fd, parts, count, at);
}

static int real_open(const char *path, int flags, mode_t mode) {
  REAL(int, "open64", const char *, int, ...);
  return real(path, flags, mode);
}

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("BAOBOX_DISK_FOLDER");
  if (path == NULL) return;
  snprintf(folder, sizeof folder, "%s/", path);
  folder_len = strlen(folder);
  if ((path = getenv("BAOBOX_DISK_MARKS")) != NULL) snprintf(marks, sizeof marks, "%s", path);
  if ((path = getenv("BAOBOX_DISK_SYNC_US")) != NULL) sync_us = (unsigned) atoi(path);
  if ((path = getenv("BAOBOX_DISK_JOURNAL")) != NULL) {
    journal = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
  if ((path = getenv("BAOBOX_DISK_CONTROL")) != NULL) {
    int fd = real_open(path, O_RDWR | O_CLOEXEC, 0);
    void *shared = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared != MAP_FAILED) control = shared;
    close(fd);
  }
}

/** What LevelDB tells of itself in the files LOG and LOG.old is no part of the store. */
static int is_below(const char *path) {
  if (folder_len == 0 || path == NULL || strncmp(path, folder, folder_len) != 0) return 0;
  const char *name = strrchr(path, '/') + 1;
  return strcmp(name, "LOG") != 0 && strcmp(name, "LOG.old") != 0;
}

static int is_there(const char *path) {
  struct stat64 found;
  return lstat64(path, &found) == 0;
}

/** The system gives the number of a closed file to the next one: so it is asked which file this is. Gives its path. */
static int is_watched(int fd, char *path) {
  if (fd < 0 || fd >= MAX_FD || !opened[fd]) return 0;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t len = readlink(link, path, MAX_PATH - 1);
  if (len < 0) return 0;
  path[len] = 0;
  return is_below(path);
}

static int is_marks(int fd) { return fd >= 0 && fd < MAX_FD && opened[fd] == 2; }

static uint64_t inode_of(int fd) {
  struct stat64 found;
  return fstat64(fd, &found) == 0 ? found.st_ino : 0;
}

static int is_folder(int fd) {
  struct stat64 found;
  return fstat64(fd, &found) == 0 && S_ISDIR(found.st_mode);
}

/** Under the lock. Paths are told from the folder on. */
static void note(uint32_t kind, const char *path, const char *other, uint64_t file, uint64_t offset,
    const struct iovec *parts, int count, size_t len) {
  if (journal < 0) return;
  path = path == NULL ? "" : path + folder_len;
  other = other == NULL ? "" : other + folder_len;
  struct entry entry = { kind, (uint32_t) strlen(path), (uint32_t) strlen(other), (uint32_t) len, file, offset };
  struct iovec head[3] = {
    { &entry, sizeof entry }, { (void *) path, entry.path_len }, { (void *) other, entry.other_len }
  };
  real_writev(journal, head, 3);
  for (int i = 0; i < count && len > 0; i++) {
    struct iovec part = { parts[i].iov_base, parts[i].iov_len < len ? parts[i].iov_len : len };
    real_writev(journal, &part, 1);
    len -= part.iov_len;
  }
}

/** Is this call to fail? Under the lock. 1: yes; 2: the first that does, so that a write is torn. */
static int fails(uint32_t kind) {
  if (!control->is_armed || !(control->kinds & kind)) return 0;
  uint32_t number = control->seen++;
  if (number < control->pass || (number > control->pass && !control->is_sticky)) return 0;
  control->failed++;
  errno = (int) control->error;
  return number == control->pass || control->error == 0 ? 2 : 1;
}

static size_t len_of(const struct iovec *parts, int count) {
  size_t len = 0;
  for (int i = 0; i < count; i++) len += parts[i].iov_len;
  return len;
}

/** Writes to a watched file, and notes it. `at` is -1 for where the file stands. */
static ssize_t write_watched(int fd, const struct iovec *given, int count, off_t at) {
  struct iovec parts[count];
  memcpy(parts, given, sizeof parts);
  pthread_mutex_lock(&lock);
  int failure = fails(WRITE), error = errno;
  ssize_t done = failure == 1 ? -1 : 0;
  if (failure == 2) { // half of it is written, and at least nothing
    size_t left = len_of(parts, count) / 2;
    if (control->error == 0 && left == 0) left = len_of(parts, count);
    for (int i = 0; i < count; i++) {
      if (parts[i].iov_len > left) parts[i].iov_len = left;
      left -= parts[i].iov_len;
    }
  }
  if (failure != 1) {
    off_t from = at < 0 ? lseek64(fd, 0, SEEK_CUR) : at;
    done = at < 0 ? real_writev(fd, parts, count) : real_pwritev(fd, parts, count, at);
    if (at < 0 && done > 0) from = lseek64(fd, 0, SEEK_CUR) - done; // it may be one that is appended to
    if (done > 0) note(J_WRITE, NULL, NULL, inode_of(fd), (uint64_t) from, parts, count, (size_t) done);
  }
  if (failure && control->error != 0) {
    done = -1;
    errno = error;
  }
  pthread_mutex_unlock(&lock);
  return done;
}

static ssize_t write_any(int fd, const struct iovec *parts, int count, off_t at) {
  char path[MAX_PATH];
  if (is_marks(fd)) {
    pthread_mutex_lock(&lock);
    note(J_MARK, NULL, NULL, 0, 0, parts, count, len_of(parts, count));
    pthread_mutex_unlock(&lock);
    return (ssize_t) len_of(parts, count);
  }
  if (is_watched(fd, path)) return write_watched(fd, parts, count, at);
  return at < 0 ? real_writev(fd, parts, count) : real_pwritev(fd, parts, count, at);
}

ssize_t write(int fd, const void *bytes, size_t len) {
  struct iovec part = { (void *) bytes, len };
  return write_any(fd, &part, 1, -1);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off_t at) {
  struct iovec part = { (void *) bytes, len };
  return write_any(fd, &part, 1, at);
}

ssize_t writev(int fd, const struct iovec *parts, int count) { return write_any(fd, parts, count, -1); }

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t at) { return write_any(fd, parts, count, at); }

int ftruncate64(int fd, off_t len) {
  REAL(int, "ftruncate64", int, off_t);
  char path[MAX_PATH];
  if (!is_watched(fd, path)) return real(fd, len);
  pthread_mutex_lock(&lock);
  int result = fails(WRITE) ? -1 : real(fd, len);
  if (result == 0) note(J_TRUNCATE, NULL, NULL, inode_of(fd), (uint64_t) len, NULL, 0, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

/** The disk has what was written before it began, once it has ended. */
static int sync_watched(int fd, char *path) {
  int isFolder = is_folder(fd);
  pthread_mutex_lock(&lock);
  int result = fails(SYNC) ? -1 : 0, error = errno;
  uint64_t number = ++syncs;
  uint64_t file = isFolder ? 0 : inode_of(fd);
  if (result == 0) note(J_SYNC_BEGIN, isFolder ? path : NULL, NULL, file, number, NULL, 0, 0);
  pthread_mutex_unlock(&lock);
  unsigned longest = strstr(path, ".ldb") != NULL || random() % 16 == 0 ? 20 * sync_us : sync_us; // tables are long
  if (longest > 0) usleep((unsigned) random() % longest);
  pthread_mutex_lock(&lock);
  if (result == 0) note(J_SYNC_END, NULL, NULL, file, number, NULL, 0, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

int fsync(int fd) {
  REAL(int, "fsync", int);
  char path[MAX_PATH];
  return is_watched(fd, path) ? sync_watched(fd, path) : real(fd);
}

int fdatasync(int fd) {
  REAL(int, "fdatasync", int);
  char path[MAX_PATH];
  return is_watched(fd, path) ? sync_watched(fd, path) : real(fd);
}

/** Opens a file, and notes when that makes it or empties it. */
static int open_any(const char *path, int flags, mode_t mode) {
  int isBelow = is_below(path), isMarks = marks[0] != 0 && strcmp(path, marks) == 0;
  pthread_mutex_lock(&lock);
  int isNew = isBelow && (flags & O_CREAT) && !is_there(path);
  int fd = isNew && fails(CREATE) ? -1 : real_open(path, flags, mode);
  if (fd >= 0 && fd < MAX_FD) opened[fd] = isMarks ? 2 : isBelow;
  if (fd >= 0 && isNew) note(J_CREATE, path, NULL, inode_of(fd), 0, NULL, 0, 0);
  else if (fd >= 0 && isBelow && (flags & O_TRUNC)) note(J_TRUNCATE, NULL, NULL, inode_of(fd), 0, NULL, 0, 0);
  pthread_mutex_unlock(&lock);
  return fd;
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_any(path, flags, mode);
}

/** Calls that give something a name, or take it away. */
#define NAMED(result, kind, journaled, path, other, call) \
  pthread_mutex_lock(&lock); \
  int result = fails(kind) ? -1 : call; \
  if (result == 0) note(journaled, path, other, 0, 0, NULL, 0, 0); \
  pthread_mutex_unlock(&lock)

int rename(const char *from, const char *to) {
  REAL(int, "rename", const char *, const char *);
  if (!is_below(from) || !is_below(to)) return real(from, to);
  NAMED(result, NAME, J_RENAME, from, to, real(from, to));
  return result;
}

int unlink(const char *path) {
  REAL(int, "unlink", const char *);
  if (!is_below(path)) return real(path);
  NAMED(result, NAME, J_UNLINK, path, NULL, real(path));
  return result;
}

int rmdir(const char *path) {
  REAL(int, "rmdir", const char *);
  if (!is_below(path)) return real(path);
  NAMED(result, NAME, J_RMDIR, path, NULL, real(path));
  return result;
}

int mkdir(const char *path, mode_t mode) {
  REAL(int, "mkdir", const char *, mode_t);
  if (!is_below(path) || is_there(path)) return real(path, mode);
  NAMED(result, CREATE, J_MKDIR, path, NULL, real(path, mode));
  return result;
}

static ssize_t stream_write(void *cookie, const char *bytes, size_t len) {
  size_t done = 0;
  while (done < len) {
    struct iovec part = { (void *) (bytes + done), len - done };
    ssize_t written = write_watched((int) (intptr_t) cookie, &part, 1, -1);
    if (written < 0) break;
    done += (size_t) written;
  }
  return (ssize_t) done;
}

static int stream_close(void *cookie) {
  int fd = (int) (intptr_t) cookie;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MAX_STREAMS; i++) if (streams[i].stream != NULL && streams[i].fd == fd) streams[i].stream = NULL;
  pthread_mutex_unlock(&lock);
  return close(fd);
}

FILE *fopen64(const char *path, const char *mode) {
  REAL(FILE *, "fopen64", const char *, const char *);
  if (!is_below(path) || mode[0] == 'r') return real(path, mode);
  int fd = open_any(path, O_WRONLY | O_CREAT | (mode[0] == 'a' ? O_APPEND : O_TRUNC), 0666);
  if (fd < 0) return NULL;
  cookie_io_functions_t functions = { NULL, stream_write, NULL, stream_close };
  FILE *stream = fopencookie((void *) (intptr_t) fd, mode[0] == 'a' ? "a" : "w", functions);
  setvbuf(stream, NULL, _IOFBF, 4096); // as a stream of a file has it
  pthread_mutex_lock(&lock);
  int i = 0;
  while (i < MAX_STREAMS && streams[i].stream != NULL) i++;
  if (i == MAX_STREAMS) abort();
  streams[i].stream = stream;
  streams[i].fd = fd;
  pthread_mutex_unlock(&lock);
  return stream;
}

int fileno(FILE *stream) {
  REAL(int, "fileno", FILE *);
  int fd = -1;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MAX_STREAMS; i++) if (streams[i].stream == stream) fd = streams[i].fd;
  pthread_mutex_unlock(&lock);
  return fd >= 0 ? fd : real(stream);
}

// The same calls where the C library has one name for files of any length, and another.
int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_any(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode) { return fopen64(path, mode); }

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at) { return pwrite64(fd, bytes, len, at); }

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { return pwritev64(fd, parts, count, at); }

int ftruncate(int fd, off_t len) { return ftruncate64(fd, len); }
