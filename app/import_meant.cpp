#include "app/import_meant.hpp"

#include <fmt/format.h>

#include <string>

#include "base/error.hpp"
#include "base/shell_words.hpp"
#include "import/imported.hpp"
#include "import/recognisers.hpp"

namespace lockstep {
namespace {

/// The kind of a file in the words of its importer; "" for one that no importer reads.
std::string title_of(const std::string& file) {
  try {
    if (!importing::is_file_of_importer(file)) {
      return "";
    }
    return std::string{importing::recogniser_of(importing::read_source(file))->title};
  } catch (const InputError&) {
    return "";  // the first complaint stands
  }
}

}  // namespace

int naming_import(const std::function<int()>& action) {
  try {
    return action();
  } catch (const InputError& problem) {
    const std::string file = problem.where().file;
    const std::string title = file.empty() ? "" : title_of(file);
    if (title.empty()) {
      throw;
    }
    throw InputError{{file},
                     fmt::format("this is {}, not a file of lockstep's: lockstep import {} -o mine.yaml",
                                 title, shell_quoted(file))};
  }
}

}  // namespace lockstep
