#include "import/megatron_script.hpp"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "import/launcher.hpp"
#include "import/megatron_kind.hpp"
#include "import/megatron_settings.hpp"
#include "import/shell_script.hpp"

namespace lockstep::importing {
namespace {

/// The key of a functional test's arguments, in model_config.yaml.
const char* const kArguments = "MODEL_ARGS";

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         std::isalpha(static_cast<unsigned char>(word[word[1] == '-' ? 2 : 1])) != 0;
}

std::string plain_name(std::string name) {
  name.erase(0, name.find_first_not_of('-'));
  std::ranges::replace(name, '_', '-');
  return name;
}

/// Options of a command and their values; `--key=value` as `--key value`.
Settings options_of(const ShellCommand& command, std::size_t begin, std::size_t end,
                    const std::string& file) {
  Settings settings;
  for (std::size_t i = begin; i < end; ++i) {
    const std::string word = command[i].text();
    if (!is_option(word)) {
      continue;
    }
    const auto equals = word.find('=');
    Setting setting{plain_name(word.substr(0, equals)), word.substr(0, equals),
                    yaml_node(YamlNode::Kind::Scalar, command[i].at(file), "true")};
    if (equals != std::string::npos) {
      setting.value.scalar = word.substr(equals + 1);
    }
    std::vector<std::string> values;
    while (i + 1 < end && !is_option(command[i + 1].text()) && equals == std::string::npos) {
      values.push_back(command[++i].text());
    }
    if (values.size() == 1) {
      setting.value.scalar = values.front();
    } else if (values.size() > 1) {
      setting.value.kind = YamlNode::Kind::Sequence;
      for (std::string& value : values) {
        setting.value.items.push_back(yaml_node(YamlNode::Kind::Scalar, setting.value.at, std::move(value)));
      }
    }
    settings.add(std::move(setting));
  }
  return settings;
}

std::size_t megatron_options(const ShellCommand& command) {
  return static_cast<std::size_t>(std::ranges::count_if(command, [](const ShellWord& word) {
    const std::string text = word.text();
    return text.starts_with("--") && is_megatron_key(plain_name(text.substr(0, text.find('='))));
  }));
}

/// The last of those with the most arguments of Megatron-LM; null: none has any.
const ShellCommand* with_most_options(const std::vector<ShellCommand>& commands) {
  const ShellCommand* chosen = nullptr;
  for (const ShellCommand& command : commands) {
    if (megatron_options(command) > 0 &&
        (chosen == nullptr || megatron_options(command) >= megatron_options(*chosen))) {
      chosen = &command;
    }
  }
  return chosen;
}

/// `#SBATCH --nodes=2` lines, which the shell takes for comments.
Settings batch_options(const SourceFile& file) {
  Settings settings;
  int number = 0;
  for (const std::string_view line : file.lines()) {
    ++number;
    if (!line.starts_with("#SBATCH")) {
      continue;
    }
    const ShellCommand words = [&] {
      auto commands = shell_commands(line.substr(1), file.name);
      return commands.empty() ? ShellCommand{} : commands.front();
    }();
    for (const char* key : {"nodes", "ntasks-per-node", "gpus-per-node", "gres", "N"}) {
      Settings found = options_of(words, 1, words.size(), file.name);
      if (const Setting* setting = found.use(key)) {
        Setting placed = *setting;
        placed.value.at = {file.name, number, 1};
        settings.add(std::move(placed));
      }
    }
  }
  return settings;
}

/// Sizes of a kind of model that is not modelled are taken for those of a transformer.
void note_other_layers(Draft& draft) {
  if (!draft.kind || draft.kind->is_modelled || !draft.has("T.layers")) {
    return;
  }
  const std::string& key = draft.kind->source.key;
  const bool is_noted = std::ranges::any_of(draft.remarks(), [&](const Remark& remark) {
    return remark.kind == Remark::Kind::NotModelled && remark.key == key;
  });
  if (!is_noted) {
    draft.remark(Remark::Kind::NotModelled, draft.kind->source,
                 "a " + draft.kind->name + ": layers are transformers here");
  }
}

/// Arguments as keys of YAML, `--num-layers: 12`, as Megatron-LM's functional tests have them.
void read_arguments(const SourceFile& file, const YamlNode& arguments, Draft& draft) {
  Settings settings;
  for (const YamlEntry& entry : arguments.entries) {
    YamlNode value = entry.value;
    value.at = entry.at;
    settings.add({plain_name(entry.key), entry.key, std::move(value)});
  }
  const Source source{{file.name, 1, 1}, kArguments};
  draft.has_arguments = true;
  draft.kind = named_kind(settings, source);
  read_megatron_settings(settings, source, draft);
  note_other_layers(draft);
}

}  // namespace

bool is_megatron_script(const SourceFile& file) {
  if (file.tree) {
    const YamlNode* arguments = file.root_key(kArguments);
    return arguments != nullptr && arguments->kind == YamlNode::Kind::Mapping;
  }
  return file.text.find("--num-layers") != std::string::npos ||
         file.text.find("--tensor-model-parallel-size") != std::string::npos ||
         file.text.find("--micro-batch-size") != std::string::npos;
}

void read_megatron_script(const SourceFile& file, Draft& draft) {
  if (const YamlNode* arguments = file.root_key(kArguments)) {
    return read_arguments(file, *arguments, draft);
  }
  const std::vector<ShellCommand> commands = shell_commands(file.text, file.name),
                                  lists = shell_lists(file.text, file.name);
  const ShellCommand* chosen = with_most_options(commands);
  chosen = chosen != nullptr ? chosen : with_most_options(lists);  // of a file that another script reads
  if (chosen == nullptr) {
    throw InputError{
        {file.name},
        "arguments of Megatron-LM are in the file, and no command has them: expected a command such "
        "as `torchrun pretrain_gpt.py --num-layers 32 ...`"};
  }
  const auto script = static_cast<std::size_t>(
      std::ranges::find_if(*chosen, [](const ShellWord& word) { return word.text().ends_with(".py"); }) -
      chosen->begin());
  const bool has_script = script < chosen->size();
  Settings batch = batch_options(file);
  read_launcher(batch, draft);
  if (has_script) {
    Settings launcher = options_of(*chosen, 0, script, file.name);
    read_launcher(launcher, draft);
  }
  Settings settings = options_of(*chosen, has_script ? script + 1 : 0, chosen->size(), file.name);
  if (!has_script) {
    read_launcher(settings, draft);
  }
  const ShellWord& named = has_script ? (*chosen)[script] : chosen->front();
  draft.has_arguments = true;
  draft.kind = named_kind(settings, {named.at(file.name), named.text()});
  read_megatron_settings(settings, {chosen->front().at(file.name), chosen->front().text()}, draft);
  if (has_script && (*chosen)[script].text().find("pretrain_bert") != std::string::npos) {
    draft.set("T.family", "bert", {(*chosen)[script].at(file.name), (*chosen)[script].text()});
  }
  note_other_layers(draft);
}

}  // namespace lockstep::importing
