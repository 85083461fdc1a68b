#include "traces/gzip_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

namespace lockstep {
namespace {

constexpr std::size_t kWindow = 32768;

// Magic, deflate, no flags, no time (the same input gives the same bytes), fastest, unknown system: RFC 1952.
constexpr std::array<unsigned char, 10> kHeader{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255};

std::string_view text_of(std::span<const unsigned char> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

GzipFile::GzipFile(std::filesystem::path path, BlockCompressor& compressor, std::size_t block_size)
    : file_{std::move(path)}, compressor_{compressor}, block_size_{std::max<std::size_t>(block_size, 1)} {
  store(text_of(kHeader));
  begin_block(0);
}

GzipFile::~GzipFile() {
  wait_for_compressor();
}

char* GzipFile::reserve(std::size_t size) {
  const std::size_t filled = block_.dictionary + used_;
  if (filled + size > block_.capacity) {  // a piece longer than the slack
    TextBlock larger = compressor_.new_block(filled + size);
    std::memcpy(larger.memory.get(), block_.memory.get(), filled);
    larger.dictionary = block_.dictionary;
    block_ = std::move(larger);
  }
  return block_.memory.get() + filled;
}

void GzipFile::commit(const char* end) {
  used_ = static_cast<std::size_t>(end - block_.memory.get()) - block_.dictionary;
  if (used_ >= block_size_) {
    submit(false);
  }
}

void GzipFile::append(std::string_view text) {
  char* const at = reserve(text.size());
  std::memcpy(at, text.data(), text.size());
  commit(at + text.size());
}

void GzipFile::submit(bool last) {
  TextBlock full = std::move(block_);
  full.size = used_;
  full.last = last;
  if (!last) {
    // The next block continues deflate's window with the end of this one.
    const char* const end = full.memory.get() + full.dictionary + used_;
    begin_block(std::min({kWindow, block_size_, full.dictionary + used_}));
    std::memcpy(block_.memory.get(), end - block_.dictionary, block_.dictionary);
  }
  submitted_text_ += full.size;
  used_ = 0;
  compressor_.submit(*this, submitted_++, std::move(full));
}

void GzipFile::begin_block(std::size_t dictionary) {
  constexpr std::size_t kSlack = 4096;  // room for the event that ends a block
  block_ = compressor_.new_block(std::min(kWindow, block_size_) + block_size_ + kSlack);
  block_.dictionary = dictionary;
}

void GzipFile::accept(std::uint64_t sequence, DeflatedBlock block) noexcept {
  const std::lock_guard lock{mutex_};
  waiting_.emplace(sequence, std::move(block));
  for (auto next = waiting_.begin(); next != waiting_.end() && next->first == written_;
       next = waiting_.erase(next)) {
    const DeflatedBlock& done = next->second;
    store(text_of(done.bytes));
    crc_ = static_cast<std::uint32_t>(crc32_combine(crc_, done.crc, static_cast<z_off_t>(done.text_size)));
    ++written_;
  }
  written_some_.notify_all();
}

void GzipFile::store(std::string_view bytes) noexcept {
  file_.write(bytes);
  file_.pause();  // a file per rank may be more files than a process may hold open
}

void GzipFile::wait_for_compressor() {
  std::unique_lock lock{mutex_};
  written_some_.wait(lock, [this] { return written_ == submitted_; });
}

void GzipFile::complete() {
  submit(true);
  wait_for_compressor();
  std::array<unsigned char, 8> trailer{};
  for (unsigned i = 0; i < 4; ++i) {
    trailer[i] = static_cast<unsigned char>(crc_ >> (8 * i));
    trailer[4 + i] = static_cast<unsigned char>(submitted_text_ >> (8 * i));  // modulo 2^32
  }
  store(text_of(trailer));
  file_.finish();
}

void GzipFile::publish() {
  file_.commit();
}

}  // namespace lockstep
