#pragma once

#include <string>

#include "import/draft.hpp"
#include "traces/imported_traces.hpp"

namespace lockstep {

/// Files that describe a job or a machine, as a scenario: {read, scenario, remarks: [{kind, file, line, key,
/// why}], launch}.
/// @param launch flags that start the job; empty: not asked for
[[nodiscard]] std::string draft_json(const importing::Draft& draft, const std::string& launch);

/// Contents of traces: {traces: [{file, kind, ..., oddities: [{kind, meaning, severity, count}]}], no_traces,
/// damaged}.
[[nodiscard]] std::string traces_json(const ImportedTraces& traces);

}  // namespace lockstep
