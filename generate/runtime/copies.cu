#include <algorithm>

#include "generate/runtime/families.cuh"

namespace benchmark {
namespace {

/// Host memory, page-locked or not, that lives as long as the launches that use it.
class HostMemory {
 public:
  HostMemory(std::size_t bytes, bool pinned) : pinned_{pinned}, pageable_(pinned ? 0 : bytes, 'x') {
    if (pinned) {
      BENCHMARK_CHECK(cudaMallocHost(&address_, bytes));
    } else {
      address_ = pageable_.data();
    }
  }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory() {
    if (pinned_) {
      static_cast<void>(cudaFreeHost(address_));
    }
  }
  [[nodiscard]] void* address() const { return address_; }

 private:
  bool pinned_;
  std::vector<char> pageable_;
  void* address_ = nullptr;
};

enum Path { kHostToDevice, kDeviceToHost, kDeviceToDevice };

}  // namespace

Launch make_copy(Device& device, const Call& call) {
  const std::int64_t bytes = std::max<std::int64_t>(call.integer("size"), 1);
  const auto count = static_cast<std::size_t>(bytes);
  Arena& output = device.output();
  output.need(bytes);
  if (call.work == "memset") {
    return [=, &output](cudaStream_t stream) {
      BENCHMARK_CHECK(cudaMemsetAsync(output.take(bytes), 0, count, stream));
    };
  }
  const std::int64_t path = call.integer("path", kDeviceToDevice);
  if (path == kDeviceToDevice) {
    Arena& input = device.input("fp32");
    input.need(bytes);
    return [=, &input, &output](cudaStream_t stream) {
      BENCHMARK_CHECK(
          cudaMemcpyAsync(output.take(bytes), input.take(bytes), count, cudaMemcpyDeviceToDevice, stream));
    };
  }
  const auto host = std::make_shared<HostMemory>(count, call.integer("pinned", 1) == 1);
  if (path == kHostToDevice) {
    return [=, &output](cudaStream_t stream) {
      BENCHMARK_CHECK(
          cudaMemcpyAsync(output.take(bytes), host->address(), count, cudaMemcpyHostToDevice, stream));
    };
  }
  return [=, &output](cudaStream_t stream) {
    BENCHMARK_CHECK(
        cudaMemcpyAsync(host->address(), output.take(bytes), count, cudaMemcpyDeviceToHost, stream));
  };
}

}  // namespace benchmark
