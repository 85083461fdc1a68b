#pragma once

#include "import/draft.hpp"
#include "import/source_file.hpp"

namespace lockstep::importing {

/// A model's `config.json` of Hugging Face's transformers: JSON with `model_type` or `architectures`.
[[nodiscard]] bool is_hugging_face(const SourceFile& file);

/// Reads the shapes of the model. A type of model that is not known is read as a Llama, and said so.
/// @throws InputError for a config without sizes
void read_hugging_face(const SourceFile& file, Draft& draft);

}  // namespace lockstep::importing
