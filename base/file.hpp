#pragma once

#include <filesystem>
#include <fstream>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The whole content of a file.
/// @throws InputError when it cannot be read; for a missing file with the name that was probably meant
std::string read_whole_file(const std::filesystem::path& path);

/// Held shared by whoever begins, continues or puts in place a file; whoever ends the process takes it alone
/// and keeps it, so that no file appears behind its cleaning up.
std::shared_mutex& writing_of_files();

/// A file that appears under its name only when it is whole: written beside it and renamed by commit();
/// a failing run leaves nothing behind.
class AtomicFile {
 public:
  /// Makes the folders on the way. @throws InputError when it cannot be created
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Removes what was not committed.
  ~AtomicFile();

  void write(std::string_view text) { stream_ << text; }

  /// Where it is written until then: for writers that open files themselves, between construction and
  /// commit().
  [[nodiscard]] const std::filesystem::path& temporary_path() const { return temporary_; }

  /// Ends the writing, before commit() where several files are to appear together.
  /// @throws InputError when not all could be written (a full disk)
  void finish();

  /// @throws InputError as finish()
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::ofstream stream_;
  bool committed_ = false;
};

/// @throws InputError where @p output is one of the files that are read, which writing it would destroy
void keep_inputs(const std::filesystem::path& output, const std::vector<std::filesystem::path>& inputs);

/// Before a long work whose result it is: @throws InputError where the file could not be written
void check_writable(const std::filesystem::path& path);

/// @p content as the whole file, atomically. @throws InputError
void write_whole_file(const std::filesystem::path& path, std::string_view content);

struct FileToWrite {
  std::filesystem::path path;
  std::string content;
};

/// Each atomically, and none where one of them cannot be written. @throws InputError
void write_whole_files(const std::vector<FileToWrite>& files);

/// ` - did you mean 'a.yaml'?` over the names beside a file that does not exist, "" where none is close.
std::string sibling_meant(const std::filesystem::path& missing);

}  // namespace lockstep
