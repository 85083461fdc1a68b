#include "traces/unpacked_blocks.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16U;

}  // namespace

UnpackedBlocks::UnpackedBlocks(std::string file_name)
    : file_name_{std::move(file_name)}, block_(kBlock), unpacker_{[this] { return stored(); }, file_name_} {
  if (std::filesystem::is_directory(file_name_)) {
    throw InputError{{file_name_}, "a folder, where a file is expected"};
  }
  file_.reset(std::fopen(file_name_.c_str(), "rbe"));
  if (!file_) {
    throw InputError{{file_name_}, std::string{"cannot be read: "} + std::strerror(errno)};
  }
  remember_input(file_name_);
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // blocks are read whole
}

std::string_view UnpackedBlocks::stored() {
  const std::size_t count = std::fread(block_.data(), 1, block_.size(), file_.get());
  if (count == 0 && std::ferror(file_.get()) != 0) {
    throw InputError{{file_name_}, std::string{"cannot be read: "} + std::strerror(errno)};
  }
  return {block_.data(), count};
}

void for_each_block(const std::string& file_name, const std::function<void(std::string_view)>& take) {
  UnpackedBlocks blocks{file_name};
  try {
    for (std::string_view block = blocks.next(); !block.empty(); block = blocks.next()) {
      take(block);
    }
  } catch (const InputError&) {
    blocks.expect_whole();
    throw;
  }
}

}  // namespace lockstep
