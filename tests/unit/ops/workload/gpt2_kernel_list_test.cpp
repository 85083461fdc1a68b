// Our GPT-2 against the operators Hugging Face's executed: ../shared/data/traces/pytorch_et/.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ops/workload/transformer.hpp"
#include "tests/support/gzip_text.hpp"
#include "tests/support/kernel_kinds.hpp"
#include "tests/support/program_listing.hpp"

namespace lockstep {
namespace {

using namespace lockstep::literals;
using nlohmann::json;

const std::string kTrace = LOCKSTEP_SOURCE_DIR "/../shared/data/traces/pytorch_et/hf_GPT2_et_1.1.0.json.gz";

/// Kernels that the CUDA implementation of an operator launches by itself; its children's come before.
const std::map<std::string, std::vector<std::string>> kLaunches{
    {"aten::arange", {"elementwise"}},
    {"aten::index_select", {"gather"}},
    {"aten::add", {"elementwise"}},
    {"aten::add_", {"elementwise"}},
    {"aten::mul", {"elementwise"}},
    {"aten::div", {"elementwise"}},
    {"aten::pow", {"elementwise"}},
    {"aten::tanh", {"elementwise"}},
    {"aten::tanh_backward", {"elementwise"}},
    {"aten::where", {"elementwise"}},
    {"aten::fill_", {"elementwise"}},
    {"aten::copy_", {"copy"}},
    {"aten::cat", {"concat"}},
    {"aten::sum", {"reduce"}},
    {"aten::addmm", {"gemm"}},
    {"aten::mm", {"gemm"}},
    {"aten::bmm", {"gemm"}},
    {"aten::native_dropout", {"dropout"}},
    {"aten::native_dropout_backward", {"elementwise"}},
    {"aten::native_layer_norm", {"layer norm"}},
    {"aten::native_layer_norm_backward", {"layer norm", "layer norm"}},
    {"aten::_softmax", {"softmax"}},
    {"aten::_softmax_backward_data", {"softmax"}},
    {"aten::_log_softmax", {"softmax"}},
    {"aten::_log_softmax_backward_data", {"softmax"}},
    {"aten::nll_loss_forward", {"loss"}},
    {"aten::nll_loss_backward", {"loss"}},
    {"aten::embedding_dense_backward", {"embedding bwd"}},
};

std::string kind_of(const std::string& kernel) {
  constexpr std::array<std::pair<const char*, const char*>, 14> kKinds{
      {{"Memcpy HtoD", "copy to device"},
       {"indexSelect", "gather"},
       {"embedding_backward", "embedding bwd"},
       {"kernel<copy>", "copy"},
       {"elementwise", "elementwise"},
       {"CatArray", "concat"},
       {"reduce_kernel", "reduce"},
       {"gemm", "gemm"},
       {"dropout", "dropout"},
       {"layer_norm", "layer norm"},
       {"GammaBeta", "layer norm"},
       {"softmax", "softmax"},
       {"SoftMax", "softmax"},
       {"nll_loss", "loss"}}};
  return testing::first_kind(kernel, kKinds);
}

/// An execution trace: nodes with parents, no durations.
class ExecutionTrace {
 public:
  explicit ExecutionTrace(const std::string& text) : trace_(json::parse(text)) {
    for (const json& node : trace_["nodes"]) {
      children_[node["ctrl_deps"].get<int>()].push_back(&node);
    }
    for (auto& [parent, nodes] : children_) {
      std::sort(nodes.begin(), nodes.end(),
                [](const json* a, const json* b) { return (*a)["id"] < (*b)["id"]; });
    }
  }

  /// The kernels of forward and backward, in the order in which they were launched.
  [[nodiscard]] std::vector<std::string> kernels() const {
    std::vector<std::string> forward, backward;
    for (const json& node : trace_["nodes"]) {
      const std::string name = node["name"];
      if (name.starts_with("ProfilerStep")) {
        for (const json* child : children(node)) {
          if (!(*child)["name"].get<std::string>().starts_with("Optimizer.")) {
            append(*child, forward);
          }
        }
      } else if (name.starts_with("autograd::engine::evaluate_function")) {
        append(node, backward);
      }
    }
    forward.insert(forward.end(), backward.begin(), backward.end());
    return forward;
  }

 private:
  [[nodiscard]] std::vector<const json*> children(const json& node) const {
    const auto found = children_.find(node["id"].get<int>());
    return found == children_.end() || node["id"] == node["ctrl_deps"] ? std::vector<const json*>{}
                                                                       : found->second;
  }

  static bool is_on_gpu(const json& node) { return node["outputs"].dump().find("cuda") != std::string::npos; }

  void append(const json& node, std::vector<std::string>& kernels) const {
    const std::string name = node["name"];
    bool delegates = false;  // an operator that calls its own variant launches through it
    for (const json* child : children(node)) {
      delegates = delegates || (*child)["name"] == name;
      append(*child, kernels);
    }
    const auto launches = kLaunches.find(name);
    if (launches != kLaunches.end() && !delegates && is_on_gpu(node)) {
      kernels.insert(kernels.end(), launches->second.begin(), launches->second.end());
    }
  }

  json trace_;
  std::map<int, std::vector<const json*>> children_;
};

std::vector<std::string> ours() {
  TransformerSpec gpt2_large;
  gpt2_large.layers = 36;
  gpt2_large.hidden = 1280;
  gpt2_large.heads = 20;
  gpt2_large.vocabulary = 50257;
  gpt2_large.positions = 1024;
  gpt2_large.sequence = 512;
  gpt2_large.gelu = Gelu::Composed;
  const std::vector<VertexId> gpus(1, 0);
  const std::vector<Bytes> memory(1, 80_GB);
  const Job job = transformer_job(gpt2_large, {.global_batch = 1,
                                               .precision = Precision::FP32,
                                               .framework = {},
                                               .parallelism = {},
                                               .host = plain_host(),
                                               .gradient_accumulation = 1,
                                               .clip_gradients = false,
                                               .gpus = gpus,
                                               .gpu_memory = memory});
  std::vector<std::string> kinds;
  for (const ListedOperator& op : operators_of(job)) {
    if (op.name.starts_with("aten::_foreach_")) {
      continue;  // the trace is of a first step, which creates the optimizer's state
    }
    for (const std::string& kernel : op.kernels) {
      if (kind_of(kernel) != "copy to device") {  // the trace's inputs are on the device already
        kinds.push_back(kind_of(kernel));
      }
    }
  }
  return kinds;
}

TEST(Gpt2KernelList, IsThatOfHuggingFace) {
  const std::string text = gzip_text(kTrace);
  if (text.empty()) {
    GTEST_SKIP() << "needs " << kTrace;
  }
  const std::vector<std::string> real = ExecutionTrace{text}.kernels();
  const std::vector<std::string> mine = ours();
  std::printf("GPT-2 large: %zu kernels traced, %zu ours\n", real.size(), mine.size());
  const auto [a, b] = std::mismatch(mine.begin(), mine.end(), real.begin(), real.end());
  EXPECT_EQ(mine, real) << "first difference at kernel " << a - mine.begin() << ": ours "
                        << (a == mine.end() ? "end" : *a) << ", traced " << (b == real.end() ? "end" : *b);
}

}  // namespace
}  // namespace lockstep
