#pragma once

/// @file
/// A gzip file that is written as it goes and appears under its name only when it is whole.

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string_view>

#include "base/file.hpp"
#include "traces/block_compressor.hpp"

namespace lockstep {

/// Text goes to an AtomicFile in blocks that a BlockCompressor deflates; complete() ends it, publish() gives
/// it its name. Destroyed unpublished, it leaves nothing behind. The bytes depend on the text and the block
/// size only, not on the number of threads.
class GzipFile final : private DeflatedBlockSink {
 public:
  /// @param block_size bytes of text that are deflated at a time, >= 1
  /// @throws InputError when the file cannot be created
  GzipFile(std::filesystem::path path, BlockCompressor& compressor, std::size_t block_size);
  ~GzipFile() override;
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  /// Memory for the next @p size bytes at least; valid until commit().
  char* reserve(std::size_t size);

  /// Takes the bytes that were written since reserve(); they end at @p end.
  void commit(const char* end);

  void append(std::string_view text);

  /// Everything on disk, not yet under its name. @throws InputError when the disk did not take it all
  void complete();

  /// The completed file under its own name. @throws InputError when it cannot be renamed
  void publish();

  /// Bytes of text so far.
  [[nodiscard]] std::uint64_t text_size() const { return submitted_text_ + used_; }

 private:
  void accept(std::uint64_t sequence, DeflatedBlock block) noexcept override;
  void store(std::string_view bytes) noexcept;
  void submit(bool last);
  void begin_block(std::size_t dictionary);
  void wait_for_compressor();

  AtomicFile file_;
  BlockCompressor& compressor_;
  std::size_t block_size_;

  TextBlock block_;
  std::size_t used_ = 0;
  std::uint64_t submitted_text_ = 0;
  std::uint64_t submitted_ = 0;  ///< blocks

  std::mutex mutex_;
  std::condition_variable written_some_;
  std::uint64_t written_ = 0;                       ///< blocks
  std::map<std::uint64_t, DeflatedBlock> waiting_;  ///< deflated before an earlier one was
  std::uint32_t crc_ = 0;
};

}  // namespace lockstep
