#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep {

/// The one reader of gzip: what files hold, a block at a time. Plain bytes pass as they are. Gzip files may
/// be strung together (RFC 1952, 2.2), and zeros may follow, as tapes add them.
class GzipUnpacker {
 public:
  /// The next bytes as they are stored, valid until the next call; empty at the end.
  using Source = std::function<std::string_view()>;

  /// @param file_name for messages; of a name that ends in .gz less than a gzip file is broken
  GzipUnpacker(Source source, std::string file_name);
  ~GzipUnpacker();
  GzipUnpacker(const GzipUnpacker&) = delete;
  GzipUnpacker& operator=(const GzipUnpacker&) = delete;

  /// The next bytes, valid until the next call; empty when the last member is over, and whole: its length and
  /// checksum agree. @throws InputError for a gzip file that is cut off or broken
  [[nodiscard]] std::string_view next();

  /// Reads what remains. Who finds the contents wrong calls it first: they may be wrong only because the file
  /// is cut off. @throws InputError for a gzip file that is cut off or broken
  void expect_whole();

 private:
  struct Stream;
  enum class State : unsigned char { Start, Plain, Packed, BetweenMembers, Done };

  void start();
  [[nodiscard]] bool refill();
  [[nodiscard]] std::string_view plain();
  [[nodiscard]] std::string_view packed();
  void inflate_more();
  void end_member();
  [[noreturn]] void reject() const;

  Source source_;
  std::string file_name_;
  std::unique_ptr<Stream> stream_;
  std::string begin_;       // of the file: a source may give a byte at a time
  std::string_view input_;  // that is not used yet
  State state_ = State::Start;
};

}  // namespace lockstep
