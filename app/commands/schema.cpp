#include "app/commands/schema.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <utility>

#include "app/file_kinds.hpp"
#include "base/config_path.hpp"
#include "base/file.hpp"
#include "base/json_schema.hpp"

namespace lockstep {

std::string schema_text(const std::string& kind) {
  const FileKind file = kind.empty() ? file_kinds().front() : file_kind("schema", kind);
  return json_schema(file.type(), file.title, ConfigPath::standard());
}

void add_schema_command(CLI::App& app, std::function<int()>& action) {
  const auto words = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App* command = app.add_subcommand("schema", "print the JSON Schema of a kind of file, for editors");
  command->footer(
      "examples:\n"
      "  lockstep schema -o scenario.schema.json\n"
      "  lockstep schema gpus");
  command->add_option("KIND", words->first, "clusters, gpus, models, ...");
  command->add_option("-o,--output", words->second, "write it to a file");
  command->callback([words, &action] {
    action = [words] {
      const std::string text = schema_text(words->first);
      if (words->second.empty()) {
        fmt::print("{}", text);
      } else {
        write_whole_file(words->second, text);
      }
      return 0;
    };
  });
}

}  // namespace lockstep
