#pragma once

#include "base/config_path.hpp"
#include "import/draft.hpp"

namespace lockstep::importing {

/// Completes a draft: chooses whose code the model is, and assumes what no file says (machine, batch,
/// precision), each with the words "assumed: ". A draft of a machine alone gets its `cluster` only.
void settle(Draft& draft, const ConfigPath& configs);

/// Whether the files say something of a job, and not of a machine alone.
[[nodiscard]] bool has_job(const Draft& draft);

}  // namespace lockstep::importing
