#include "scenario/outcome.hpp"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

#include "scenario/memory_demand.hpp"
#include "scenario/plan_file_meant.hpp"
#include "base/error.hpp"
#include "sim/stall.hpp"

namespace lockstep {

Outcome outcome_of(const std::function<int()>& action) {
  try {
    return {action(), {}};
  } catch (const InputError& problem) {
    const std::string meant = plan_file_meant(problem);
    return {kExitInput, meant.empty() ? problem.what() : meant};
  } catch (const StallError& problem) {
    return {kExitStalled, problem.what()};
  } catch (const OutOfMemoryError& problem) {
    return {kExitOutOfMemory, problem.what()};
  } catch (const std::bad_alloc&) {
    return {kExitNoMemory, kNoMemory};
  } catch (const std::system_error& problem) {  // a full disk, or no thread can be started
    if (problem.code() == std::errc::resource_unavailable_try_again) {
      return {kExitNoMemory, kNoMemory};
    }
    return {kExitInput, problem.what()};
  } catch (const std::invalid_argument& problem) {
    return {kExitInput, problem.what()};
  } catch (const std::exception& problem) {
    return {kExitBug, fmt::format("lockstep has a bug, please report it: {}", problem.what())};
  }
}

}  // namespace lockstep
