#include "app/result_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX's
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <shared_mutex>
#include <system_error>
#include <utility>

#include "app/manifest.hpp"
#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostCarried = 10'000;

InputError cannot(const fs::path& path, const char* what, int error) {
  return InputError{{path.string()}, fmt::format("{}: {}", what, std::strerror(error))};
}

/// `.NAME.lockstep-`: how the hidden folders of a result begin.
std::string staged_prefix(const fs::path& home) {
  return fmt::format(".{}.lockstep-", home.filename().string());
}

/// Hidden folders of a result, beside it and in it, by the process that made them.
std::vector<std::pair<int, fs::path>> staged_folders(const fs::path& home) {
  std::vector<std::pair<int, fs::path>> found;
  const std::string prefix = staged_prefix(home);
  for (const fs::path& where : {home.parent_path(), home}) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator{where, ignored}) {
      const std::string name = entry.path().filename().string();
      int process = 0;
      if (name.starts_with(prefix) &&
          std::from_chars(name.data() + prefix.size(), name.data() + name.size(), process).ec ==
              std::errc{}) {
        found.emplace_back(process, entry.path());
      }
    }
  }
  return found;
}

bool is_alive(int process) {
  return kill(process, 0) == 0 || errno != ESRCH;
}

bool is_same_file(int handle, const fs::path& path) {
  struct stat of_handle {};
  struct stat of_path {};
  return fstat(handle, &of_handle) == 0 && stat(path.c_str(), &of_path) == 0 &&
         of_handle.st_dev == of_path.st_dev && of_handle.st_ino == of_path.st_ino;
}

/// The current folder of this process, which its shell shares, would be the old one after an exchange.
bool is_current_folder(const fs::path& home) {
  std::error_code failed;
  const fs::path current = fs::current_path(failed);
  const auto [end, rest] = std::mismatch(home.begin(), home.end(), current.begin(), current.end());
  return failed || end == home.end();
}

/// The same file or tree of files in a second folder, by hard links. False where that cannot be.
bool carry(const fs::path& from, const fs::path& to, std::size_t& left) {
  if (left == 0) {
    return false;
  }
  --left;
  std::error_code failed;
  if (!fs::is_directory(fs::symlink_status(from, failed))) {
    return linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0) == 0;
  }
  struct stat status {};
  if (stat(from.c_str(), &status) != 0 || mkdir(to.c_str(), 0700) != 0) {
    return false;
  }
  for (const auto& entry : fs::directory_iterator{from, failed}) {
    if (!carry(entry.path(), to / entry.path().filename(), left)) {
      return false;
    }
  }
  return !failed && chmod(to.c_str(), status.st_mode & 07777U) == 0;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator{folder, ignored}) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

fs::path result_folder(const std::string& given, const fs::path& scenario) {
  if (!given.empty()) {
    return given;
  }
  const auto name =
      scenario.filename() == "scenario.yaml" ? scenario.parent_path().filename() : scenario.stem();
  return fs::path{"lockstep-out"} / name;
}

ResultFolder::ResultFolder(fs::path path, IsOurs is_ours)
    : path_{std::move(path)}, is_ours_{std::move(is_ours)} {
  std::error_code failure;
  fs::create_directories(path_, failure);
  if (failure || !fs::is_directory(path_, failure)) {
    throw InputError{{path_.string()},
                     fmt::format("cannot be made: {}", failure ? failure.message() : "it is no folder")};
  }
  home_ = fs::canonical(path_);
  lock();
  try {
    check_names();
    for (const auto& [process, folder] : staged_folders(home_)) {
      fs::remove_all(folder, failure);  // nobody else writes: killed processes left them
    }
    make_staged();
  } catch (...) {
    close(lock_);
    throw;
  }
}

void ResultFolder::lock() {
  do {
    if (lock_ >= 0) {
      close(lock_);
    }
    lock_ = open(home_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock_ < 0) {
      throw cannot(path_, "cannot be opened", errno);
    }
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(lock_);
      std::string who = "another lockstep";
      for (const auto& [process, folder] : staged_folders(home_)) {
        who += is_alive(process) ? fmt::format(" (pid {})", process) : "";
      }
      throw InputError{{path_.string()}, who + " writes here: wait for it, or say another folder with -o"};
    }
  } while (!is_same_file(lock_, home_));  // the one that had it has put another folder in its place
}

void ResultFolder::check_names() const {
  for (const std::string& name : old_files()) {
    const fs::path file = path_ / name;
    std::error_code ignored;
    const fs::file_status status = fs::symlink_status(file, ignored);
    if (!fs::is_regular_file(status) && !fs::is_symlink(status)) {
      throw InputError{{file.string()}, "is no regular file, and a result has its name: remove it"};
    }
    refuse_input(file);
  }
}

void ResultFolder::make_staged() {
  for (const fs::path& where : {home_.parent_path(), home_}) {
    std::string name = (where / fmt::format("{}{}-XXXXXX", staged_prefix(home_), getpid())).string();
    struct stat outside {};
    struct stat inside {};
    const bool is_one_device = stat(where.c_str(), &outside) == 0 && stat(home_.c_str(), &inside) == 0 &&
                               outside.st_dev == inside.st_dev;
    if (is_one_device && mkdtemp(name.data()) != nullptr) {
      staged_ = name;
      return;
    }
  }
  throw cannot(path_, "cannot be written", errno);
}

std::vector<std::string> ResultFolder::old_files() const {
  std::vector<std::string> names = names_in(home_);
  const std::vector<ManifestEntry> listed = read_manifest(home_);
  std::erase_if(names, [&](const std::string& name) {
    return name != kManifest && !is_ours_(name) &&
           std::ranges::find(listed, name, &ManifestEntry::name) == listed.end();
  });
  return names;
}

bool ResultFolder::exchange(const std::vector<std::string>& old) const {
  struct stat status {};
  if (staged_.parent_path() == home_ || is_current_folder(home_) || stat(home_.c_str(), &status) != 0) {
    return false;
  }
  std::vector<std::string> carried;
  std::size_t left = kMostCarried;
  bool is_whole = true;
  for (const std::string& name : names_in(home_)) {
    if (is_whole && !std::ranges::binary_search(old, name) && !fs::exists(staged_ / name)) {
      carried.push_back(name);
      is_whole = carry(home_ / name, staged_ / name, left);
    }
  }
  (void)!chown(staged_.c_str(), status.st_uid, status.st_gid);  // where it is allowed
  is_whole = is_whole && chmod(staged_.c_str(), status.st_mode & 07777U) == 0;
  sync_folder(staged_);
  if (is_whole && renameat2(AT_FDCWD, staged_.c_str(), AT_FDCWD, home_.c_str(), RENAME_EXCHANGE) == 0) {
    sync_folder(home_.parent_path());
    for (const std::string& name : names_in(staged_)) {  // of others, since the look
      if (!std::ranges::binary_search(old, name) && !std::ranges::binary_search(carried, name)) {
        (void)renameat2(AT_FDCWD, (staged_ / name).c_str(), AT_FDCWD, (home_ / name).c_str(),
                        RENAME_NOREPLACE);
      }
    }
    return true;
  }
  std::error_code ignored;
  for (const std::string& name : carried) {
    fs::remove_all(staged_ / name, ignored);
  }
  return false;
}

void ResultFolder::move_one_by_one(const std::vector<std::string>& old) const {
  std::vector<std::string> names = names_in(staged_);
  std::erase(names, std::string{kManifest});
  names.emplace_back(kManifest);  // last: until then the old one says that the parts disagree
  for (const std::string& name : names) {
    std::error_code failed;
    fs::rename(staged_ / name, home_ / name, failed);
    if (failed) {
      throw InputError{{(path_ / name).string()}, "cannot be written: " + failed.message()};
    }
  }
  for (const std::string& name : old) {
    std::error_code ignored;
    if (std::ranges::find(names, name) == names.end()) {
      fs::remove(home_ / name, ignored);
    }
  }
  sync_folder(home_);
}

void ResultFolder::commit() {
  const std::lock_guard once{committing_};
  if (staged_.empty()) {
    return;
  }
  names_ = names_in(staged_);
  write_whole_file(staged_ / kManifest, manifest_json(manifest_of(staged_)));
  check_names();
  const std::shared_lock writing{writing_of_files()};
  const std::vector<std::string> old = old_files();
  if (!exchange(old)) {
    move_one_by_one(old);
  }
  std::error_code ignored;
  fs::remove_all(staged_, ignored);
  staged_.clear();
}

void ResultFolder::abandon() noexcept {
  std::error_code ignored;
  if (!staged_.empty()) {
    fs::remove_all(staged_, ignored);
  }
  fs::remove(home_, ignored);  // succeeds only when it is empty
}

ResultFolder::~ResultFolder() {
  abandon();
  close(lock_);
}

void check_outputs(const std::vector<std::string>& outputs) {
  std::map<fs::path, std::string> known;
  for (const std::string& output : outputs) {
    if (output.empty() || output == "-") {
      continue;
    }
    check_writable(output);
    const auto [earlier, is_new] = known.emplace(fs::weakly_canonical(output), output);
    if (!is_new) {
      throw InputError{{output},
                       fmt::format("two outputs would be written here (also as {}): give each its own name",
                                   earlier->second)};
    }
  }
}

void check_is_one_result(const fs::path& folder, const ResultFolder::IsOurs& is_ours) {
  const std::vector<ManifestEntry> listed = read_manifest(folder);
  if (listed.empty()) {
    return;
  }
  for (const std::string& name : names_in(folder)) {
    const auto expected = std::ranges::find(listed, name, &ManifestEntry::name);
    if (expected == listed.end() && !is_ours(name)) {
      continue;
    }
    const ManifestEntry found = entry_of(folder / name);
    if (expected == listed.end() || found.bytes != expected->bytes ||
        found.fingerprint != expected->fingerprint) {
      throw InputError{
          {(folder / name).string()},
          fmt::format("is not of the result that {} lists: parts of two results are mixed, or it "
                      "was changed; run the scenario again",
                      (folder / kManifest).string())};
    }
  }
}

}  // namespace lockstep
