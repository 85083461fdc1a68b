#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace lockstep {

/// The text of a gzip file, through the gzip program; empty when it cannot be read.
inline std::string gzip_text(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe{
      ::popen(("gzip -dc '" + path + "' 2>/dev/null").c_str(), "r"), &::pclose};
  std::string text;
  std::array<char, 65536> block{};
  while (pipe != nullptr) {
    const std::size_t read = std::fread(block.data(), 1, block.size(), pipe.get());
    if (read == 0) {
      break;
    }
    text.append(block.data(), read);
  }
  return text;
}

}  // namespace lockstep
