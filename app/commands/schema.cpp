#include "app/commands/schema.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <string>

#include "app/answer.hpp"
#include "app/file_kinds.hpp"
#include "base/config_path.hpp"
#include "base/json_schema.hpp"

namespace lockstep {

std::string schema_text(const std::string& kind) {
  const FileKind file = kind.empty() ? file_kinds().front() : file_kind("schema", kind);
  return json_schema(file.type(), file.title, ConfigPath::standard());
}

void add_schema_command(CLI::App& app, std::function<int()>& action) {
  const auto kind = std::make_shared<std::string>();
  const auto answer = std::make_shared<AnswerOptions>();
  CLI::App* command = app.add_subcommand("schema", "print the JSON Schema of a kind of file, for editors");
  command->footer(
      "examples:\n"
      "  lockstep schema -o scenario.schema.json\n"
      "  lockstep schema gpus");
  command->add_option("KIND", *kind, "clusters, gpus, models, ...");
  add_output_option(*command, *answer);
  command->callback([kind, answer, &action] {
    action = [kind, answer] {
      give_answer(*answer, schema_text(*kind));
      return 0;
    };
  });
}

}  // namespace lockstep
