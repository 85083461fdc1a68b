/// @file
/// Preloaded into a program under test (LD_PRELOAD): kills it, as by SIGKILL, before the n-th system call
/// that changes files. LOCKSTEP_KILL_AT is n, from 1; 0 or nothing kills never. With LOCKSTEP_KILL_COUNT the
/// number of these calls goes to that file when the process ends by itself.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

long number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
}

const long kill_at = number_in("LOCKSTEP_KILL_AT");
const pid_t process = getpid();  // children are other programs' points
std::atomic<long> calls = 0;

void count() {
  if (getpid() == process && ++calls == kill_at) {
    kill(process, SIGKILL);
  }
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

struct Report {
  ~Report() {
    if (const char* const file = std::getenv("LOCKSTEP_KILL_COUNT"); file != nullptr && getpid() == process) {
      if (std::FILE* const out = std::fopen(file, "w"); out != nullptr) {
        std::fprintf(out, "%ld\n", calls.load());
        std::fclose(out);
      }
    }
  }
} report;

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(arguments, unsigned)) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static auto* const real = next<int(const char*, int, ...)>("open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  if ((flags & (O_CREAT | O_TRUNC)) != 0) {
    count();
  }
  return real(path, flags, mode);
}

ssize_t write(int handle, const void* bytes, size_t size) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  if (handle > STDERR_FILENO) {
    count();
  }
  return real(handle, bytes, size);
}

int fsync(int handle) {
  static auto* const real = next<int(int)>("fsync");
  count();
  return real(handle);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const real = next<int(const char*, const char*)>("rename");
  count();
  return real(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  static auto* const real = next<int(int, const char*, int, const char*, unsigned)>("renameat2");
  count();
  return real(from_folder, from, to_folder, to, flags);
}

int unlink(const char* path) noexcept {
  static auto* const real = next<int(const char*)>("unlink");
  count();
  return real(path);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  static auto* const real = next<int(int, const char*, int)>("unlinkat");
  count();
  return real(folder, path, flags);
}

int remove(const char* path) noexcept {
  static auto* const real = next<int(const char*)>("remove");
  count();
  return real(path);
}

int rmdir(const char* path) noexcept {
  static auto* const real = next<int(const char*)>("rmdir");
  count();
  return real(path);
}

int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const real = next<int(const char*, mode_t)>("mkdir");
  count();
  return real(path, mode);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  static auto* const real = next<int(int, const char*, int, const char*, int)>("linkat");
  count();
  return real(from_folder, from, to_folder, to, flags);
}

}  // extern "C"
