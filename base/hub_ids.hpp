#pragma once

#include <optional>
#include <string>

namespace lockstep {

/// The name in configs/models of a model id of Hugging Face's hub, `meta-llama/Meta-Llama-3-70B`, or of
/// Megatron's tokenizers and torchtitan's folders, which are named so. std::nullopt: none ships.
[[nodiscard]] std::optional<std::string> shipped_model(const std::string& id);

/// An id as names in configs/models are written: `llama_3_70b` of `meta-llama/Llama-3-70B`.
[[nodiscard]] std::string name_like(const std::string& id);

/// Whether a word looks like an id, `organisation/model`, and not like a path of a file.
[[nodiscard]] bool is_model_id(const std::string& word);

}  // namespace lockstep
