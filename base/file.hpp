#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The whole content of a file, which becomes an input of this process (remember_input()).
/// @throws InputError when it cannot be read; for a missing file with the name that was probably meant
std::string read_whole_file(const std::filesystem::path& path);

/// Reads as read_whole_file() does a file that this program writes itself and may write again: no input.
std::string read_own_file(const std::filesystem::path& path);

/// Notes that the process reads a file: nothing is written over it from then on. Readers that open files
/// themselves call it.
void remember_input(const std::filesystem::path& path);

/// @throws InputError where @p path is a file that has been read, by whatever name
void refuse_input(const std::filesystem::path& path);

/// Held shared by whoever begins, continues or puts in place a file; whoever ends the process takes it alone
/// and keeps it, so that no file appears behind its cleaning up.
std::shared_mutex& writing_of_files();

/// A file that appears under its name only when it is whole: written beside it, under a hidden name of this
/// process's own, then renamed by commit(). A failing run leaves nothing behind; what a killed one left is
/// removed by the next that writes this file on the same machine.
///
/// A link at the name is replaced, and what it points to stays. Devices and pipes are written as they are.
class AtomicFile {
 public:
  /// Makes the folders on the way.
  /// @throws InputError when it cannot be created, is an input of this process or a pipe that nobody reads
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Removes what was not committed.
  ~AtomicFile();

  /// Never throws: what cannot be written is told by finish().
  void write(std::string_view bytes) noexcept;

  /// Gives the handle back until the next write(): a file per rank may be more than a process can hold open.
  void pause() noexcept;

  /// Ends the writing: all is on disk. Before commit() where several files are to appear together.
  /// @throws InputError when not all could be written (a full disk)
  void finish();

  /// @throws InputError as finish()
  void commit();

 private:
  void create();
  void open_again() noexcept;
  void note_error() noexcept;

  std::filesystem::path path_;
  std::filesystem::path temporary_;  ///< path_ itself where that is a device or a pipe
  int handle_ = -1;
  int error_ = 0;  ///< errno of the first write that failed
  bool finished_ = false;
  bool committed_ = false;
};

/// Removes what this process has begun to write and not put in place, as the last thing that it does to
/// files: none is begun, continued or put in place from then on, what would waits for the end. Never throws.
void remove_unfinished_files() noexcept;

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

/// Makes sure that what was renamed in @p folder stays renamed when the power goes.
void sync_folder(const std::filesystem::path& folder) noexcept;

/// ` - did you mean 'a.yaml'?` over the names beside a file that does not exist, "" where none is close.
std::string sibling_meant(const std::filesystem::path& missing);

}  // namespace lockstep
