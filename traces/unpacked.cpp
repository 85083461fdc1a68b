#include "traces/unpacked.hpp"

#include <zlib.h>

#include <array>
#include <string_view>

#include "base/error.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kMagic = "\x1F\x8B";
constexpr int kGzipWindow = 15 + 16;  // the largest, and a gzip header (zlib.h, inflateInit2)

}  // namespace

std::string unpacked(std::string bytes, const std::string& file_name) {
  if (!bytes.starts_with(kMagic)) {
    return bytes;
  }
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
    throw InputError{{file_name}, "no memory to unpack it"};
  }
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());  // NOLINT: zlib's bytes
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::array<char, 1U << 16U> block{};
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());  // NOLINT: zlib's bytes
    stream.avail_out = block.size();
    result = inflate(&stream, Z_NO_FLUSH);
    text.append(block.data(), block.size() - stream.avail_out);
    if (result == Z_STREAM_END && stream.avail_in > 0) {
      result = inflateReset(&stream);  // gzip files may be strung together
    }
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END) {
    throw InputError{{file_name}, "a gzip file that is cut off or broken"};
  }
  return text;
}

}  // namespace lockstep
