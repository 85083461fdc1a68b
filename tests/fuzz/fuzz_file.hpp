#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace lockstep::testing {

/// Bytes as a file that readers can open by name; in memory, gone at the end.
class FuzzFile {
 public:
  FuzzFile(const std::uint8_t* bytes, std::size_t size) : handle_{memfd_create("lockstep-fuzz", 0)} {
    for (std::size_t written = 0; written < size;) {
      const ssize_t more = write(handle_, bytes + written, size - written);
      if (more <= 0) {
        break;
      }
      written += static_cast<std::size_t>(more);
    }
  }
  FuzzFile(const FuzzFile&) = delete;
  FuzzFile& operator=(const FuzzFile&) = delete;
  ~FuzzFile() { close(handle_); }

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(handle_); }

 private:
  int handle_;
};

}  // namespace lockstep::testing
