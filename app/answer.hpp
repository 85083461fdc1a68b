#pragma once

#include <functional>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace lockstep {

/// Files for the answer of a command whose answer is a text.
struct AnswerOptions {
  std::string output;  ///< file for the text; empty: stdout
  std::string json;    ///< file for JSON; `-`: to stdout instead of the text
};

/// Declares -o.
void add_output_option(CLI::App& command, AnswerOptions& options);

/// Declares -o and --json.
void add_answer_options(CLI::App& command, AnswerOptions& options);

/// @throws InputError where both name one file
void check_answer(const AnswerOptions& options);

/// Writes the text, and JSON where it is asked for.
void give_answer(const AnswerOptions& options, const std::string& text,
                 const std::function<std::string()>& json = {});

}  // namespace lockstep
