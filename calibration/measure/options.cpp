#include "calibration/measure/options.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "base/error.hpp"
#include "base/suggest.hpp"

namespace lockstep {
namespace {

constexpr const char* kCommandLine = "lockstep-measure";

std::vector<const Family*> families_named(const std::vector<std::string>& names) {
  std::vector<const Family*> wanted;
  for (const std::string& name : names) {
    static_cast<void>(family_named(name));
  }
  for (const Family& family : measured_families()) {
    if (names.empty() || std::find(names.begin(), names.end(), family.name) != names.end()) {
      wanted.push_back(&family);
    }
  }
  return wanted;
}

/// ` - did you mean '--x'?` for the first word that is not known.
std::string option_meant(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      known.push_back("--" + name);
    }
  }
  const std::vector<std::string> unknown = app.remaining();
  const std::string meant = unknown.empty() ? "" : closest_word(unknown.front(), known);
  return meant.empty() ? "; --help tells what there is" : fmt::format(" - did you mean '{}'?", meant);
}

}  // namespace

std::optional<Options> options_of(int count, const char* const* arguments) {
  Options options;
  bool quick = false;
  std::vector<std::string> only;
  CLI::App app{
      "Measures this machine's GPUs, one table (CSV) for each family of operations. Changes no clocks.",
      kCommandLine};
  app.add_flag("--list", options.list,
               "tell the families, their points and how long they take; measure nothing");
  app.add_option("--only", only, "families to measure, with commas between them (default: all)")
      ->delimiter(',');
  app.add_option("--out", options.out, "folder of the tables")->capture_default_str();
  app.add_flag("--quick", quick, "fewer points and repeats; with --list: how long that takes");
  app.add_flag("--resume", options.resume, "go on with the tables in the folder; rows that are there stay");
  app.add_flag("--check", options.check,
               "compare the program's own kernels with the host's results, and end");
  try {
    app.parse(count, arguments);
  } catch (const CLI::Success& asked) {
    app.exit(asked);
    return std::nullopt;
  } catch (const CLI::ParseError& problem) {
    throw InputError{{kCommandLine}, problem.what() + option_meant(app)};
  }
  options.extent = quick ? Extent::Quick : Extent::Full;
  options.families = families_named(only);
  return options;
}

}  // namespace lockstep
