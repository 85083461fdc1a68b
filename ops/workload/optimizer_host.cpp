#include "ops/workload/optimizer_host.hpp"

namespace lockstep {

void OptimizerHost::write(StepWriter& step, double share, std::size_t parameters) {
  ProgramBuilder& program = step.program();
  program.host_work(kOptimizerHost,
                    share * static_cast<double>(parameters) * program.host().between_operators);
}

}  // namespace lockstep
