#pragma once

#include "traces/pytorch_et/execution_trace.hpp"

namespace lockstep::pytorch_et {

/// Gives the operators of a profile that was recorded without shapes the arguments that the execution trace
/// of the same rank says: shapes, types and values, as Kineto writes them with record_shapes. Operators with
/// shapes but without values (profiles before PyTorch 2.0) get the values where the shapes are the same. How
/// they were linked, and what was not, goes into the profile's report.
/// @throws InputError where less than half of the execution trace is in the profile: it is of another step
/// @return operators that have arguments or values now and had none
std::uint64_t add_arguments(kineto::RecordedTrace& profile, const ExecutionTrace& trace);

}  // namespace lockstep::pytorch_et
