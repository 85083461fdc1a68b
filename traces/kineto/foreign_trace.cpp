#include "traces/kineto/foreign_trace.hpp"

#include "traces/foreign_profile.hpp"

namespace lockstep::kineto {

std::string foreign_trace(const RecordedTrace& trace) {
  for (const auto& [pid, name] : trace.processes) {
    if (std::string whose = foreign_process(name); !whose.empty()) {
      return whose;
    }
  }
  return "";
}

}  // namespace lockstep::kineto
