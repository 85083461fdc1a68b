#include "traces/gzip_unpacker.hpp"

#include <zlib.h>

#include <utility>
#include <vector>

#include "base/error.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kMagic = "\x1F\x8B";
constexpr int kGzipWindow = 15 + 16;       // the largest, and a gzip header (zlib.h, inflateInit2)
constexpr std::size_t kSmallestFile = 18;  // header and trailer (RFC 1952, 2.3)
constexpr std::size_t kBlock = 1U << 16U;

}  // namespace

struct GzipUnpacker::Stream {
  Stream() : block(kBlock) { is_ready = inflateInit2(&zlib, kGzipWindow) == Z_OK; }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (is_ready) {
      inflateEnd(&zlib);
    }
  }
  z_stream zlib{};
  std::vector<char> block;
  std::size_t filled = 0;
  bool is_ready = false;
};

GzipUnpacker::GzipUnpacker(Source source, std::string file_name)
    : source_{std::move(source)}, file_name_{std::move(file_name)} {}

GzipUnpacker::~GzipUnpacker() = default;

void GzipUnpacker::reject() const {
  throw InputError{{file_name_}, "a gzip file that is cut off or broken"};
}

bool GzipUnpacker::refill() {
  input_ = source_();
  return !input_.empty();
}

/// Looks at the first bytes: are they a gzip file's?
void GzipUnpacker::start() {
  while (begin_.size() < kSmallestFile && refill()) {
    begin_.append(input_);
  }
  input_ = begin_;
  if (begin_.starts_with(kMagic)) {
    state_ = State::Packed;
    stream_ = std::make_unique<Stream>();
    if (!stream_->is_ready) {
      throw InputError{{file_name_}, "no memory to unpack it"};
    }
    return;
  }
  const bool has_half = begin_.size() > 1 && (begin_[0] == kMagic[0] || begin_[1] == kMagic[1]);
  if (file_name_.ends_with(".gz") && (begin_.size() < kMagic.size() || has_half)) {
    reject();
  }
  state_ = State::Plain;
}

std::string_view GzipUnpacker::plain() {
  if (input_.empty() && !refill()) {
    state_ = State::Done;
  }
  return std::exchange(input_, {});
}

void GzipUnpacker::inflate_more() {
  z_stream& zlib = stream_->zlib;
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input_.data()));  // NOLINT: zlib only reads them
  zlib.avail_in = static_cast<uInt>(input_.size());
  zlib.next_out = reinterpret_cast<Bytef*>(stream_->block.data());  // NOLINT: zlib's bytes
  zlib.avail_out = static_cast<uInt>(stream_->block.size());
  const int result = inflate(&zlib, Z_NO_FLUSH);
  input_.remove_prefix(input_.size() - zlib.avail_in);
  stream_->filled = stream_->block.size() - zlib.avail_out;
  if (result == Z_STREAM_END) {
    state_ = State::BetweenMembers;
  } else if (result != Z_OK && result != Z_BUF_ERROR) {  // no progress: it wants more
    reject();
  }
}

/// Another member, zeros, or the end.
void GzipUnpacker::end_member() {
  if (input_.empty() && !refill()) {
    state_ = State::Done;
    return;
  }
  if (input_.front() != '\0') {
    inflateReset(&stream_->zlib);
    state_ = State::Packed;
    return;
  }
  const std::size_t other = input_.find_first_not_of('\0');
  if (other != std::string_view::npos) {
    reject();
  }
  input_ = {};
}

std::string_view GzipUnpacker::packed() {
  while (state_ != State::Done) {
    if (state_ == State::BetweenMembers) {
      end_member();
      continue;
    }
    if (input_.empty() && !refill()) {
      reject();
    }
    inflate_more();
    if (stream_->filled > 0) {
      return {stream_->block.data(), stream_->filled};
    }
  }
  return {};
}

std::string_view GzipUnpacker::next() {
  if (state_ == State::Start) {
    start();
  }
  switch (state_) {
    case State::Plain:
      return plain();
    case State::Done:
      return {};
    default:
      return packed();
  }
}

void GzipUnpacker::expect_whole() {
  while (state_ != State::Plain && !next().empty()) {
  }
}

}  // namespace lockstep
