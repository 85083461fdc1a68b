#include "app/answer.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <string_view>

#include "app/result_folder.hpp"
#include "base/file.hpp"

namespace lockstep {
namespace {

/// A text in a file whose name says that it is something else helps nobody.
std::string if_no_text(const std::string& file) {
  for (const std::string_view ending : {".svg", ".dot", ".json", ".html", ".png"}) {
    if (file.ends_with(ending))
      return fmt::format(
          "-o is the file of the text, which '{}' does not look like; pictures and JSON have options of "
          "their own",
          file);
  }
  return {};
}

}  // namespace

void add_output_option(CLI::App& command, AnswerOptions& options) {
  command.add_option("-o,--output", options.output, "file for the text (default: stdout)");
}

void add_answer_options(CLI::App& command, AnswerOptions& options) {
  add_output_option(command, options);
  command.get_option("--output")->check(CLI::Validator{&if_no_text, ""});
  command.add_option("--json", options.json, "the answer as JSON; - for stdout instead of the text");
}

void check_answer(const AnswerOptions& options) {
  check_outputs({options.output, options.json});
}

void give_answer(const AnswerOptions& options, const std::string& text,
                 const std::function<std::string()>& json) {
  if (!options.output.empty()) {
    write_whole_file(options.output, text);
  }
  if (!options.json.empty() && options.json != "-") {
    write_whole_file(options.json, json());
  }
  if (options.json == "-") {
    fmt::print("{}", json());
  } else if (options.output.empty()) {
    fmt::print("{}", text);
  }
}

}  // namespace lockstep
