#include "generate/runtime/device.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>

#include "calibration/measure/kernels/fill.cuh"

namespace benchmark {

void fail(const std::string& reason, const char* call) {
  throw Failure{std::string{call} + ": " + reason};
}

Memory::Memory(std::size_t bytes) : bytes_{std::max<std::size_t>(bytes, 256)} {
  BENCHMARK_CHECK(cudaMalloc(&address_, bytes_));
}

Memory::~Memory() {
  static_cast<void>(cudaFree(address_));
}

void Arena::allocate(std::int64_t apart, const std::string& type, std::uint32_t seed) {
  if (largest_ == 0) {
    return;
  }
  span_ = padded(std::max(apart, largest_));
  memory_ = std::make_unique<Memory>(static_cast<std::size_t>(bytes()));
  if (!type.empty()) {
    fill_random(*memory_, type, seed);
  }
}

std::int64_t bytes_of_type(const std::string& type) {
  static const std::map<std::string, std::int64_t> bytes{{"fp32", 4},  {"tf32", 4},  {"fp16", 2},
                                                         {"bf16", 2},  {"fp8", 1},   {"int32", 4},
                                                         {"int64", 8}, {"uint8", 1}, {"bool", 1}};
  const auto found = bytes.find(type);
  if (found == bytes.end()) {
    fail("there is no type '" + type + "'", "operations.txt");
  }
  return found->second;
}

namespace {

template <class T>
void fill_as(Memory& memory, std::uint32_t seed) {
  constexpr Grid kGrid{dim3{1024}};
  const auto count = static_cast<std::int64_t>(memory.bytes() / sizeof(T));
  launch(lockstep::fill<T>, kGrid, nullptr, memory.as<T>(), count, seed);
}

}  // namespace

void fill_random(Memory& memory, const std::string& type, std::uint32_t seed) {
  if (type == "fp16") {
    fill_as<__half>(memory, seed);
  } else if (type == "bf16") {
    fill_as<__nv_bfloat16>(memory, seed);
  } else if (type == "fp8") {
    fill_as<__nv_fp8_e4m3>(memory, seed);
  } else {
    fill_as<float>(memory, seed);
  }
}

Device::Device(int device, std::uint32_t seed) : device_{device}, seed_{seed} {
  BENCHMARK_CHECK(cudaSetDevice(device));
  BENCHMARK_CHECK(cudaGetDeviceProperties(&properties_, device));
  output_.is_written();
}

Device::~Device() {
  static_cast<void>(cudaSetDevice(device_));
}

Memory& Device::keep(std::int64_t bytes, const std::string& type) {
  kept_.push_back(std::make_unique<Memory>(static_cast<std::size_t>(bytes)));
  if (type.empty()) {
    BENCHMARK_CHECK(cudaMemset(kept_.back()->as<void>(), 0, kept_.back()->bytes()));
  } else {
    fill_random(*kept_.back(), type, seed_ + static_cast<std::uint32_t>(kept_.size()));
  }
  return *kept_.back();
}

char* Device::plan(std::int64_t bytes) {
  planned_ = std::make_unique<Memory>(static_cast<std::size_t>(bytes));
  fill_random(*planned_, "bf16", seed_);  // pairs of them are sound numbers of 32 bits, too
  return planned_->as<char>();
}

OperandCounts Device::operand_counts() const {
  OperandCounts sum = output_.counts();
  for (const auto& [type, arena] : inputs_) {
    sum.planned += arena.counts().planned;
    sum.in_turn += arena.counts().in_turn;
  }
  return sum;
}

void Device::allocate() {
  const std::int64_t apart = 2 * static_cast<std::int64_t>(properties_.l2CacheSize);
  try {
    for (auto& [type, arena] : inputs_) {
      arena.allocate(apart, type, seed_);
    }
    output_.allocate(apart, "", seed_);
  } catch (const Failure& problem) {
    std::int64_t tables = 0;
    for (const auto& memory : kept_) {
      tables += static_cast<std::int64_t>(memory->bytes());
    }
    std::int64_t arenas = output_.bytes();
    for (const auto& [type, arena] : inputs_) {
      arenas += arena.bytes();
    }
    const auto mib = [](std::int64_t bytes) { return std::to_string(bytes >> 20U) + " MiB"; };
    throw Failure{std::string{problem.what()} + "; needed are " + mib(tables) +
                  " of tables and workspaces, " +
                  mib(planned_ ? static_cast<std::int64_t>(planned_->bytes()) : 0) + " of planned tensors, " +
                  mib(arenas) + " of operands in turn"};
  }
  BENCHMARK_CHECK(cudaDeviceSynchronize());
}

}  // namespace benchmark
