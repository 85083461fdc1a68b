#include "traces/recorded_file.hpp"

#include <optional>
#include <utility>

#include "traces/foreign_profile.hpp"
#include "traces/kineto/kineto_reader.hpp"
#include "traces/kineto/split_ranks.hpp"
#include "traces/nsys/nsys_reader.hpp"

namespace lockstep {

std::vector<kineto::RecordedTrace> read_recorded(const std::string& file) {
  if (is_database(file) && nsys::is_nsys(file)) {
    return nsys::read_nsys(file);
  }
  return kineto::split_ranks(kineto::read_kineto(file));
}

std::vector<kineto::RecordedTrace> read_if_recorded(const std::string& file) {
  if (is_database(file)) {
    return nsys::is_nsys(file) ? nsys::read_nsys(file) : std::vector<kineto::RecordedTrace>{};
  }
  std::optional<kineto::RecordedTrace> trace = kineto::read_if_kineto(file);
  return trace ? kineto::split_ranks(std::move(*trace)) : std::vector<kineto::RecordedTrace>{};
}

}  // namespace lockstep
