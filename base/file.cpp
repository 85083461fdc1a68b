#include "base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/suggest.hpp"

namespace lockstep {
namespace fs = std::filesystem;

std::string sibling_meant(const fs::path& missing) {
  std::error_code ignored;
  const fs::path folder = missing.has_parent_path() ? missing.parent_path() : fs::path{"."};
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator{folder, ignored}) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());  // the order of a folder is not the same on every machine
  const std::string closest = closest_word(missing.filename().string(), names);
  return closest.empty() ? "" : " - did you mean '" + closest + "'?";
}

std::string read_own_file(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw InputError{{path.string()}, "no such file" + sibling_meant(path)};
  }
  if (fs::is_directory(path, ignored)) {
    throw InputError{{path.string()}, "is a folder; a file is expected"};
  }
  if (fs::is_character_file(path, ignored) || fs::is_block_file(path, ignored)) {
    throw InputError{{path.string()}, "is a device; a file is expected"};
  }
  std::ifstream file{path, std::ios::binary};
  std::error_code unsized;  // a pipe has no size
  const std::uintmax_t size = fs::file_size(path, unsized);
  std::string content(unsized ? 0 : size, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(file.gcount()));
  content.append(std::istreambuf_iterator<char>{file}, {});  // without a size, or grown since
  if (!file.good() && !file.eof()) {
    throw InputError{{path.string()}, std::string{"cannot be read: "} + std::strerror(errno)};
  }
  return content;
}

std::string read_whole_file(const fs::path& path) {
  std::string content = read_own_file(path);
  remember_input(path);
  return content;
}

namespace {

/// Files by device and number, which all names of a file share.
struct KnownFiles {
  std::mutex mutex;
  std::set<std::pair<dev_t, ino_t>> inputs;
  std::set<fs::path> unfinished;  ///< temporary names
};

KnownFiles& known_files() {
  static KnownFiles files;
  return files;
}

std::optional<std::pair<dev_t, ino_t>> identity_of(const fs::path& path) {
  struct stat status {};
  const bool is_file = stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return is_file ? std::optional{std::pair{status.st_dev, status.st_ino}} : std::nullopt;
}

}  // namespace

void remember_input(const fs::path& path) {
  if (const auto identity = identity_of(path)) {
    const std::lock_guard lock{known_files().mutex};
    known_files().inputs.insert(*identity);
  }
}

void refuse_input(const fs::path& path) {
  const auto identity = identity_of(path);
  const std::lock_guard lock{known_files().mutex};
  if (identity && known_files().inputs.contains(*identity)) {
    throw InputError{{path.string()}, "would be written over what is read: say another file"};
  }
}

std::shared_mutex& writing_of_files() {
  static std::shared_mutex mutex;
  return mutex;
}

namespace {

std::string machine() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// `.NAME.MACHINE.PROCESS-`: how temporary files of a process begin.
std::string temporary_prefix(const std::string& name, const std::string& process) {
  return fmt::format(".{}.{}.{}-", name, machine(), process);
}

constexpr std::string_view kTemporary = ".part";

/// Temporary files of @p path whose processes are dead.
void remove_left_overs(const fs::path& path) {
  const std::string prefix = temporary_prefix(path.filename().string(), "");
  const std::string begin = prefix.substr(0, prefix.size() - 1);
  std::vector<fs::path> left;
  std::error_code ignored;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path{"."};
  for (const auto& entry : fs::directory_iterator{folder, ignored}) {
    const std::string name = entry.path().filename().string();
    int process = 0;
    if (name.starts_with(begin) && name.ends_with(kTemporary) &&
        std::from_chars(name.data() + begin.size(), name.data() + name.size(), process).ec == std::errc{} &&
        kill(process, 0) != 0 && errno == ESRCH) {
      left.push_back(entry.path());
    }
  }
  for (const fs::path& file : left) {
    fs::remove(file, ignored);
  }
}

/// A number that nobody can guess: temporary names are not to be foreseen by others who may write the folder.
std::uint64_t unguessable() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    number = std::random_device{}();
  }
  return number;
}

InputError unwritten(const fs::path& path, const char* what, int error) {
  return InputError{{path.string()}, fmt::format("{}: {}", what, std::strerror(error))};
}

}  // namespace

AtomicFile::AtomicFile(fs::path path) : path_{std::move(path)} {
  const std::shared_lock writing{writing_of_files()};
  std::error_code problem;
  if (path_.has_parent_path()) {
    fs::create_directories(path_.parent_path(), problem);
  }
  if (fs::is_directory(path_, problem)) {
    throw InputError{{path_.string()}, "is a folder; a file is to be written"};
  }
  refuse_input(path_);
  create();
}

void AtomicFile::create() {
  std::error_code problem;
  const fs::file_status status = fs::status(path_, problem);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    temporary_ = path_;
    handle_ = open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (handle_ < 0) {
      throw errno == ENXIO
          ? InputError{{path_.string()}, "is a pipe that nobody reads; a file is to be written"}
          : unwritten(path_, "cannot be written", errno);
    }
    fcntl(handle_, F_SETFL, fcntl(handle_, F_GETFL) & ~O_NONBLOCK);
    return;
  }
  remove_left_overs(path_);
  const std::string prefix = temporary_prefix(path_.filename().string(), std::to_string(getpid()));
  temporary_ = path_.parent_path() / fmt::format("{}{:016x}{}", prefix, unguessable(), kTemporary);
  handle_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (handle_ < 0) {
    throw unwritten(path_, "cannot be written", errno);
  }
  const std::lock_guard lock{known_files().mutex};
  known_files().unfinished.insert(temporary_);
}

AtomicFile::~AtomicFile() {
  pause();
  if (!committed_ && temporary_ != path_) {
    std::error_code ignored;
    fs::remove(temporary_, ignored);
    const std::lock_guard lock{known_files().mutex};
    known_files().unfinished.erase(temporary_);
  }
}

void AtomicFile::note_error() noexcept {
  error_ = error_ != 0 ? error_ : errno;
}

void AtomicFile::open_again() noexcept {
  handle_ = open(temporary_.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  if (handle_ < 0) {
    note_error();
  }
}

void AtomicFile::write(std::string_view bytes) noexcept {
  const std::shared_lock writing{writing_of_files()};
  if (handle_ < 0 && error_ == 0) {
    open_again();
  }
  while (!bytes.empty() && error_ == 0) {
    const ssize_t written = ::write(handle_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      note_error();
    }
  }
}

void AtomicFile::pause() noexcept {
  if (handle_ >= 0 && close(handle_) != 0) {
    note_error();
  }
  handle_ = -1;
}

void AtomicFile::finish() {
  if (!finished_ && error_ == 0 && handle_ < 0) {
    open_again();
  }
  if (!finished_ && error_ == 0 && temporary_ != path_ && fsync(handle_) != 0) {
    note_error();
  }
  pause();
  if (error_ != 0) {
    throw unwritten(path_, "could not be written whole", error_);
  }
  finished_ = true;
}

void AtomicFile::commit() {
  finish();
  std::error_code problem;
  if (temporary_ != path_) {
    const std::shared_lock writing{writing_of_files()};
    fs::rename(temporary_, path_, problem);
    sync_folder(path_.parent_path());
  }
  if (problem) {
    throw InputError{{path_.string()}, "could not be written whole: " + problem.message()};
  }
  committed_ = true;
  const std::lock_guard lock{known_files().mutex};
  known_files().unfinished.erase(temporary_);
}

void remove_unfinished_files() noexcept {
  // For good; not for ever where this thread is one that writes.
  for (int attempt = 0; attempt < 200 && !writing_of_files().try_lock(); ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  const std::lock_guard lock{known_files().mutex};
  for (const fs::path& file : known_files().unfinished) {
    unlink(file.c_str());
  }
}

void sync_folder(const fs::path& folder) noexcept {
  const int handle = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle >= 0) {
    fsync(handle);
    close(handle);
  }
}

void check_writable(const fs::path& path) {
  const AtomicFile begun_and_dropped{path};
}

void write_whole_file(const fs::path& path, std::string_view content) {
  AtomicFile file{path};
  file.write(content);
  file.commit();
}

void write_whole_files(const std::vector<FileToWrite>& files) {
  std::vector<std::unique_ptr<AtomicFile>> written;
  for (const FileToWrite& file : files) {
    written.push_back(std::make_unique<AtomicFile>(file.path));
    written.back()->write(file.content);
    written.back()->finish();
  }
  for (const auto& file : written) {
    file->commit();
  }
}

}  // namespace lockstep
