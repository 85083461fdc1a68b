#include "app/commands/explain.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <utility>

#include "app/file_kinds.hpp"
#include "base/error.hpp"
#include "base/explanation.hpp"
#include "base/suggest.hpp"

namespace lockstep {

std::string explain_text(const std::string& key, const std::string& kind) {
  const std::vector<FileKind> asked =
      kind.empty() ? file_kinds() : std::vector<FileKind>{file_kind("explain", kind)};
  if (key.empty()) {
    return asked.front().title + ":\n" + explain_all(asked.front().type());
  }
  std::vector<std::string> known;
  for (const FileKind& file : asked) {
    const ParameterType type = file.type();
    if (const auto text = explain(type, key)) {
      return "in " + file.title + ":\n\n" + *text;
    }
    const std::vector<std::string> keys = known_keys(type);
    known.insert(known.end(), keys.begin(), keys.end());
  }
  const std::string closest = closest_word(key, known);
  throw InputError{
      {"explain"},
      "there is no parameter '" + key + "'" +
          (closest.empty() ? "; 'lockstep explain' lists all" : " - did you mean '" + closest + "'?")};
}

void add_explain_command(CLI::App& app, std::function<int()>& action) {
  const auto words = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App* command = app.add_subcommand("explain", "tell type, unit, default and meaning of a parameter");
  command->footer(
      "examples:\n"
      "  lockstep explain bucket\n"
      "  lockstep explain cluster.network.shape\n"
      "  lockstep explain --in gpus");
  command->add_option("KEY", words->first,
                      "e.g. memory or cluster.network.shape; without it: all parameters");
  command->add_option("--in", words->second, "in this kind of file: clusters, gpus, models, ...");
  command->callback([words, &action] {
    action = [words] {
      fmt::print("{}", explain_text(words->first, words->second));
      return 0;
    };
  });
}

}  // namespace lockstep
