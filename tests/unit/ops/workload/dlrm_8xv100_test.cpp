// Our distributed backward pass against a TorchRec DLRM on 8 x V100: ../shared/data/traces/dlrm_8xv100.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ops/workload/dlrm.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/kernel_kinds.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using nlohmann::json;

const std::string kTrace = LOCKSTEP_SOURCE_DIR
    "/../shared/data/traces/dlrm_8xv100/kineto/worker0_step_12.1694128201545.pt.trace.json.gz";

std::string kind_of(const std::string& kernel) {
  constexpr std::array<std::pair<const char*, const char*>, 13> kKinds{{{"splitKreduce", ""},
                                                                        {"Memset", ""},
                                                                        {"AllReduce", "all_reduce"},
                                                                        {"SendRecv", "all_to_all"},
                                                                        {"Memcpy HtoD", "copy to device"},
                                                                        {"Memcpy DtoD", "copy"},
                                                                        {"CatArray", "concat"},
                                                                        {"reduce_kernel", "reduce"},
                                                                        {"RadixSort", "sort"},
                                                                        {"indexing_backward", "index bwd"},
                                                                        {"elementwise", "elementwise"},
                                                                        {"gemv", "gemm"},
                                                                        {"gemm", "gemm"}}};
  return testing::first_kind(kernel, kKinds);
}

std::string without_underscore(std::string name) {
  if (name.starts_with("aten::") && name.back() == '_') {
    name.pop_back();  // an addition may be in place
  }
  return name;
}

void add_launch(std::vector<std::string>& lines, std::string& last, const std::string& op,
                const std::string& id, const std::string& kernel) {
  const std::string kind = kind_of(kernel);
  if (kind.empty()) {
    return;  // cuBLAS's own choice
  }
  if (id != last) {
    lines.push_back(without_underscore(op) + ":");
    last = id;
  }
  lines.back() += " " + kind;
}

/// Kernels of the operators right below `autograd::engine::evaluate_function`, in order.
std::vector<std::string> traced_backward(const json& trace) {
  struct Event {
    double start, end;
    std::string name;
    std::int64_t correlation;
    bool is_runtime;
  };
  std::map<std::int64_t, std::string> kernels;
  std::map<std::int64_t, std::vector<Event>> threads;
  for (const json& e : trace["traceEvents"]) {
    const std::string category = e.value("cat", "");
    if (category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset") {
      kernels[e["args"]["correlation"]] = e["name"];
    } else if (category == "cpu_op" || category == "cuda_runtime") {
      const double start = e["ts"], duration = e["dur"];
      threads[e["tid"]].push_back(
          {start, start + duration, e["name"],
           category == "cuda_runtime" ? e["args"].value("correlation", std::int64_t{-1}) : -1,
           category == "cuda_runtime"});
    }
  }
  std::vector<std::string> lines;
  std::string last;
  for (auto& [thread, events] : threads) {
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    std::vector<const Event*> open;
    for (const Event& event : events) {
      while (!open.empty() && open.back()->end <= event.start) {
        open.pop_back();
      }
      const bool in_backward =
          open.size() >= 2 && open.front()->name.starts_with("autograd::engine::evaluate_function");
      if (event.is_runtime && in_backward && kernels.contains(event.correlation)) {
        add_launch(lines, last, open[1]->name, std::to_string(open[1]->start), kernels.at(event.correlation));
      }
      if (!event.is_runtime) {
        open.push_back(&event);
      }
    }
  }
  return lines;
}

/// The model of that trace: 16 samples for each of 8 ranks, 26 tables, PyTorch 2 with gradients in buckets.
std::vector<std::string> our_backward() {
  DlrmSpec spec;
  spec.bottom_mlp = {13, 256, 128, 16};
  spec.top_mlp = {512, 512, 256, 1};
  spec.tables = {{.rows = {1000000}, .count = 26, .dimension = 16}};
  spec.optimizer = DlrmOptimizer::Adagrad;
  FrameworkSpec framework;
  framework.gradient_as_bucket_view = true;
  framework.optimizer = OptimizerStyle::PerTensor;
  std::vector<VertexId> gpus(8);
  std::iota(gpus.begin(), gpus.end(), 0U);
  const std::vector<Bytes> memory(8, 32_GB);
  const Job job = dlrm_job(spec, {.global_batch = 128,
                                  .precision = Precision::FP32,
                                  .framework = framework,
                                  .parallelism = {},
                                  .host = plain_host(),
                                  .gradient_accumulation = 1,
                                  .clip_gradients = false,
                                  .gpus = gpus,
                                  .gpu_memory = memory});
  std::vector<std::string> lines;
  std::string last;
  int number = 0;
  for (const ListedOperator& op : operators_of(job)) {
    ++number;
    for (const std::string& kernel : op.kernels) {
      add_launch(lines, last, op.name, std::to_string(number), kernel);
    }
  }
  return lines;
}

using Lines = std::vector<std::string>;

/// Lines from the first one that begins with @p first to the one @p length later.
Lines section(const Lines& lines, const std::string& first, std::size_t length) {
  const auto begin =
      std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.starts_with(first); });
  const auto left = static_cast<std::size_t>(lines.end() - begin);
  return {begin, begin + static_cast<std::ptrdiff_t>(std::min(length, left))};
}

/// Everything from the last but (count - 1) line that is @p line.
Lines from_last(const Lines& lines, const std::string& line, int count) {
  auto at = lines.end();
  for (; at != lines.begin() && count > 0; --at) {
    count -= *(at - 1) == line ? 1 : 0;
  }
  return {at, lines.end()};
}

TEST(Dlrm8xV100, BackwardOfTheDensePartIsTheTracedOne) {
  const std::string text = gzip_text(kTrace);
  if (text.empty()) {
    GTEST_SKIP() << "needs " << kTrace;
  }
  const Lines real = traced_backward(json::parse(text)), mine = our_backward();
  // Top MLP (4 layers: product, bias, the scaling of two gradients; 3 ReLUs; one full bucket), interaction
  // (index, slice, product, two sums).
  const std::size_t top_and_interaction = 4 * 4 + 3 + 1 + 5;
  EXPECT_EQ(section(mine, "AddmmBackward0", top_and_interaction),
            section(real, "AddmmBackward0", top_and_interaction));
  // Bottom MLP: 3 layers, 3 ReLUs, the last bucket.
  Lines bottom = section(from_last(mine, "ReluBackward0: elementwise", 3), "ReluBackward0", 3 * 4 + 3 + 1);
  EXPECT_EQ(bottom, from_last(real, "ReluBackward0: elementwise", 3));
  // The exchange of gradients: TorchRec first makes the whole gradient contiguous, one copy more than ours.
  const Lines exchange = section(mine, "All2All_WaitBackward", 1);
  const Lines traced = section(real, "All2All_Pooled_WaitBackward", 1);
  const auto count_of = [](const std::string& line, const std::string& word) {
    int count = 0;
    for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(count_of(exchange.at(0), "elementwise"), 8);
  EXPECT_EQ(count_of(traced.at(0), "elementwise"), 9);
  EXPECT_EQ(count_of(exchange.at(0), "concat"), count_of(traced.at(0), "concat"));
  EXPECT_EQ(count_of(exchange.at(0), "all_to_all"), count_of(traced.at(0), "all_to_all"));
}

}  // namespace
}  // namespace lockstep
