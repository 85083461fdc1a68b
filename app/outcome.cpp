#include "app/outcome.hpp"

#include <fmt/format.h>

#include <exception>
#include <stdexcept>
#include <system_error>

#include "app/memory_report.hpp"
#include "base/error.hpp"
#include "sim/stall.hpp"

namespace lockstep {

Outcome outcome_of(const std::function<int()>& action) {
  try {
    return {action(), {}};
  } catch (const InputError& problem) {
    return {kExitInput, problem.what()};
  } catch (const StallError& problem) {
    return {kExitStalled, problem.what()};
  } catch (const OutOfMemoryError& problem) {
    return {kExitOutOfMemory, problem.what()};
  } catch (const std::system_error& problem) {  // a full disk
    return {kExitInput, problem.what()};
  } catch (const std::invalid_argument& problem) {
    return {kExitInput, problem.what()};
  } catch (const std::exception& problem) {
    return {kExitBug, fmt::format("lockstep has a bug, please report it: {}", problem.what())};
  }
}

}  // namespace lockstep
