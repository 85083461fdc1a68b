#include "app/sweep/point_claim.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "base/error.hpp"

namespace lockstep {
namespace fs = std::filesystem;

namespace {

std::string machine() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// When a process started, in ticks since the machine did: field 22 of /proc/PID/stat (proc(5)).
std::string start_of(int process) {
  std::ifstream stat{fmt::format("/proc/{}/stat", process)};
  std::string text;
  std::getline(stat, text);
  std::istringstream fields{text.substr(std::min(text.rfind(')'), text.size() - 1) + 1)};
  std::string field;
  for (int number = 3; number <= 22; ++number) {
    fields >> field;
  }
  return field;
}

std::string first_line(const fs::path& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);
  return line;
}

/// The number of the process that wrote an identity, where it wrote it on this machine.
std::optional<int> process_here(const std::string& identity) {
  std::istringstream words{identity};
  std::string host;
  int process = 0;
  words >> host >> process;
  return words && host == machine() ? std::optional{process} : std::nullopt;
}

void touch(const fs::path& path) {
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // the clock of the file system, not of this machine
}

}  // namespace

std::string process_identity(int process) {
  std::error_code absent;
  if (!fs::exists(fmt::format("/proc/{}/stat", process), absent)) {
    return {};
  }
  return fmt::format("{} {} {}", machine(), process, start_of(process));
}

PointClaims::PointClaims(fs::path folder, std::chrono::steady_clock::duration patience)
    : folder_{std::move(folder)}, owner_{process_identity(getpid())}, patience_{patience} {}

fs::path PointClaims::path_of(const std::string& key) const {
  return folder_ / (key + ".claim");
}

bool PointClaims::claim(const std::string& key) {
  const std::string path = path_of(key);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int file = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (file >= 0) {
      const std::string line = owner_ + "\n";
      const bool is_written = write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
      close(file);
      if (!is_written) {
        release(key);
        throw InputError{{path}, "cannot be written: " + std::string{std::strerror(errno)}};
      }
      return true;
    }
    if (errno != EEXIST) {
      throw InputError{{path}, "cannot be made: " + std::string{std::strerror(errno)}};
    }
    if (is_held(key)) {
      return false;
    }
    release(key);
  }
  return false;  // another process was faster in taking it over
}

void PointClaims::renew(const std::string& key) const {
  touch(path_of(key));
}

void PointClaims::release(const std::string& key) const {
  std::error_code gone;
  fs::remove(path_of(key), gone);
}

bool PointClaims::is_held(const std::string& key) {
  std::error_code gone;
  const auto renewed = fs::last_write_time(path_of(key), gone);
  if (gone) {
    return false;
  }
  const std::string owner = first_line(path_of(key));
  if (const auto process = process_here(owner)) {
    return process_identity(*process) == owner;
  }
  const auto watching = std::chrono::steady_clock::now();
  const auto [seen, is_new] = watched_.try_emplace(key, Watched{renewed, watching});
  if (!is_new && seen->second.renewed != renewed) {
    seen->second = {renewed, watching};
  }
  return now() - renewed < kStaleAfter &&  // also one whose line is not written yet
         watching - seen->second.since < patience_;
}

std::string PointClaims::holder(const std::string& key) const {
  std::istringstream words{first_line(path_of(key))};
  std::string host = "another machine";
  std::string process = "unknown";
  words >> host >> process;
  return fmt::format("process {} of {}, which claims a point ({})", process, host, path_of(key).string());
}

fs::file_time_type PointClaims::now() const {
  const fs::path probe = folder_ / fmt::format(".{}.clock", getpid());
  { std::ofstream{probe} << owner_; }
  touch(probe);
  std::error_code failure;
  const auto time = fs::last_write_time(probe, failure);
  fs::remove(probe, failure);
  return failure ? fs::file_time_type::clock::now() : time;
}

}  // namespace lockstep
