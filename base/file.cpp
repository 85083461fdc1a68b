#include "base/file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
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

std::string read_whole_file(const fs::path& path) {
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
  std::string content{std::istreambuf_iterator<char>{file}, {}};
  if (!file.good() && !file.eof()) {
    throw InputError{{path.string()}, std::string{"cannot be read: "} + std::strerror(errno)};
  }
  return content;
}

std::shared_mutex& writing_of_files() {
  static std::shared_mutex mutex;
  return mutex;
}

AtomicFile::AtomicFile(fs::path path) : path_{std::move(path)} {
  const std::shared_lock writing{writing_of_files()};
  std::error_code problem;
  if (fs::is_symlink(path_, problem)) {  // the link stays, what it points to is written
    const fs::path target = fs::weakly_canonical(path_.parent_path() / fs::read_symlink(path_), problem);
    path_ = problem ? path_ : target;
  }
  if (path_.has_parent_path()) {
    fs::create_directories(path_.parent_path(), problem);
  }
  if (fs::is_directory(path_, problem)) {
    throw InputError{{path_.string()}, "is a folder; a file is to be written"};
  }
  temporary_ = path_;
  const fs::file_status status = fs::status(path_, problem);
  if (!fs::exists(status) || fs::is_regular_file(status)) {  // devices and pipes are written as they are
    temporary_ += fmt::format(".{}.part", getpid());  // two runs into one folder do not mix their halves
  }
  stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!stream_) {
    throw InputError{{path_.string()}, std::string{"cannot be written: "} + std::strerror(errno)};
  }
}

AtomicFile::~AtomicFile() {
  if (!committed_) {
    stream_.close();
    if (temporary_ != path_) {
      std::error_code ignored;
      fs::remove(temporary_, ignored);
    }
  }
}

void AtomicFile::finish() {
  if (stream_.is_open()) {
    stream_.close();
  }
  if (!stream_) {
    throw InputError{{path_.string()}, "could not be written whole: " + std::string{std::strerror(errno)}};
  }
}

void AtomicFile::commit() {
  finish();
  std::error_code problem;
  if (temporary_ != path_) {
    const std::shared_lock writing{writing_of_files()};
    fs::rename(temporary_, path_, problem);
  }
  if (problem) {
    throw InputError{{path_.string()}, "could not be written whole: " + problem.message()};
  }
  committed_ = true;
}

void check_writable(const fs::path& path) {
  const AtomicFile begun_and_dropped{path};
}

void keep_inputs(const fs::path& output, const std::vector<fs::path>& inputs) {
  std::error_code absent;  // of a file that is not there yet, or '-'
  for (const fs::path& input : inputs) {
    if (!output.empty() && fs::equivalent(output, input, absent)) {
      throw InputError{{output.string()}, "would be written over what is read: say another file"};
    }
  }
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
