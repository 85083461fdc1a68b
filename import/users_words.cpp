#include "import/users_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>
#include <utility>
#include <vector>

#include "import/megatron_words.hpp"

namespace lockstep::importing {
namespace {

/// A key, or one value of it, that Megatron-LM says by arguments that no Word stands for.
struct Saying {
  std::string_view key, value;  ///< value "": whatever it is
  std::string_view arguments;
};

constexpr auto kSayings = std::to_array<Saying>({
    {"precision", "bf16", "--bf16"},
    {"precision", "fp16", "--fp16"},
    {"precision", "fp8", "--fp8-format hybrid"},
    {"precision", "", "--bf16, --fp16, --fp8-format"},
    {"attention", "flash", "--attention-backend flash"},
    {"attention", "unfused", "--attention-backend unfused"},
    {"attention", "", "--attention-backend"},
    {"sharding", "zero1", "--use-distributed-optimizer"},
    {"sharding", "zero3", "--use-megatron-fsdp"},
    {"recompute", "full", "--recompute-granularity full"},
    {"recompute", "selective", "--recompute-granularity selective"},
    {"recompute", "", "--recompute-granularity"},
    {"schedule", "interleaved", "--num-layers-per-virtual-pipeline-stage"},
    {"chunks", "", "--num-virtual-stages-per-pipeline-rank"},
    {"overlap_gradients", "true", "--overlap-grad-reduce"},
    {"overlap_gradients", "false", "no --overlap-grad-reduce"},
    {"clip_gradients", "", "--clip-grad"},
    {"normalisation", "rms", "--normalization RMSNorm"},
    {"normalisation", "", "--normalization"},
    {"activation", "swiglu", "--swiglu"},
    {"position_encoding", "rotary", "--position-embedding-type rope"},
    {"position_encoding", "", "--position-embedding-type"},
    {"rotary_share", "", "--rotary-percent"},
    {"dropout", "false", "--attention-dropout 0 --hidden-dropout 0"},
    {"kv_heads", "", "--num-query-groups"},
    {"head_size", "", "--kv-channels"},
    {"vocabulary", "", "--vocab-size"},
    {"experts.count", "", "--num-experts"},
    {"experts.feed_forward", "", "--moe-ffn-hidden-size"},
    {"experts.shared", "", "--moe-shared-expert-intermediate-size"},
    {"experts.dense_layers", "", "--moe-layer-freq"},
    {"experts.capacity", "", "--moe-expert-capacity-factor"},
});

/// Whether a path ends with a key: `T.experts.count` with `experts.count` and `count`.
bool ends_with_key(std::string_view path, std::string_view key) {
  return path == key || (path.ends_with(key) && path[path.size() - key.size() - 1] == '.');
}

std::string as_argument(const Word& word, std::string_view value) {
  const bool is_switch = word.meaning == Meaning::Switch || word.meaning == Meaning::Against;
  const bool is_off = is_switch && value == (word.meaning == Meaning::Switch ? "false" : "true");
  return fmt::format("{}--{}{}{}", is_off ? "no " : "", word.key, is_switch || value.empty() ? "" : " ",
                     is_switch ? "" : value);
}

/// Megatron-LM's arguments of a key and its value; "" where it has none.
std::string as_arguments(std::string_view key, std::string_view value) {
  for (const Saying& row : kSayings) {
    const bool is_value = row.value == value || (row.value.empty() && value.empty());
    if (ends_with_key(key, row.key) && is_value) {
      return std::string{row.arguments};
    }
  }
  for (const Word& word : megatron_words()) {
    const bool is_key = word.meaning == Meaning::Number || word.meaning == Meaning::Switch ||
                        word.meaning == Meaning::Against;
    if (is_key && ends_with_key(word.text, key)) {
      return as_argument(word, value);
    }
  }
  return "";
}

/// The name that a file gives to a key of the scenario; "" where no file says the key, or several do.
std::string name_in_file(const Draft& draft, std::string_view key) {
  std::string name;
  for (const DraftKey& row : draft.keys()) {
    if (!row.is_assumed && !row.key.empty() && ends_with_key(row.path, key)) {
      if (!name.empty()) {
        return "";
      }
      name = row.key;
    }
  }
  return name;
}

std::string renamed(const Draft& draft, const std::string& key, const std::string& value) {
  if (draft.has_arguments) {
    if (std::string arguments = as_arguments(key, value); !arguments.empty()) {
      return arguments;
    }
  }
  const std::string name = value.empty() ? name_in_file(draft, key) : "";
  if (!name.empty()) {
    return draft.has_arguments ? name : fmt::format("'{}'", name);
  }
  return fmt::format("'{}{}{}'", key, value.empty() ? "" : ": ", value);
}

/// The key that a message is about stands before it; sections of a scenario mean nothing to who wrote
/// arguments.
std::string without_section(const Draft& draft, const std::string& message) {
  static const std::regex prefix{R"(^([a-z_][a-z_0-9.]*): )"};
  std::smatch found;
  if (!std::regex_search(message, found, prefix)) {
    return message;
  }
  const std::string key = found[1].str(), name = renamed(draft, key, "");
  if (name != fmt::format("'{}'", key)) {
    return fmt::format("{}: {}", name, found.suffix().str());
  }
  return draft.has_arguments && (key == "workload" || key == "parallelism") ? found.suffix().str() : message;
}

/// Replaces each 'key' and 'key: value' of a message.
std::string in_words(const Draft& draft, const std::string& message) {
  static const std::regex quoted{R"((missing key )?'([a-z_0-9.]+)(?:: ([^']*))?')"};
  std::string text;
  std::smatch found;
  std::string rest = without_section(draft, message);
  while (std::regex_search(rest, found, quoted)) {
    const std::string name = renamed(draft, found[2].str(), found[3].str());
    const bool is_argument = !name.starts_with('\'');
    text +=
        found.prefix().str() + (found[1].matched ? (is_argument ? "missing " : found[1].str()) : "") + name;
    rest = found.suffix().str();
  }
  return text + rest;
}

/// The first place within a value that a file has.
const SourceLocation* first_place(const YamlNode& value) {
  if (value.at.line > 0) {
    return &value.at;
  }
  for (const YamlEntry& entry : value.entries) {
    if (const SourceLocation* at = first_place(entry.value)) {
      return at;
    }
  }
  for (const YamlNode& item : value.items) {
    if (const SourceLocation* at = first_place(item)) {
      return at;
    }
  }
  return nullptr;
}

SourceLocation first_place(const Draft& draft, const SourceLocation& otherwise) {
  for (const DraftKey& key : draft.keys()) {
    if (const SourceLocation* at = first_place(key.value); at != nullptr && !key.is_assumed) {
      return *at;
    }
  }
  return otherwise;
}

}  // namespace

InputError in_users_words(const InputError& problems, const Draft& draft, const std::string& document) {
  std::vector<Problem> rows = problems.problems();
  for (Problem& row : rows) {
    row.message = in_words(draft, row.message);
    row.where = row.where.file == document ? first_place(draft, row.where) : row.where;
  }
  return InputError{std::move(rows)};
}

}  // namespace lockstep::importing
