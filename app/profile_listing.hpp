#pragma once

/// @file
/// What a profile covers and how well: `lockstep calibrate show`.

#include <string>
#include <vector>

#include "base/config_path.hpp"
#include "base/provenance.hpp"

namespace lockstep {

struct ListedNumber {
  std::string key;     ///< its path, e.g. `host_copy.pinned`
  std::string value;   ///< with its unit, as YAML
  std::string origin;  ///< `configs/gpus/a100_40gb.yaml:12`, `default`
  Evidence evidence;
};

/// The kernel model of a large kernel on a GPU, with its provenance and band.
struct ListedKernel {
  std::string work;  ///< `matrix product, fp16`
  std::string model;
  Provenance provenance = Provenance::Guessed;
  double band = 0;  ///< relative half-width
};

/// A GPU with its set of efficiencies, such a set, the collectives of a class of machines, a host, or
/// networks for kernels: of these the range of what each sees, as `gemm fp16 nt: log_depth`.
struct ProfileListing {
  std::string kind;  ///< folder in configs/: gpus, kernel_efficiency, profiles, hosts, learned_kernels
  std::string name;
  std::string source;
  std::vector<ListedNumber> numbers;
  std::vector<ListedKernel> kernels;  ///< of a GPU
  std::string remark{};               ///< of a GPU whose networks do not answer: why; else empty
};

/// @param name_or_path a name of those folders, the first that has it, or a file like those
/// @throws InputError for a file that is none of them or has errors, std::invalid_argument for an unknown
/// name
[[nodiscard]] ProfileListing list_profile(const std::string& name_or_path, const ConfigPath& configs);

/// The numbers by what they rest on, best first, and the kernel models.
[[nodiscard]] std::string listing_text(const ProfileListing& listing);
[[nodiscard]] std::string listing_json(const ProfileListing& listing);

}  // namespace lockstep
