#include "traces/unpacked.hpp"

#include <string_view>
#include <utility>

#include "traces/gzip_unpacker.hpp"

namespace lockstep {

std::string unpacked(const std::string& bytes, const std::string& file_name) {
  GzipUnpacker unpacker{[rest = std::string_view{bytes}]() mutable { return std::exchange(rest, {}); },
                        file_name};
  std::string text;
  for (std::string_view block = unpacker.next(); !block.empty(); block = unpacker.next()) {
    text.append(block);
  }
  return text;
}

}  // namespace lockstep
