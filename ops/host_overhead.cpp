#include "ops/host_overhead.hpp"

namespace lockstep {

const OperatorOverhead& HostOverheads::of(std::string_view operator_name) const {
  const auto found = operators.find(operator_name);
  return found == operators.end() ? fallback : found->second;
}

Seconds HostOverheads::duration_of(RuntimeCall call) const {
  const auto found = runtime_calls.find(call);
  return found == runtime_calls.end() ? runtime_calls.at(RuntimeCall::LaunchKernel) : found->second;
}

}  // namespace lockstep
