#include "generate/runtime/rank_run.cuh"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <mutex>
#include <thread>

#include "generate/runtime/clock.cuh"
#include "generate/runtime/families.cuh"

namespace benchmark {
namespace {

__global__ void nothing() {}

double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Seconds on the GPU between two events that have happened.
double between(cudaEvent_t first, cudaEvent_t second) {
  float milliseconds = 0;
  BENCHMARK_CHECK(cudaEventElapsedTime(&milliseconds, first, second));
  return 1e-3 * static_cast<double>(milliseconds);
}

/// Log of the operations that all threads issue in the first step, one line each.
class Log {
 public:
  explicit Log(const std::string& file) {
    if (!file.empty()) {
      stream_.open(file);
    }
  }
  [[nodiscard]] bool is_open() const { return stream_.is_open(); }
  void write(std::size_t thread, const Instruction& i, std::uint32_t operand) {
    const std::lock_guard lock{mutex_};
    stream_ << thread << ' ' << opcode_names()[static_cast<std::size_t>(i.op)] << ' ' << int{i.stream} << ' '
            << operand << '\n';
  }

 private:
  std::mutex mutex_;
  std::ofstream stream_;
};

class RankRun {
 public:
  RankRun(const Table& table, std::uint32_t rank, int device, Rendezvous& rendezvous,
          const RunOptions& options)
      : rank_{table.ranks.at(rank)},
        program_{table.programs.at(rank_.program)},
        groups_{table.groups},
        options_{options},
        device_{device, table.seed + rank},
        communicators_{device_, table, rank, rendezvous},
        log_{options.log},
        posts_(program_.flags) {
    make_launches(table, rank);
    device_.allocate();
    make_streams();
    batches_ = batch_marks();
  }

  ~RankRun() {
    for (const cudaEvent_t event : events_) {
      static_cast<void>(cudaEventDestroy(event));
    }
    for (const cudaStream_t stream : streams_) {
      static_cast<void>(cudaStreamDestroy(stream));
    }
  }
  RankRun(const RankRun&) = delete;
  RankRun& operator=(const RankRun&) = delete;

  Measured run() {
    Measured made;
    made.gpu = device_.properties().name;
    made.launch = time_of_launch();
    make_step_ends();
    std::vector<std::thread> threads;
    for (std::size_t number = 1; number < program_.threads.size(); ++number) {
      threads.emplace_back([this, number] { guarded([&] { run_thread(number); }); });
    }
    guarded([&] { run_thread(0); });
    for (std::thread& thread : threads) {
      thread.join();
    }
    if (problem_) {
      std::rethrow_exception(problem_);
    }
    BENCHMARK_CHECK(cudaDeviceSynchronize());
    read_steps(made);
    time_kernels(made);
    std::size_t unused = 0;
    std::size_t total = 0;
    BENCHMARK_CHECK(cudaMemGetInfo(&unused, &total));
    made.memory = static_cast<std::int64_t>(total - unused);
    return made;
  }

 private:
  [[nodiscard]] std::uint32_t kernel_number(const Instruction& i) const {
    return i.per_rank ? rank_.kernel_slots.at(i.operand) : i.operand;
  }

  void make_launches(const Table& table, std::uint32_t rank) {
    kernels_.resize(program_.kernels.size());
    std::vector<bool> used(program_.kernels.size(), false);
    for (const Thread& thread : program_.threads) {
      for (const Instruction& i : thread.instructions) {
        if (i.op == Opcode::Launch) {
          used.at(kernel_number(i)) = true;
        }
      }
    }
    for (std::size_t i = 0; i < used.size(); ++i) {
      const Kernel& kernel = program_.kernels[i];
      if (used[i]) {
        kernels_[i] = make_kernel(device_, kernel);
      }
      labels_.push_back("kernel " + std::to_string(i) + ": " + kernel.name + ", " +
                        std::to_string(1e6 * kernel.seconds) + " us");
    }
    for (const CollectiveUse& use : collectives_of(table, rank)) {
      collectives_.push_back(communicators_.make(use));
    }
  }

  void make_streams() {
    streams_.resize(program_.streams.size());
    for (cudaStream_t& stream : streams_) {
      BENCHMARK_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
    events_.resize(program_.events);
    for (cudaEvent_t& event : events_) {
      BENCHMARK_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
  }

  /// Sends and receives of one batch follow each other on a stream: where it begins (1) and ends (2).
  [[nodiscard]] std::vector<std::vector<char>> batch_marks() const {
    std::vector<std::vector<char>> marks;
    for (const Thread& thread : program_.threads) {
      std::vector<char> of_thread(thread.instructions.size(), 0);
      const Collective* open = nullptr;
      std::size_t last = 0;
      for (std::size_t at = 0; at < thread.instructions.size(); ++at) {
        const Instruction& i = thread.instructions[at];
        if (i.op == Opcode::Host || i.op == Opcode::Open || i.op == Opcode::Close || i.op == Opcode::Lag) {
          continue;
        }
        const Collective* call = nullptr;
        if (i.op == Opcode::Collective) {
          call = &program_.collectives.at(i.per_rank ? rank_.collective_slots.at(i.operand) : i.operand);
          if (groups_[rank_.groups.at(call->group)].ranks.size() == 1) {
            continue;  // stands for a message of the batch to a rank that is not there
          }
          call = call->batched ? call : nullptr;
        }
        const bool goes_on = open != nullptr && call != nullptr && call->group == open->group &&
                             i.stream == thread.instructions[last].stream;
        if (open != nullptr && !goes_on) {
          of_thread[last] = static_cast<char>(of_thread[last] | kBatchEnds);
        }
        if (call != nullptr) {
          of_thread[at] = goes_on ? 0 : kBatchBegins;
          last = at;
        }
        open = call;
      }
      if (open != nullptr) {
        of_thread[last] = static_cast<char>(of_thread[last] | kBatchEnds);
      }
      marks.push_back(std::move(of_thread));
    }
    return marks;
  }

  template <class Action>
  void guarded(const Action& action) {
    try {
      BENCHMARK_CHECK(cudaSetDevice(device_.number()));
      action();
    } catch (...) {
      const std::lock_guard lock{problem_mutex_};
      if (!problem_) {
        problem_ = std::current_exception();
      }
      stopped_ = true;
    }
  }

  /// Host time: due() is when the thread would be where it is, had its calls taken what was recorded.
  class HostClock {
   public:
    explicit HostClock(bool recorded) : recorded_{recorded}, due_{host_now()} {}
    void spend(float seconds) {
      if (recorded_ && seconds > 0) {
        due_ += static_cast<double>(seconds);
        late_ += restart_if_late(wait_until(due_));
      }
    }
    void has_waited() { due_ = host_now(); }
    [[nodiscard]] double late() const { return late_; }

   private:
    double restart_if_late(double late) {
      due_ += late;
      return late;
    }
    bool recorded_;
    double due_;
    double late_ = 0;
  };

  void run_thread(std::size_t number) {
    const std::vector<Instruction>& code = program_.threads[number].instructions;
    const std::size_t first_collective = collectives_before(number);
    HostClock clock{options_.host_recorded};
    std::vector<std::uint64_t> awaited(program_.flags, 0);
    for (int step = 0; step < options_.warm_up + options_.steps; ++step) {
      std::size_t collective = first_collective;
      const double late_before = clock.late();
      for (std::size_t at = 0; at < code.size() && !stopped_; ++at) {
        const Instruction& i = code[at];
        if (i.op == Opcode::Lag) {
          continue;  // the GPU has its own
        }
        if (step == 0 && log_.is_open()) {
          log_.write(number, i, i.op == Opcode::Launch ? kernel_number(i) : i.operand);
        }
        clock.spend(i.lead);
        perform(i, batches_[number][at], collective, awaited, clock);
        clock.spend(i.cost);
      }
      if (number == 0) {
        end_step(step);
        late_.push_back(clock.late() - late_before);
      }
    }
  }

  /// Collectives that the threads before this one call in a step.
  [[nodiscard]] std::size_t collectives_before(std::size_t thread) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < thread; ++i) {
      const auto& code = program_.threads[i].instructions;
      count += static_cast<std::size_t>(std::count_if(
          code.begin(), code.end(), [](const Instruction& each) { return each.op == Opcode::Collective; }));
    }
    return count;
  }

  void perform(const Instruction& i, char batch, std::size_t& collective, std::vector<std::uint64_t>& awaited,
               HostClock& clock) {
    switch (i.op) {
      case Opcode::Launch:
        launch_kernel(kernel_number(i), streams_[i.stream]);
        break;
      case Opcode::Collective:
        if ((batch & kBatchBegins) != 0) {
          Communicators::begin_batch();
        }
        collectives_[collective++](streams_[i.stream]);
        if ((batch & kBatchEnds) != 0) {
          Communicators::end_batch();
        }
        break;
      case Opcode::Record:
        BENCHMARK_CHECK(cudaEventRecord(events_[i.operand], streams_[i.stream]));
        break;
      case Opcode::StreamWait:
        BENCHMARK_CHECK(cudaStreamWaitEvent(streams_[i.stream], events_[i.operand], 0));
        break;
      case Opcode::WaitEvent:
        BENCHMARK_CHECK(cudaEventSynchronize(events_[i.operand]));
        clock.has_waited();
        break;
      case Opcode::WaitStream:
        BENCHMARK_CHECK(cudaStreamSynchronize(streams_[i.stream]));
        clock.has_waited();
        break;
      case Opcode::WaitDevice:
        for (const cudaStream_t stream : streams_) {
          BENCHMARK_CHECK(cudaStreamSynchronize(stream));
        }
        clock.has_waited();
        break;
      case Opcode::Post:
        posts_[i.operand].fetch_add(1, std::memory_order_release);
        break;
      case Opcode::Await:
        ++awaited[i.operand];
        while (posts_[i.operand].load(std::memory_order_acquire) < awaited[i.operand] && !stopped_) {
          std::this_thread::yield();
        }
        clock.has_waited();
        break;
      case Opcode::Host:
      case Opcode::Open:
      case Opcode::Close:
      case Opcode::Lag:
        break;
    }
  }

  void launch_kernel(std::uint32_t number, cudaStream_t stream) const {
    const Launch& kernel = kernels_[number];
    if (!kernel) {
      return;
    }
    if (options_.annotate) {
      nvtxRangePushA(labels_[number].c_str());
    }
    kernel(stream);
    if (options_.annotate) {
      nvtxRangePop();
    }
  }

  /// Host time of a launch: the median of 1,000.
  [[nodiscard]] double time_of_launch() const {
    constexpr int kLaunches = 1000;
    std::vector<double> times;
    for (int i = 0; i < kLaunches; ++i) {
      const double begin = host_now();
      launch(nothing, Grid{dim3{1}, 32}, streams_.empty() ? nullptr : streams_.front());
      times.push_back(host_now() - begin);
      if (i % 100 == 0) {
        BENCHMARK_CHECK(cudaDeviceSynchronize());
      }
    }
    BENCHMARK_CHECK(cudaDeviceSynchronize());
    return median(times);
  }

  void make_step_ends() {
    const auto steps = static_cast<std::size_t>(options_.warm_up + options_.steps);
    step_ends_.assign(steps, std::vector<cudaEvent_t>(streams_.size()));
    for (std::vector<cudaEvent_t>& ends : step_ends_) {
      for (cudaEvent_t& event : ends) {
        BENCHMARK_CHECK(cudaEventCreateWithFlags(&event, cudaEventDefault));
        events_.push_back(event);
      }
    }
    BENCHMARK_CHECK(cudaEventCreateWithFlags(&begin_, cudaEventDefault));
    events_.push_back(begin_);
    BENCHMARK_CHECK(cudaEventRecord(begin_, nullptr));
  }

  void end_step(int step) {
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
      BENCHMARK_CHECK(cudaEventRecord(step_ends_[static_cast<std::size_t>(step)][stream], streams_[stream]));
    }
    host_ends_.push_back(host_now());
  }

  void read_steps(Measured& made) const {
    double before = 0;
    for (std::size_t step = 0; step < step_ends_.size(); ++step) {
      double end = 0;
      for (const cudaEvent_t event : step_ends_[step]) {
        end = std::max(end, between(begin_, event));
      }
      if (step >= static_cast<std::size_t>(std::max(options_.warm_up, 1))) {
        made.steps.push_back(end - before);
        made.host_steps.push_back(host_ends_[step] - host_ends_[step - 1]);
      }
      before = end;
    }
    made.host_late = median(late_);
  }

  /// Each kernel alone, five times, and what the families of a step come to.
  void time_kernels(Measured& made) {
    constexpr int kRepeats = 5;
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    BENCHMARK_CHECK(cudaEventCreateWithFlags(&begin, cudaEventDefault));
    BENCHMARK_CHECK(cudaEventCreateWithFlags(&end, cudaEventDefault));
    for (const Launch& kernel : kernels_) {
      std::vector<double> times;
      for (int i = 0; kernel && i < kRepeats; ++i) {
        BENCHMARK_CHECK(cudaEventRecord(begin, streams_.front()));
        kernel(streams_.front());
        BENCHMARK_CHECK(cudaEventRecord(end, streams_.front()));
        BENCHMARK_CHECK(cudaEventSynchronize(end));
        times.push_back(between(begin, end));
      }
      made.kernels.push_back(kernel ? median(times) : -1);
    }
    BENCHMARK_CHECK(cudaEventDestroy(begin));
    BENCHMARK_CHECK(cudaEventDestroy(end));
    for (const Thread& thread : program_.threads) {
      for (const Instruction& i : thread.instructions) {
        if (i.op == Opcode::Launch) {
          const std::uint32_t number = kernel_number(i);
          Measured::Family& family = made.families[program_.kernels[number].family];
          ++family.launches;
          family.seconds += std::max(made.kernels[number], 0.0);
          family.expected += program_.kernels[number].seconds;
        }
      }
    }
  }

  static constexpr char kBatchBegins = 1, kBatchEnds = 2;

  const Rank& rank_;
  const Program& program_;
  const std::vector<Group>& groups_;
  RunOptions options_;
  Device device_;
  Communicators communicators_;
  Log log_;
  std::vector<std::atomic<std::uint64_t>> posts_;
  std::vector<Launch> kernels_, collectives_;
  std::vector<std::string> labels_;  // by kernel
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> events_;
  std::vector<std::vector<char>> batches_;
  std::vector<std::vector<cudaEvent_t>> step_ends_;
  cudaEvent_t begin_ = nullptr;
  std::vector<double> host_ends_, late_;
  std::mutex problem_mutex_;
  std::exception_ptr problem_;
  std::atomic<bool> stopped_{false};
};

}  // namespace

Measured run_rank(const Table& table, std::uint32_t rank, int device, Rendezvous& rendezvous,
                  const RunOptions& options) {
  return RankRun{table, rank, device, rendezvous, options}.run();
}

}  // namespace benchmark
