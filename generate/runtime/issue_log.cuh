#pragma once

#include <fstream>
#include <mutex>
#include <string>

#include "generate/runtime/table.hpp"

namespace benchmark {

/// Log of the operations that all threads issue in the first step, one line each.
class IssueLog {
 public:
  explicit IssueLog(const std::string& file) {
    if (!file.empty()) {
      stream_.open(file);
    }
  }
  [[nodiscard]] bool is_open() const { return stream_.is_open(); }
  void write(std::size_t thread, const Instruction& i, std::uint32_t operand) {
    const std::lock_guard lock{mutex_};
    stream_ << thread << ' ' << opcode_names()[static_cast<std::size_t>(i.op)] << ' ' << int{i.stream} << ' '
            << operand << '\n';
  }

 private:
  std::mutex mutex_;
  std::ofstream stream_;
};

}  // namespace benchmark
