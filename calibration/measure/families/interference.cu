#include "calibration/measure/families/collective.cuh"
#include "calibration/measure/families/families.cuh"
#include "calibration/measure/families/gemm.cuh"
#include "calibration/measure/families/memory.cuh"
#include "calibration/measure/families/peer_memory.cuh"

namespace lockstep {
namespace {

constexpr std::int64_t kCopyBytes = std::int64_t{64} << 20;
constexpr std::int64_t kSide = 4096;  // of the product: 0.14 TFLOP

Launch copy_between(const SharedMemory& to, const SharedMemory& from) {
  return [to, from](cudaStream_t stream) {
    LOCKSTEP_CHECK(
        cudaMemcpyAsync(to->as<void>(), from->as<void>(), from->bytes(), cudaMemcpyDefault, stream));
  };
}

Launch activity(const Gpu& gpu, int gpus, const std::string& name) {
  if (name == "gemm") {
    GridPoint product;
    product.set("type", "fp16").set("layout", "nn").set("library", "cublas").set("batch", 1);
    return gemm_launch(gpu, product.set("m", kSide).set("n", kSide).set("k", kSide));
  }
  if (name == "triad") {
    return memory_launch("triad", kCopyBytes);
  }
  if (name == "copy_h2d") {
    return copy_between(device_memory(kCopyBytes), pinned_memory(kCopyBytes));
  }
  if (name == "copy_d2h") {
    return copy_between(pinned_memory(kCopyBytes), device_memory(kCopyBytes));
  }
  if (name == "copy_d2d") {
    return copy_between(device_memory(kCopyBytes), device_memory(kCopyBytes));
  }
  if (name == "copy_p2p") {
    return copy_between(memory_of_peer(gpu, 1, kCopyBytes), device_memory(kCopyBytes));
  }
  if (name == "all_reduce") {
    return all_reduce_of_one_process(gpus, kCopyBytes);
  }
  throw std::logic_error{"no activity " + name};
}

/// Times some launches of the work while the other activity runs on a stream of its own, from before the
/// first until after the last. Where the other one ended too early, twice as much of it is queued and the
/// repeat is taken again.
class Beside final : public Experiment {
 public:
  Beside(const Gpu& gpu, Launch work, Launch other)
      : gpu_{gpu}, work_{std::move(work)}, other_{std::move(other)} {}

  std::vector<Seconds> repeat(std::size_t count) override {
    std::vector<Seconds> times;
    while (times.size() < count) {
      const auto [time, was_covered] = once();
      if (was_covered) {
        times.push_back(time);
      } else if ((others_ *= 2) > kMostOthers) {
        fail("the other activity could not be kept running", "repeat", __FILE__, __LINE__);
      }
    }
    return times;
  }

 private:
  std::pair<Seconds, bool> once() {
    LOCKSTEP_CHECK(cudaDeviceSynchronize());
    // Both are queued while the GPU waits, so that they start together.
    gpu_.keep_busy(beside_, static_cast<double>(others_ + kLaunches) * Seconds{20e-6});
    LOCKSTEP_CHECK(cudaEventRecord(may_start_, beside_));
    LOCKSTEP_CHECK(cudaStreamWaitEvent(gpu_.stream(), may_start_, 0));
    for (int i = 0; i < others_; ++i) {
      other_(beside_);
    }
    LOCKSTEP_CHECK(cudaEventRecord(other_ends_, beside_));
    work_(gpu_.stream());  // while the other one starts: not timed
    LOCKSTEP_CHECK(cudaEventRecord(begin_, gpu_.stream()));
    for (int i = 0; i < kLaunches; ++i) {
      work_(gpu_.stream());
    }
    LOCKSTEP_CHECK(cudaEventRecord(end_, gpu_.stream()));
    LOCKSTEP_CHECK(cudaDeviceSynchronize());
    return {between(begin_, end_) / kLaunches, between(end_, other_ends_) >= Seconds{0}};
  }

  static constexpr int kLaunches = 8;
  static constexpr int kMostOthers = 512;  // a stream queues about 1024 launches

  const Gpu& gpu_;
  Launch work_;
  Launch other_;
  Stream beside_;
  Event may_start_;
  Event begin_;
  Event end_;
  Event other_ends_;
  int others_ = 8;
};

}  // namespace

std::unique_ptr<Experiment> interference_experiment(const Gpu& gpu, int gpus, const GridPoint& point) {
  Launch work = activity(gpu, gpus, point.text("work"));
  if (point.text("beside") == "nothing") {
    return gpu_experiment(gpu, Cache::Warm, std::move(work));
  }
  return std::make_unique<Beside>(gpu, std::move(work), activity(gpu, gpus, point.text("beside")));
}

}  // namespace lockstep
