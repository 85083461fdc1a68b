#include "generate/runtime/rank_run.cuh"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "generate/runtime/batches.cuh"
#include "generate/runtime/families.cuh"
#include "generate/runtime/graphs.cuh"
#include "generate/runtime/host_clock.cuh"
#include "generate/runtime/issue_log.cuh"
#include "generate/runtime/timing.cuh"

namespace benchmark {
namespace {

class RankRun {
 public:
  RankRun(const Table& table, std::uint32_t rank, int device, Rendezvous& rendezvous,
          const RunOptions& options)
      : rank_{table.ranks.at(rank)},
        program_{table.programs.at(rank_.program)},
        options_{options},
        device_{device, table.seed + rank},
        communicators_{device_, table, rank, rendezvous},
        log_{options.log},
        batches_{batch_marks(table, rank_)},
        posts_(program_.flags) {
    make_launches(table, rank);
    device_.allocate();
    make_streams();
    make_graphs();
  }

  ~RankRun() {
    graphs_.clear();
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
    made.launch = time_of_launch(streams_.empty() ? nullptr : streams_.front());
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
    made.operands = device_.operand_counts();
    made.kernels = times_alone(kernels_, streams_.front());
    sum_families(made);
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
    char* const planned = program_.memory > 0 ? device_.plan(program_.memory) : nullptr;
    for (std::size_t i = 0; i < used.size(); ++i) {
      const Kernel& kernel = program_.kernels[i];
      if (used[i]) {
        kernels_[i] = with_operands(make_kernel(device_, kernel), operands_of(kernel, planned));
      }
      labels_.push_back("kernel " + std::to_string(i) + ": " + kernel.name + ", " +
                        std::to_string(1e6 * kernel.seconds) + " us");
    }
    for (const CollectiveUse& use : collectives_of(table, rank)) {
      collectives_.push_back(communicators_.make(use));
    }
  }

  [[nodiscard]] Operands operands_of(const Kernel& kernel, char* planned) const {
    Operands made;
    for (const std::uint32_t view : kernel.reads) {
      made.reads.push_back({planned + program_.views[view].place, program_.views[view].bytes});
    }
    for (const std::uint32_t view : kernel.writes) {
      made.writes.push_back({planned + program_.views[view].place, program_.views[view].bytes});
    }
    return made;
  }

  static Launch with_operands(Launch kernel, const Operands& operands) {
    if (!kernel || operands.empty()) {
      return kernel;
    }
    return [kernel, operands](cudaStream_t stream) {
      const BoundOperands bound{operands};
      kernel(stream);
    };
  }

  /// By thread and instruction: the graph that begins there.
  void make_graphs() {
    for (std::size_t number = 0; number < program_.threads.size(); ++number) {
      const auto& code = program_.threads[number].instructions;
      auto& of_thread = graphs_.emplace_back();
      for (const GraphRange& range : graph_ranges(program_, rank_, code)) {
        std::size_t collective = collectives_before(number, range.first);
        const auto put = [&](std::size_t at, cudaStream_t stream) {
          if (code[at].op == Opcode::Launch) {
            launch_kernel(kernel_number(code[at]), stream);
          } else {
            call_collective(collective, batches_[number][at], stream);
          }
        };
        of_thread[range.first] = {range.end, std::make_unique<Graph>(code, range, streams_, put)};
      }
    }
  }

  /// @param next its number, which goes on to that of the next one
  void call_collective(std::size_t& next, char batch, cudaStream_t stream) const {
    if ((batch & kBatchBegins) != 0) {
      Communicators::begin_batch();
    }
    collectives_[next++](stream);
    if ((batch & kBatchEnds) != 0) {
      Communicators::end_batch();
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

  void run_thread(std::size_t number) {
    const std::vector<Instruction>& code = program_.threads[number].instructions;
    const std::size_t first_collective = collectives_before(number, 0);
    HostClock clock{options_.host_recorded};
    std::vector<std::uint64_t> awaited(program_.flags, 0);
    for (int step = 0; step < options_.warm_up + options_.steps; ++step) {
      std::size_t collective = first_collective;
      std::size_t graph_end = 0;  // launches and collectives before it are those of a graph
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
        if (const auto graph = graphs_[number].find(at); graph != graphs_[number].end()) {
          graph->second.graph->launch();
          graph_end = graph->second.end;
        } else if (at < graph_end) {
          collective += i.op == Opcode::Collective ? 1 : 0;
        } else {
          perform(i, batches_[number][at], collective, awaited, clock);
        }
        clock.spend(i.cost);
      }
      if (number == 0) {
        end_step(step);
        late_.push_back(clock.late() - late_before);
      }
    }
  }

  /// Collectives that the threads before this one call in a step, and this one before an instruction.
  [[nodiscard]] std::size_t collectives_before(std::size_t thread, std::size_t instruction) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i <= thread; ++i) {
      const auto& code = program_.threads[i].instructions;
      const std::size_t end = i < thread ? code.size() : instruction;
      count += static_cast<std::size_t>(
          std::count_if(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(end),
                        [](const Instruction& each) { return each.op == Opcode::Collective; }));
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
        call_collective(collective, batch, streams_[i.stream]);
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

  /// What the families of a step come to, each kernel alone.
  void sum_families(Measured& made) const {
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

  const Rank& rank_;
  const Program& program_;
  RunOptions options_;
  Device device_;
  Communicators communicators_;
  IssueLog log_;
  std::vector<std::vector<char>> batches_;  // by thread and instruction
  std::vector<std::atomic<std::uint64_t>> posts_;
  std::vector<Launch> kernels_, collectives_;
  std::vector<std::string> labels_;  // by kernel
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> events_;
  struct PlacedGraph {
    std::size_t end = 0;
    std::unique_ptr<Graph> graph;
  };
  std::vector<std::map<std::size_t, PlacedGraph>> graphs_;  // by thread and first instruction
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
