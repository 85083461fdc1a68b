#pragma once

#include <filesystem>
#include <string>

#include "synth/model.hpp"

namespace lockstep::synth {

/// `schema` of the files.
inline constexpr const char* kModelSchema = "lockstep-synth.1";

/// The model as JSON. Numbers are written so that the same are read back.
[[nodiscard]] std::string to_json(const Model& model);

/// @throws InputError for a file that cannot be read, is no JSON, of another schema, or holds what no model
/// can
[[nodiscard]] Model read_model(const std::filesystem::path& path);

}  // namespace lockstep::synth
