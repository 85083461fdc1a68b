#include "base/hub_ids.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace lockstep {
namespace {

/// Names of the hub without organisation, in small letters, without what names a fine-tuning; and the file.
constexpr auto kModels = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"meta-llama-3-8b", "llama3_8b"},
    {"llama-3-8b", "llama3_8b"},
    {"llama-3.1-8b", "llama3_8b"},
    {"meta-llama-3.1-8b", "llama3_8b"},
    {"meta-llama-3-70b", "llama3_70b"},
    {"llama-3-70b", "llama3_70b"},
    {"llama-3.1-70b", "llama3_70b"},
    {"llama-3.3-70b", "llama3_70b"},
    {"meta-llama-3.1-70b", "llama3_70b"},
    {"llama-3.1-405b", "llama3_405b"},
    {"meta-llama-3.1-405b", "llama3_405b"},
    {"llama-3.2-1b", "llama3_2_1b"},
    {"llama-2-7b", "llama2_7b"},
    {"llama-2-7b-hf", "llama2_7b"},
    {"llama-2-70b", "llama2_70b"},
    {"llama-2-70b-hf", "llama2_70b"},
    {"mixtral-8x7b", "mixtral_8x7b"},
    {"mixtral-8x7b-v0.1", "mixtral_8x7b"},
    {"mixtral-8x22b", "mixtral_8x22b"},
    {"mixtral-8x22b-v0.1", "mixtral_8x22b"},
    {"qwen2.5-7b", "qwen2_5_7b"},
    {"qwen2.5-72b", "qwen2_5_72b"},
    {"qwen3-8b", "qwen3_8b"},
    {"qwen3-30b-a3b", "qwen3_30b_a3b"},
    {"qwen3-235b-a22b", "qwen3_235b_a22b"},
    {"deepseek-v3", "deepseek_v3"},
    {"deepseek-r1", "deepseek_v3"},
    {"gpt2", "gpt2"},
    {"gpt2-medium", "gpt2_medium"},
    {"gpt2-large", "gpt2_large"},
    {"gpt2-xl", "gpt2_xl"},
    {"bert-base-uncased", "bert_base"},
    {"bert-base-cased", "bert_base"},
    {"bert-large-uncased", "bert_large"},
    {"bert-large-cased", "bert_large"},
    {"opt-1.3b", "opt_1b3"},
    {"t5-base", "t5_base"},
    {"t5-large", "t5_large"},
    {"switch-base-8", "switch_base_8"},
    {"mpt-7b", "mpt_7b"},
    {"mpt-30b", "mpt_30b"},
    {"xlnet-base-cased", "xlnet_base"},
    {"xlnet-large-cased", "xlnet_large"},
});

std::string plain(std::string id) {
  id = id.substr(id.rfind('/') == std::string::npos ? 0 : id.rfind('/') + 1);
  std::ranges::transform(id, id.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view tail :
       {"-instruct-v0.1", "-instruct-2507", "-instruct", "-chat-hf", "-chat", "-base"}) {
    if (id.ends_with(tail) &&
        !std::ranges::count(kModels, std::string_view{id}, [](const auto& row) { return row.first; })) {
      id.resize(id.size() - tail.size());
    }
  }
  return id;
}

}  // namespace

std::optional<std::string> shipped_model(const std::string& id) {
  const std::string name = plain(id);
  const auto found =
      std::ranges::find(kModels, std::string_view{name}, [](const auto& row) { return row.first; });
  return found == kModels.end() ? std::nullopt : std::optional{std::string{found->second}};
}

std::string name_like(const std::string& id) {
  std::string name = plain(id);
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

bool is_model_id(const std::string& word) {
  if (shipped_model(word) && word.find_first_of(".\\") != 0) {
    return true;
  }
  const auto slash = word.find('/');
  const bool is_one_slash = slash != std::string::npos && slash > 0 &&
                            word.find('/', slash + 1) == std::string::npos && slash + 1 < word.size();
  return is_one_slash && word.front() != '.' && word.front() != '~' &&
         word.find('.', slash) == std::string::npos;
}

}  // namespace lockstep
