#include "app/commands/list.hpp"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/answer.hpp"
#include "base/suggest.hpp"
#include "base/yaml_document.hpp"
#include "base/yaml_reader.hpp"
#include "import/recognisers.hpp"
#include "ops/gpu/gpu_spec.hpp"
#include "ops/workload/model_spec.hpp"
#include "topology/read_cluster.hpp"

namespace lockstep {
namespace {

constexpr const char* kScenarios = "scenarios";
constexpr const char* kImporters = "importers";

/// A configuration's description: its own name if that is another one, else where its figures come from.
std::string title(const std::filesystem::path& file, const std::string& name) {
  constexpr std::size_t kLongest = 96;
  try {
    const YamlDocument document = YamlDocument::from_file(file);
    for (const char* key : {"name", "title", "source"}) {
      const YamlEntry* entry = document.root().find(key);
      if (entry != nullptr && !entry->value.scalar.empty() && entry->value.scalar != name) {
        const std::string& text = entry->value.scalar;
        return text.size() <= kLongest ? text : text.substr(0, text.rfind(' ', kLongest)) + " ...";
      }
    }
    return "";
  } catch (const InputError&) {
    return "(cannot be read)";
  }
}

/// The question that a scenario answers: the heading of the README beside it, "" where there is none.
std::string question(const std::filesystem::path& scenario) {
  std::ifstream readme{scenario.parent_path() / "README.md"};
  std::string heading;
  std::getline(readme, heading);
  return heading.starts_with("# ") ? heading.substr(2) : "";
}

std::string line(const std::string& name, const std::string& title) {
  return title.empty() ? fmt::format("  {}\n", name) : fmt::format("  {:<24} {}\n", name, title);
}

/// Sizes of a configuration, as its file has them: `80 GB, 3.35 TB/s, 989 TFLOP/s in BF16`.
std::string sizes(const std::string& kind, const std::string& name, const ConfigPath& configs) {
  const auto file = configs.find(kind, name);
  try {
    if (kind == GpuSpec::kConfigKind) {
      const auto gpu = read_file<GpuSpec>(file, configs);
      return fmt::format("{}, {}, {} in {}", to_string(gpu.memory), to_string(gpu.memory_bandwidth),
                         to_string(std::max(gpu.peak.bf16, gpu.peak.fp16)),
                         gpu.peak.bf16 >= gpu.peak.fp16 ? "BF16" : "FP16");
    }
    if (kind == NodeSpec::kConfigKind) {
      const Fabric fabric = read_cluster(name + " x 1", configs).fabric();
      const auto nics = std::ranges::count(fabric.vertices(), VertexKind::Nic, &Vertex::kind);
      return fmt::format("{} x {}, {} NICs", fabric.gpus().size(),
                         fabric.vertices()[fabric.gpus().front()].model, nics);
    }
    if (kind == ModelSpec::kConfigKind) {
      const auto model = read_file<ModelSpec>(file, configs);
      return model.transformer       ? fmt::format("{} layers of {}, {} heads, sequence {}",
                                                   model.transformer->layers, model.transformer->hidden,
                                                   model.transformer->heads, model.transformer->sequence)
             : model.dlrm            ? "DLRM"
             : model.cnn             ? "CNN"
             : model.encoder_decoder ? "encoder and decoder"
                                     : "XLNet";
    }
  } catch (const InputError&) {
    return "";  // title() says so
  }
  return "";
}

struct Listed {
  std::string kind, name, title, sizes;
};

/// All of a kind, by name.
std::vector<Listed> listed(const ConfigPath& configs, const std::string& kind) {
  std::vector<Listed> rows;
  if (kind == kImporters) {
    for (const importing::Recogniser& row : importing::recognisers()) {
      rows.push_back({kind, std::string{row.name}, std::string{row.title}, ""});
    }
  } else if (kind == kScenarios) {
    for (const std::string& name : configs.scenarios()) {
      const auto file = configs.find_scenario(name);
      const std::string asked = question(file);
      rows.push_back({kind, name, asked.empty() ? title(file, name) : asked, ""});
    }
  } else {
    for (const std::string& name : configs.names(kind)) {
      const auto file = configs.find(kind, name);
      rows.push_back({kind, name, title(file, name), sizes(kind, name, configs)});
    }
  }
  return rows;
}

std::string section(const ConfigPath& configs, const std::string& kind) {
  std::string text = kind + ":\n";
  for (const Listed& row : listed(configs, kind)) {
    text += line(row.name, row.sizes.empty() || row.title.empty() ? row.sizes + row.title
                                                                  : row.sizes + "; " + row.title);
  }
  return text;
}

/// The kinds that a listing shows. @param kind empty: all of what ships
std::vector<std::string> kinds_shown(const ConfigPath& configs, const std::string& kind) {
  std::vector<std::string> kinds = configs.kinds();
  kinds.insert(kinds.begin(), kScenarios);
  return kind.empty() ? kinds : std::vector<std::string>{kind};
}

}  // namespace

std::string list_text(const ConfigPath& configs, const std::string& kind) {
  if (const std::string missing = configs.missing_roots(); !missing.empty()) {
    throw InputError{{"list"}, "there is nothing to list" + missing};
  }
  std::vector<std::string> kinds = configs.kinds();
  kinds.insert(kinds.begin(), kScenarios);
  if (!kind.empty()) {
    kinds.emplace_back(kImporters);  // of files that do not ship: named only when asked for
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      throw InputError{{"list"}, "there is no kind '" + kind + "'" + did_you_mean(kind, kinds)};
    }
    return section(configs, kind);
  }
  std::string text;
  for (const std::string& each : kinds) {
    text += (text.empty() ? "" : "\n") + section(configs, each);
  }
  return text;
}

std::string names_text(const ConfigPath& configs, const std::string& kind) {
  std::string text;
  for (const std::string& name : kind == kScenarios ? configs.scenarios() : configs.names(kind)) {
    text += name + "\n";
  }
  return text;
}

std::string list_json(const ConfigPath& configs, const std::string& kind) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const std::string& each : kinds_shown(configs, kind)) {
    for (const Listed& row : listed(configs, each)) {
      rows.push_back({{"kind", row.kind}, {"name", row.name}, {"title", row.title}});
      if (!row.sizes.empty()) {
        rows.back()["sizes"] = row.sizes;
      }
    }
  }
  return rows.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void add_list_command(CLI::App& app, std::function<int()>& action) {
  struct Wanted {
    std::string kind;
    bool names = false;
    AnswerOptions answer;
  };
  const auto wanted = std::make_shared<Wanted>();
  CLI::App* command = app.add_subcommand("list", "name the shipped scenarios and configurations");
  command->footer(
      "examples:\n"
      "  lockstep list\n"
      "  lockstep list scenarios");
  CLI::Option* kind =
      command->add_option("KIND", wanted->kind, "only these: scenarios, gpus, clusters, ..., importers");
  command->add_flag("--names", wanted->names, "names alone, one a line, for scripts")->needs(kind);
  add_answer_options(*command, wanted->answer);
  command->callback([wanted, &action] {
    action = [wanted] {
      const ConfigPath configs = ConfigPath::standard();
      const std::string text = list_text(configs, wanted->kind);  // refuses an unknown kind
      check_answer(wanted->answer);
      give_answer(wanted->answer, wanted->names ? names_text(configs, wanted->kind) : text,
                  [&] { return list_json(configs, wanted->kind); });
      return 0;
    };
  });
}

}  // namespace lockstep
