#include "app/version.hpp"

namespace lockstep {

const char* const kVersion = "lockstep " LOCKSTEP_VERSION;

}  // namespace lockstep
