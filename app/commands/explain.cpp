#include "app/commands/explain.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "app/answer.hpp"
#include "app/file_kinds.hpp"
#include "base/error.hpp"
#include "base/explanation.hpp"
#include "base/suggest.hpp"

namespace lockstep {
namespace {

/// Parameters that speak of @p word, in the first kind of file that has some. std::nullopt: none, or a
/// parameter is called so elsewhere.
std::optional<std::string> text_of_word(const std::string& word, const std::vector<FileKind>& asked,
                                        const std::vector<std::string>& known) {
  if (word.empty() || std::ranges::find(known, word) != known.end()) {
    return std::nullopt;
  }
  for (const FileKind& file : asked) {
    if (const std::string text = explain_word(file.type(), word); !text.empty()) {
      return fmt::format("no parameter is called '{}'; those of {} that speak of it:\n\n{}", word, file.title,
                         text);
    }
  }
  return std::nullopt;
}

}  // namespace

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
  if (const auto text = text_of_word(key.substr(key.rfind('.') + 1), asked, known)) {
    return *text;
  }
  const std::string closest = closest_word(key, known);
  throw InputError{
      {"explain"},
      "there is no parameter '" + shortened(key) + "'" +
          (closest.empty() ? "; 'lockstep explain' lists all" : " - did you mean '" + closest + "'?")};
}

void add_explain_command(CLI::App& app, std::function<int()>& action) {
  const auto words = std::make_shared<std::pair<std::string, std::string>>();
  const auto answer = std::make_shared<AnswerOptions>();
  CLI::App* command = app.add_subcommand("explain", "tell type, unit, default and meaning of a parameter");
  command->footer(
      "examples:\n"
      "  lockstep explain bucket\n"
      "  lockstep explain cluster.network.shape\n"
      "  lockstep explain zero                   parameters that speak of it, where none is called so\n"
      "  lockstep explain --in gpus");
  command->add_option(
      "KEY", words->first,
      "e.g. memory or cluster.network.shape, or a word to look for; without it: all parameters");
  command->add_option("--in", words->second, "in this kind of file: clusters, gpus, models, ...");
  add_output_option(*command, *answer);
  command->callback([words, answer, &action] {
    action = [words, answer] {
      give_answer(*answer, explain_text(words->first, words->second));
      return 0;
    };
  });
}

}  // namespace lockstep
