#include <set>
#include <string>
#include <vector>

#include "generate/runtime/families.cuh"

namespace benchmark {
namespace {

using Make = Launch (*)(Device&, const Call&);

struct FamilyOfWork {
  const char* work;
  Make make;
};

/// The works of this program's table.
constexpr FamilyOfWork kFamilies[] = {
#define BENCHMARK_WORK(work, make) {work, make},
#include "generate/runtime/families.inc"
#undef BENCHMARK_WORK
    {nullptr, nullptr}};

Launch make_call(Device& device, const Call& call) {
  for (const FamilyOfWork* family = kFamilies; family->work != nullptr; ++family) {
    if (call.work == family->work) {
      return family->make(device, call);
    }
  }
  fail("this program was not written for work '" + call.work + "'", "operations.txt");
}

/// Families whose kernels are bound by memory: what stands for one of them reads all the while.
bool is_bound_by_memory(const std::string& family) {
  for (const char* word : {"pointwise", "elementwise", "element-wise", "reduc", "copy", "copies", "concat",
                           "memset", "optimizer", "norm", "softmax", "embedding"}) {
    if (family.find(word) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

namespace {

/// The calls of a kernel, one after the other.
Launch make_calls(Device& device, const std::vector<Call>& calls) {
  std::vector<Launch> launches;
  for (const Call& call : calls) {
    launches.push_back(make_call(device, call));
  }
  if (launches.size() == 1) {
    return launches.front();
  }
  return [launches](cudaStream_t stream) {
    for (const Launch& one : launches) {
      one(stream);
    }
  };
}

}  // namespace

Launch make_kernel(Device& device, const Kernel& kernel) {
  if (kernel.backend == "part" || kernel.backend == "skipped") {
    return {};
  }
  if (kernel.backend == "busy") {
    return make_busy(device, kernel.seconds + kernel.delay, is_bound_by_memory(kernel.family));
  }
  Launch calls = make_calls(device, kernel.calls);
  if (kernel.delay <= 0) {
    return calls;
  }
  return [calls, rest = make_delay(kernel.delay)](cudaStream_t stream) {
    calls(stream);
    rest(stream);
  };
}

}  // namespace benchmark
