#pragma once

#include <cstdint>
#include <vector>

#include "scenario/schedule_spec.hpp"
#include "schedule/kept_model.hpp"

namespace lockstep {

/// Keeps a share of the rows and dimensions of single tables of the DLRM in @p kept, which has them still;
/// dimensions are multiples of @p multiple.
/// @throws FieldError at `tables` for a model without tables, a table that there is not or that is named
///   twice, a dimension of its own below a dot interaction
void keep_single_tables(const std::vector<KeptTablesSpec>& tables, std::int64_t multiple, KeptModel& kept);

}  // namespace lockstep
