#include "sim/compiled_program.hpp"

#include "ops/kernel_model.hpp"

namespace lockstep {
namespace {

bool crosses_pcie(const KernelCall& call) {
  const auto* copy = std::get_if<Memcpy>(&call.work);
  return copy != nullptr && copy->path != Memcpy::Path::DeviceToDevice;
}

}  // namespace

CompiledProgram compile(const Program& program, const GpuSpec& gpu) {
  CompiledProgram compiled{&program, {}, {}};
  compiled.kernels.reserve(program.kernels.size());
  for (const KernelCall& call : program.kernels) {
    const Prediction prediction = model_for(call).predict(call, gpu);
    compiled.kernels.push_back(
        {.seconds = prediction.duration.in_base_units(),
         .band = prediction.band,
         .in_range = prediction.in_range,
         .derived = prediction.provenance == Provenance::Derived,
         .kind = crosses_pcie(call) ? KernelTiming::Kind::Transfer : KernelTiming::Kind::Compute});
  }
  for (const Program::Thread& thread : program.threads) {
    compiled.code.push_back(thread.instructions.data());
  }
  return compiled;
}

}  // namespace lockstep
