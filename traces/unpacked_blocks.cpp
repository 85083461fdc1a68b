#include "traces/unpacked_blocks.hpp"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16U;

template <class Close>
gzFile handle(const std::unique_ptr<void, Close>& file) {
  return static_cast<gzFile>(file.get());
}

}  // namespace

void UnpackedBlocks::Close::operator()(void* file) const {
  gzclose(static_cast<gzFile>(file));
}

UnpackedBlocks::UnpackedBlocks(std::string file_name) : file_name_{std::move(file_name)}, block_(kBlock) {
  if (std::filesystem::is_directory(file_name_)) {
    throw InputError{{file_name_}, "a folder, where a file is expected"};
  }
  file_.reset(gzopen(file_name_.c_str(), "rb"));
  if (!file_) {
    throw InputError{{file_name_}, std::string{"cannot be read: "} + std::strerror(errno)};
  }
  gzbuffer(handle(file_), kBlock);
}

std::string_view UnpackedBlocks::next() {
  const int count = gzread(handle(file_), block_.data(), static_cast<unsigned>(block_.size()));
  int status = Z_OK;
  gzerror(handle(file_), &status);
  if (count < 0 || (status != Z_OK && status != Z_STREAM_END)) {
    throw InputError{{file_name_}, "a gzip file that is cut off or broken"};
  }
  return {block_.data(), static_cast<std::size_t>(count)};
}

}  // namespace lockstep
