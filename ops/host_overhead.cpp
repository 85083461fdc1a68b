#include "ops/host_overhead.hpp"

namespace lockstep {

void OperatorOverhead::check() const {
  const Seconds none{0};
  if (before_first_launch < none) throw FieldError("before_first_launch", "must not be negative");
  if (after_last_launch < none) throw FieldError("after_last_launch", "must not be negative");
  if (between_launches < none) throw FieldError("between_launches", "must not be negative");
  if (without_launch < none) throw FieldError("without_launch", "must not be negative");
  if (!(spread >= 0)) throw FieldError("spread", "must not be negative: 0.2 is a fifth of the mean");
}

void HostOverheads::check() const {
  if (between_operators < Seconds{0}) throw FieldError("between_operators", "must not be negative");
  if (between_modules() < Seconds{0}) {
    throw FieldError("between_module_operators", "must not be negative");
  }
  if (synchronize_return < Seconds{0}) throw FieldError("synchronize_return", "must not be negative");
  if (backward_start < Seconds{0}) throw FieldError("backward_start", "must not be negative");
  if (backward_return < Seconds{0}) throw FieldError("backward_return", "must not be negative");
  if (!(spread >= 0 && spread <= 1)) throw FieldError("spread", "is a part of the mean, 0 to 1");
  if (!(speed > 0)) throw FieldError("speed", "must be greater than 0: 1 is the measured CPU");
  if (!runtime_calls.contains(RuntimeCall::LaunchKernel)) {
    throw FieldError("runtime_calls", "launch_kernel is missing: calls not listed cost as much as it");
  }
  for (const auto& [call, duration] : runtime_calls) {
    if (duration < Seconds{0}) throw FieldError("runtime_calls", name_of(call) + " must not be negative");
  }
  check_keys<HostOverheads>(provenance);
}

HostOverheads HostOverheads::at_speed() const {
  HostOverheads other = *this;
  const auto scale = [this](Seconds& time) { time = time / speed; };
  const auto scale_all = [&](OperatorOverhead& of) {
    scale(of.before_first_launch);
    scale(of.after_last_launch);
    scale(of.between_launches);
    scale(of.without_launch);
  };
  scale(other.between_operators);
  if (other.between_module_operators) {
    scale(*other.between_module_operators);
  }
  scale(other.synchronize_return);
  scale(other.backward_start);
  scale(other.backward_return);
  scale_all(other.fallback);
  for (auto& [operator_name, of] : other.operators) {
    scale_all(of);
  }
  for (auto& [call, time] : other.runtime_calls) {
    scale(time);
  }
  other.speed = 1;
  return other;
}

const OperatorOverhead& HostOverheads::of(std::string_view operator_name) const {
  const auto found = operators.find(operator_name);
  return found == operators.end() ? fallback : found->second;
}

Seconds HostOverheads::duration_of(RuntimeCall call) const {
  const auto found = runtime_calls.find(call);
  if (call == RuntimeCall::Malloc || call == RuntimeCall::Free) {
    return runtime_calls.at(call);
  }
  return found == runtime_calls.end() ? runtime_calls.at(RuntimeCall::LaunchKernel) : found->second;
}

}  // namespace lockstep
