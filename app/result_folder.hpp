#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace lockstep {

/// Where the results of a command go: what the user says, else `lockstep-out/NAME` after the scenario's
/// folder, or its file where that is not called scenario.yaml.
[[nodiscard]] std::filesystem::path result_folder(const std::string& given,
                                                  const std::filesystem::path& scenario);

/// The folder of the results: made at once, and gone again if it is still empty when the command has failed.
class ResultFolder {
 public:
  /// @throws InputError where it cannot be made, or nothing written into it
  explicit ResultFolder(std::filesystem::path path);
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;
  ~ResultFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Removes files of @p folder that a run before has written and this one does not, so that no result lies
/// beside another's. @param is_old by the file's name
void remove_old(const std::filesystem::path& folder,
                const std::function<bool(const std::string& name)>& is_old);

}  // namespace lockstep
