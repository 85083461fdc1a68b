#include "traces/chakra/record_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <system_error>

#include "base/error.hpp"
#include "base/file.hpp"
#include "traces/unpacked_blocks.hpp"

namespace lockstep::chakra {
namespace {

constexpr std::size_t kPiece = 1U << 16U;              // bytes that the buffer begins with
constexpr std::size_t kLongestLength = 10;             // bytes of a 64-bit varint
constexpr std::uint64_t kLongestRecord = 1ULL << 31U;  // protobuf's own limit, 2 GiB

}  // namespace

RecordReader::RecordReader(std::filesystem::path path) : path_{std::move(path)}, buffer_(kPiece, '\0') {
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored)) {
    throw InputError{{path_.string()}, "the trace cannot be read: no such file" + sibling_meant(path_)};
  }
  blocks_ = std::make_unique<UnpackedBlocks>(path_.string());
}

RecordReader::~RecordReader() = default;

void RecordReader::expect_whole() {
  blocks_->expect_whole();
}

void RecordReader::reject(const std::string& why) const {
  blocks_->expect_whole();
  throw InputError{{path_.string()}, fmt::format("byte {}: {}", record_offset_, why)};
}

/// Brings @p wanted bytes into the buffer. False: the file has fewer.
bool RecordReader::fill(std::size_t wanted) {
  if (buffered() >= wanted) {
    return true;
  }
  std::memmove(buffer_.data(), buffer_.data() + used_, buffered());
  filled_ -= used_;
  consumed_ += used_;
  used_ = 0;
  while (filled_ < wanted) {
    const std::string_view block = blocks_->next();
    if (block.empty()) {
      return false;
    }
    if (buffer_.size() < filled_ + block.size()) {
      buffer_.resize(filled_ + block.size());  // a record's claim to be long is believed only as it comes
    }
    std::memcpy(buffer_.data() + filled_, block.data(), block.size());
    filled_ += block.size();
  }
  return true;
}

/// The length in front of a record. False: nothing more comes.
bool RecordReader::length(std::uint64_t& size) {
  size = 0;
  for (std::size_t i = 0; i < kLongestLength; ++i) {
    if (used_ == filled_ && !fill(1)) {
      if (i == 0) {
        return false;
      }
      reject("the file ends within the length of a record: it is cut off");
    }
    const auto byte = static_cast<unsigned char>(buffer_[used_++]);
    size |= std::uint64_t{byte & 0x7fU} << (7 * i);
    if ((byte & 0x80U) == 0) {
      return true;
    }
  }
  reject("no Chakra execution trace: a record's length has more than 64 bits");
}

bool RecordReader::next(std::string_view& record) {
  record_offset_ = consumed_ + used_;
  std::uint64_t size = 0;
  if (!length(size)) {
    return false;
  }
  if (size > kLongestRecord) {
    reject(fmt::format("no Chakra execution trace: a record would have {} bytes", size));
  }
  const auto wanted = static_cast<std::size_t>(size);
  if (!fill(wanted)) {
    reject(
        fmt::format("the file ends after {} of the {} bytes of a record: it is cut off, or no Chakra "
                    "execution trace",
                    buffered(), size));
  }
  record = {buffer_.data() + used_, wanted};
  used_ += wanted;
  return true;
}

}  // namespace lockstep::chakra
