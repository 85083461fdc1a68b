#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace lockstep {

/// The folder of a command's results: the one that the user gives, else `lockstep-out/NAME`. NAME is the
/// scenario's folder, or its file where that is not called scenario.yaml.
[[nodiscard]] std::filesystem::path result_folder(const std::string& given,
                                                  const std::filesystem::path& scenario);

/// A result: files that belong together and replace an older result of the folder as one. They are written in
/// a hidden folder beside it; commit() lets the two folders change places in one system call. Whenever the
/// process is killed, the folder holds the old result or the new one. Files that are nobody's result stay.
///
/// One process at a time: the folder is locked until the end. What killed processes left beside it is
/// removed.
class ResultFolder {
 public:
  /// Tells, by the name of a file, whether this command writes such files.
  using IsOurs = std::function<bool(const std::string& name)>;

  /// @throws InputError where the folder cannot be made or written, another process writes it, a result would
  ///     replace an input of this process, or something that is no file has a result's name
  ResultFolder(std::filesystem::path path, IsOurs is_ours);
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

  /// Removes what was not committed, and the folder where nothing else is in it.
  ~ResultFolder();

  /// The folder where the user finds the results.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// The folder where files are written until commit().
  [[nodiscard]] const std::filesystem::path& staged() const { return staged_; }

  /// Files of the committed result, without the manifest.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  /// Puts everything that was staged in place, and removes what an older result has beside it. Once.
  /// @throws InputError where that is not possible; the folder is as it was
  void commit();

  /// For the thread that ends the process: as the destructor. Never throws.
  void abandon() noexcept;

 private:
  void lock();
  void check_names() const;
  void make_staged();
  [[nodiscard]] std::vector<std::string> old_files() const;
  [[nodiscard]] bool exchange(const std::vector<std::string>& old) const;
  void move_one_by_one(const std::vector<std::string>& old) const;

  std::filesystem::path path_;
  std::filesystem::path home_;    ///< path_ without links
  std::filesystem::path staged_;  ///< empty when all is done
  IsOurs is_ours_;
  std::vector<std::string> names_;
  int lock_ = -1;
  std::mutex committing_;  ///< the thread that ends the process may commit, too
};

/// For commands whose outputs are single files: before a long work, that each can be written, is no input,
/// and no other output of the command. Empty names and "-", standard output, are passed over. @throws
/// InputError
void check_outputs(const std::vector<std::string>& outputs);

/// @param is_ours names of the files that belong to such a result
/// @throws InputError where a file of @p folder is not the one that the folder's manifest lists: parts of two
///     results that were mixed by hand. A folder without a manifest is believed.
void check_is_one_result(const std::filesystem::path& folder, const ResultFolder::IsOurs& is_ours);

}  // namespace lockstep
