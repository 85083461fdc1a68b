#include "traces/block_compressor.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <new>
#include <stdexcept>
#include <utility>

namespace lockstep {
namespace {

constexpr int kRawDeflate = -15;  // no header or trailer, 32 KiB window
constexpr int kMemoryLevel = 8;   // zlib's default; 9 measured no faster
constexpr std::size_t kQueuedPerWorker = 2;

}  // namespace

/// One thread's zlib state, used again for every block.
class BlockCompressor::Deflater {
 public:
  explicit Deflater(int level) {
    if (deflateInit2(&stream_, level, Z_DEFLATED, kRawDeflate, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc{};
    }
  }
  ~Deflater() { deflateEnd(&stream_); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  DeflatedBlock operator()(const TextBlock& block) {
    auto* const dictionary = reinterpret_cast<Bytef*>(block.memory.get());
    auto* const text = dictionary + block.dictionary;
    deflateReset(&stream_);
    if (block.dictionary > 0) {
      deflateSetDictionary(&stream_, dictionary, static_cast<uInt>(block.dictionary));
    }
    DeflatedBlock deflated;
    deflated.text_size = block.size;
    deflated.crc = static_cast<std::uint32_t>(crc32(0, text, static_cast<uInt>(block.size)));
    // A sync flush ends on a byte boundary with an empty stored block, 5 bytes and up to 7 bits.
    const std::size_t bound = deflateBound(&stream_, static_cast<uLong>(block.size)) + 16;
    if (output_.size() < bound) {
      output_.resize(bound);
    }
    stream_.next_in = text;
    stream_.avail_in = static_cast<uInt>(block.size);
    stream_.next_out = output_.data();
    stream_.avail_out = static_cast<uInt>(output_.size());
    deflate(&stream_, block.last ? Z_FINISH : Z_SYNC_FLUSH);
    deflated.bytes.assign(output_.data(), stream_.next_out);
    return deflated;
  }

 private:
  z_stream stream_{};
  std::vector<unsigned char> output_;
};

BlockCompressor::BlockCompressor(int level, int threads)
    : level_{level}, capacity_{kQueuedPerWorker * static_cast<std::size_t>(threads)} {
  if (level < 1 || level > 9 || threads < 0) {
    throw std::invalid_argument{
        fmt::format("compression level {} (1 to 9) with {} threads (0 or more)", level, threads)};
  }
  own_ = std::make_unique<Deflater>(level);
  workers_.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    workers_.emplace_back([this] { work(); });
  }
}

BlockCompressor::~BlockCompressor() {
  {
    const std::lock_guard lock{mutex_};
    closing_ = true;
  }
  arrived_.notify_all();
  for (std::thread& worker : workers_) {
    worker.join();
  }
}

TextBlock BlockCompressor::new_block(std::size_t capacity) {
  {
    const std::lock_guard lock{mutex_};
    if (!spare_.empty()) {
      TextBlock block = std::move(spare_.back());
      spare_.pop_back();
      if (block.capacity >= capacity) {
        return block;
      }
    }
  }
  return {std::make_unique_for_overwrite<char[]>(capacity), capacity, 0, 0, false};
}

void BlockCompressor::run(Task task, Deflater& deflater) {
  DeflatedBlock deflated = deflater(task.block);
  {
    const std::lock_guard lock{mutex_};
    if (spare_.size() <= capacity_) {
      spare_.push_back({std::move(task.block.memory), task.block.capacity, 0, 0, false});
    }
  }
  task.sink->accept(task.sequence, std::move(deflated));
}

void BlockCompressor::submit(DeflatedBlockSink& sink, std::uint64_t sequence, TextBlock block) {
  Task task{&sink, sequence, std::move(block)};
  {
    const std::lock_guard lock{mutex_};
    queue_.push_back(std::move(task));
    if (queue_.size() <= capacity_) {
      arrived_.notify_one();
      return;
    }
    task = std::move(queue_.front());
    queue_.pop_front();
  }
  run(std::move(task), *own_);
}

void BlockCompressor::work() {
  Deflater deflater{level_};
  for (;;) {
    Task task;
    {
      std::unique_lock lock{mutex_};
      arrived_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) {
        return;
      }
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    run(std::move(task), deflater);
  }
}

}  // namespace lockstep
