#include "ops/gpu/gpu_spec.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <utility>

#include "base/parameters.hpp"
#include "ops/gpu/learned_scale.hpp"

namespace lockstep {
namespace {

/// The numbers that kernels' durations follow from and that nothing is known to support: a set of
/// efficiencies that was fitted on a GPU is not of one whose numbers are guessed. l2_bandwidth, of which
/// makers say nothing, is guessed of many GPUs; a set was fitted with it as it is, and only where it is set
/// anew it is another's. Empty: there are none.
std::string guessed_numbers(const GpuSpec& gpu) {
  std::string guessed;
  const auto add = [&](const char* key, const Evidence& evidence) {
    guessed += fmt::format("{}{}{}", guessed.empty() ? "" : ", ", key,
                           is_set_anew(evidence) ? fmt::format(" ({})", evidence.source) : "");
  };
  for (const char* key : {"sm_count", "cores_per_sm", "peak.fp32", "peak.tf32", "peak.fp16", "peak.bf16",
                          "memory_bandwidth", "l2"}) {
    if (const Evidence& evidence = evidence_for(gpu.provenance, key); evidence.is == Provenance::Guessed) {
      add(key, evidence);
    }
  }
  if (const Evidence& evidence = evidence_for(gpu.provenance, "l2_bandwidth"); is_set_anew(evidence)) {
    add("l2_bandwidth", evidence);
  }
  return guessed;
}

/// In which numbers the GPU is no longer the one that @p networks were fitted for; empty: in none.
std::string rescaled(const Named<LearnedKernels>& networks, const GpuSpec& gpu) {
  const auto fitted = networks->scale.find(gpu.name);
  if (fitted == networks->scale.end()) return {};
  const std::string other = differences(fitted->second, scale_of(gpu));
  return other.empty() ? "" : fmt::format("'{}' was fitted with {}", networks.name, other);
}

void check_memory(GpuSpec& gpu) {
  const bool is_of_another = is_set_anew(evidence_for(gpu.provenance, "memory")) &&
                             !is_set_anew(evidence_for(gpu.provenance, "usable_memory"));
  if (is_of_another) {
    gpu.usable_memory.reset();
  }
  if (gpu.usable_memory && (!(*gpu.usable_memory > Bytes{0}) || *gpu.usable_memory > gpu.memory)) {
    throw FieldError{"usable_memory",
                     fmt::format("must be above 0, and at most the {} of 'memory'", gpu.memory)};
  }
}

}  // namespace

void GpuSpec::check() {
  using Positive = std::pair<const char*, double>;
  for (const auto& [key, value] :
       {Positive{"sm_count", sm_count}, Positive{"cores_per_sm", cores_per_sm},
        Positive{"threads_per_sm", threads_per_sm}, Positive{"peak", peak.fp32.in_base_units()},
        Positive{"memory", memory.in_base_units()},
        Positive{"memory_bandwidth", memory_bandwidth.in_base_units()},
        Positive{"l2", l2_size.in_base_units()}, Positive{"l2_bandwidth", l2_bandwidth.in_base_units()},
        Positive{"l2_partitions", l2_partitions}, Positive{"copy_engines", copy_engines},
        Positive{"launch_queue", launch_queue}, Positive{"host_copy", host_copy.pinned.in_base_units()},
        Positive{"host_copy", host_copy.pageable.in_base_units()}}) {
    if (!(value > 0)) throw FieldError(key, "must be above 0");
  }
  if (l1_size < Bytes{0}) throw FieldError("l1", "must not be negative");
  if (kernel_minimum < Seconds{0}) throw FieldError("kernel_minimum", "must not be negative");
  if (launch_to_start < Seconds{0}) throw FieldError("launch_to_start", "must not be negative");
  if (kernel_gap < Seconds{0}) throw FieldError("kernel_gap", "must not be negative");
  if (communication.sm_count < 0 || communication.sm_count >= sm_count) {
    throw FieldError("communication", "a communication kernel occupies 0 or more SMs, but not all");
  }
  if (communication.memory_bandwidth < 0 || communication.memory_bandwidth >= 1) {
    throw FieldError("communication", "memory_bandwidth is a fraction of at least 0, below 1");
  }
  if (learned && !(*learned)->measured_on(name)) {
    throw FieldError(
        "learned", fmt::format("the networks of '{}' were measured on {}, not on '{}': say 'learned: ~' for "
                               "formulas, or name '{}' under the 'gpus' of a copy of theirs",
                               learned->name, fmt::join((*learned)->gpus, ", "), name, name));
  }
  check_memory(*this);
  check_keys<GpuSpec>(provenance);
  if (const std::string guessed = guessed_numbers(*this); !guessed.empty()) {
    if (learned) {
      silent_because = "guessed: " + guessed;
      learned.reset();
    }
    if (is_own(evidence_for(provenance, "efficiency").is)) {
      lent_because =
          fmt::format("guessed: {}{}", guessed, silent_because.empty() ? "" : "; the networks do not answer");
      provenance["efficiency"] = {Provenance::Derived,
                                  fmt::format("{}'s; {}", efficiency.name, lent_because),
                                  std::nullopt,
                                  std::nullopt,
                                  {}};
    }
  }
  if (learned) silent_because = rescaled(*learned, *this);
  if (!silent_because.empty()) learned.reset();
  if (!is_own(evidence_for(provenance, "efficiency").is)) {
    efficiency.value.lend();
  }
}

}  // namespace lockstep
