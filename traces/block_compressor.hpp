#pragma once

/// @file
/// Deflates blocks of text on worker threads, so that writing a timeline does not wait for gzip.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lockstep {

/// A piece of one file: `dictionary` bytes that came before it, then `size` bytes of its own.
struct TextBlock {
  std::unique_ptr<char[]> memory;
  std::size_t capacity = 0;    ///< of memory
  std::size_t dictionary = 0;  ///< at most 32 KiB, deflate's window
  std::size_t size = 0;
  bool last = false;
};

/// A block after deflate: a run of raw deflate blocks that ends on a byte boundary.
struct DeflatedBlock {
  std::vector<unsigned char> bytes;
  std::uint32_t crc = 0;  ///< of the uncompressed text
  std::size_t text_size = 0;
};

/// Receives the blocks of one file. Called from worker threads, in any order.
class DeflatedBlockSink {
 public:
  virtual ~DeflatedBlockSink() = default;
  virtual void accept(std::uint64_t sequence, DeflatedBlock block) noexcept = 0;
};

/// A pool of threads with a bounded queue. When the queue is full the submitting thread deflates the oldest
/// block itself: memory stays bounded, and no core idles.
class BlockCompressor {
 public:
  /// @param level zlib's, 1 (fast) to 9 (small)
  /// @param threads >= 0; with 0 the submitting thread does all the work
  /// @throws std::invalid_argument for a level or a number of threads outside these
  BlockCompressor(int level, int threads);
  ~BlockCompressor();
  BlockCompressor(const BlockCompressor&) = delete;
  BlockCompressor& operator=(const BlockCompressor&) = delete;

  /// Memory for a block: that of one which is done, where there is one.
  [[nodiscard]] TextBlock new_block(std::size_t capacity);

  /// @p sink must live until it has accepted the block.
  void submit(DeflatedBlockSink& sink, std::uint64_t sequence, TextBlock block);

 private:
  class Deflater;
  struct Task {
    DeflatedBlockSink* sink = nullptr;
    std::uint64_t sequence = 0;
    TextBlock block;
  };

  void work();
  void run(Task task, Deflater& deflater);

  int level_;
  std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Task> queue_;
  std::vector<TextBlock> spare_;  ///< memory to use again
  bool closing_ = false;
  std::unique_ptr<Deflater> own_;
  std::vector<std::thread> workers_;
};

}  // namespace lockstep
