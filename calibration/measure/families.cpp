#include <fmt/format.h>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "calibration/measure/family.hpp"
#include "calibration/measure/grids/grids.hpp"

namespace lockstep {

const std::vector<Family>& measured_families() {
  static const std::vector<Family> families{
      host_call_family(),    memory_family(),    copy_family(),          gemm_family(),
      elementwise_family(),  reduction_family(), normalisation_family(), embedding_family(),
      interference_family(), collective_family()};
  return families;
}

const Family& family_named(const std::string& name) {
  std::vector<std::string> known;
  for (const Family& family : measured_families()) {
    if (family.name == name) {
      return family;
    }
    known.push_back(family.name);
  }
  throw InputError{{"--only"}, fmt::format("there is no family '{}'{}", name, did_you_mean(name, known))};
}

Seconds expected_time(const Family& family, std::size_t points, Extent extent) {
  return static_cast<double>(points) * (extent == Extent::Quick ? family.quick_point : family.full_point);
}

}  // namespace lockstep
