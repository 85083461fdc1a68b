#include "app/missing_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

struct Row {
  std::string_view command, option, why;
};

constexpr std::array kWithout{
    Row{"export", "--json", "it writes traces; 'lockstep import FOLDER --json -' tells what they hold"},
    Row{"generate", "--json", "it writes a program; what it repeats is JSON in its benchmark.json"},
    Row{"view", "--json", "it shows a folder of results, which has metrics.json"},
    Row{"view", "--output", "it shows what is there and writes nothing"},
    Row{"explain", "--json", "'lockstep schema' prints all parameters as JSON"},
    Row{"schema", "--json", "its answer is JSON"},
    Row{"manual", "--json", "a manual page is one text"},
    Row{"completion", "--json", "a script for a shell is one text"},
    Row{"synth fit", "--json", "the model that it writes is JSON"},
    Row{"synth show", "--json", "the model's file is JSON"},
    Row{"synth show", "--output", "its text goes to stdout"},
    Row{"synth sample", "--json", "it writes traces; 'lockstep import FOLDER --json -' tells what they hold"},
    Row{"synth obfuscate", "--json",
        "it writes traces; 'lockstep import FOLDER --json -' tells what they hold"},
    Row{"calibrate import", "--json", "the table that it writes is CSV"},
    Row{"calibrate fit", "--json",
        "it writes a profile; 'lockstep calibrate show FILE --json -' lists its numbers"},
    Row{"calibrate host", "--json",
        "it writes a profile; 'lockstep calibrate show FILE --json -' lists its numbers"},
    Row{"calibrate indices", "--json", "its answer is one line for a model's file"},
    Row{"calibrate indices", "--output", "its text goes to stdout"},
};

std::string_view long_name(std::string_view option) {
  const std::string_view name = option.substr(0, option.find('='));
  return name == "-o" ? "--output" : name;
}

}  // namespace

std::string why_without(std::string_view command, std::string_view option) {
  const auto row = std::ranges::find_if(
      kWithout, [&](const Row& one) { return one.command == command && one.option == long_name(option); });
  return row == kWithout.end()
             ? std::string{}
             : fmt::format("'lockstep {}' has no {}: {}", command, long_name(option), row->why);
}

}  // namespace lockstep
