#include "import/settle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "import/machine.hpp"
#include "import/settle_model.hpp"

namespace lockstep::importing {
namespace {

constexpr int kGpusOfNode = 8;
constexpr int kMostGpus = 1'000'000;

/// How the GPUs are divided, and what a step trains.
class JobSettler {
 public:
  JobSettler(Draft& draft, const ConfigPath& configs) : draft_{draft}, model_{draft, configs} {}

  void settle() {
    sharding();
    sequence_parallel();
    gpus();
    whole_replicas();
    batch();
    if (!draft_.has("W.precision")) {
      draft_.assume("W.precision", "bf16", "no file says it");
    }
    mixed_precision();
    cluster();
    name();
  }

 private:
  [[nodiscard]] int degree(const std::string& key) const {
    return static_cast<int>(std::clamp<double>(draft_.number("P." + key, 1), 1, kMostGpus));
  }
  /// GPUs that hold one copy of the model.
  [[nodiscard]] int replica() const {
    return static_cast<int>(std::min<double>(
        static_cast<double>(degree("tensor")) * degree("pipeline") * degree("context"), kMostGpus));
  }

  void sharding() {
    const std::string implementation = model_.fact("implementation");
    const bool says_plan = std::ranges::any_of(
        draft_.keys(), [](const DraftKey& key) { return key.path.starts_with("parallelism."); });
    constexpr double kLarge = 1.5e9;
    if (!says_plan && model_.is_transformer() && model_.parameters() > kLarge) {
      draft_.assume("P.sharding", "zero3", "no file says how the model is spread");
      if (implementation == "hugging_face_llama") {
        draft_.fsdp = "fsdp2";
      }
    }
    if (draft_.text("P.sharding") == "zero3") {
      const std::string whose =
          !draft_.fsdp.empty() ? draft_.fsdp : (draft_.trainer == Trainer::DeepSpeed ? "deepspeed" : "");
      if (!whose.empty() && implementation != "megatron") {
        draft_.assume("P.zero3_implementation", whose, "by who trains it");
      }
    }
    if (model_.has_experts() && !draft_.has("P.expert") && draft_.trainer != Trainer::Megatron) {
      const int experts = static_cast<int>(model_.number("experts.count", 1));
      draft_.assume("P.expert", std::to_string(std::gcd(std::max(experts, 1), kGpusOfNode)),
                    "no file says it; within a node");
    }
  }

  /// Trainers turn it off where no ranks share a layer.
  void sequence_parallel() {
    const DraftKey* given = draft_.find("P.sequence_parallel");
    if (given == nullptr || degree("tensor") > 1) {
      return;
    }
    if (!given->is_assumed) {
      draft_.remark(Remark::Kind::NoEffect, {given->value.at, given->key}, "no ranks share a layer");
    }
    draft_.drop("P.sequence_parallel");
  }

  /// Launch scripts of examples often start fewer GPUs than their plan needs: then as many as it needs are
  /// taken.
  void whole_replicas() {
    const auto of_stage = std::lcm(std::int64_t{degree("tensor")} * degree("context"),
                                   std::int64_t{degree("expert")} * degree("expert_tensor"));
    const auto needed = static_cast<int>(std::min<std::int64_t>(of_stage * degree("pipeline"), kMostGpus));
    const int gpus = draft_.gpus.value();
    if (gpus % needed == 0) {
      return;
    }
    const int taken = std::min((gpus + needed - 1) / needed * needed, kMostGpus);
    const DraftKey* plan = draft_.find(draft_.has("P.tensor") ? "P.tensor" : "P.pipeline");
    draft_.remark(
        Remark::Kind::Conflict, plan == nullptr ? Source{} : Source{plan->value.at, plan->key},
        fmt::format("the job starts {} GPUs, and the plan takes {}: {} are taken", gpus, needed, taken));
    draft_.gpus = taken;
    const int per_node = draft_.gpus_per_node.value_or(usual_node());
    draft_.nodes = (taken + per_node - 1) / per_node;
  }

  void gpus() {
    if (draft_.gpus) {
      return;
    }
    if (draft_.nodes || draft_.gpus_per_node) {
      draft_.gpus =
          std::min<int>(kMostGpus, draft_.nodes.value_or(1) * draft_.gpus_per_node.value_or(usual_node()));
      return;
    }
    const double global = draft_.number("W.global_batch", 0), micro = draft_.number("W.micro_batch", 0);
    const double accumulation = draft_.number("W.gradient_accumulation", 0);
    if (global > 0 && micro > 0 && accumulation > 0) {
      draft_.gpus = static_cast<int>(
          std::clamp<double>(std::floor(global / micro / accumulation) * replica(), replica(), kMostGpus));
      return;
    }
    draft_.gpus = enough_gpus();
    assumed_gpus_ = true;
  }

  [[nodiscard]] int usual_node() const { return gpus_of_node(draft_).value_or(kGpusOfNode); }

  /// Whole nodes with room for states of 18 bytes a parameter (Rajbhandari et al., arXiv 1910.02054, section
  /// 3.1, and FP32 gradients) in six tenths of 80 GB.
  [[nodiscard]] int enough_gpus() const {
    constexpr double kBytes = 18, kRoom = 48e9;
    const double needed = std::max<double>(replica(), std::ceil(model_.parameters() * kBytes / kRoom));
    const int node = usual_node();
    int gpus = node * static_cast<int>(std::clamp<double>(std::ceil(needed / node), 1,
                                                          std::floor(1.0 * kMostGpus / node)));
    const int expert = degree("expert");
    gpus = std::max(gpus, expert);
    const int step = std::lcm(std::min(replica(), kMostGpus), node);
    return (gpus + step - 1) / step * step;
  }

  void batch() {
    const int replicas = std::max(1, draft_.gpus.value() / replica());
    if (draft_.has("W.global_batch") &&
        (draft_.has("W.micro_batch") || draft_.has("W.gradient_accumulation"))) {
      fit_replicas(replicas);
    }
    if (!draft_.has("W.micro_batch") &&
        !(draft_.has("W.global_batch") && draft_.has("W.gradient_accumulation"))) {
      draft_.assume("W.micro_batch", "1", "no file says it");
    }
    if (!draft_.has("W.global_batch")) {
      const double accumulation =
          std::max(draft_.number("W.gradient_accumulation", 1), double(degree("pipeline")));
      const double samples = draft_.number("W.micro_batch", 1) * replicas * accumulation;
      draft_.assume(
          "W.global_batch", fmt::format("{:.0f}", samples),
          fmt::format("micro-batch x {} data-parallel ranks x {:.0f} micro-batches", replicas, accumulation));
    }
    if (draft_.has("W.micro_batch")) {
      draft_.drop("W.gradient_accumulation");  // the two batches say it
    }
  }

  /// Takes as many replicas as divide the batch, if no file says how many GPUs.
  void fit_replicas(int replicas) {
    if (!assumed_gpus_) {
      return;
    }
    const double parts = draft_.number("W.global_batch", 1) / draft_.number("W.micro_batch", 1);
    while (replicas > 1 && std::fmod(parts, replicas) != 0) {
      --replicas;
    }
    draft_.gpus = replicas * replica();
  }

  /// Weights in 16 bits where ranks share them, as DeepSpeed and FSDP have it.
  void mixed_precision() {
    const std::string precision = draft_.text("W.precision"), sharding = draft_.text("P.sharding");
    const bool is_16_bits = precision == "bf16" || precision == "fp16";
    const std::string implementation = model_.fact("implementation");
    if (is_16_bits && !sharding.empty() && sharding != "none" &&
        (implementation.empty() || implementation == "hugging_face")) {
      draft_.assume("W.mixed_precision", "master_weights", "weights that ranks share are in 16 bits");
    }
  }

  void cluster() {
    settle_machine(draft_);
    const int node = usual_node();
    const int per_node = draft_.gpus_per_node.value_or(node);
    const int gpus = draft_.gpus.value();
    if (per_node < node && draft_.nodes.value_or(1) > 1) {
      draft_.assume("P.ranks_per_node", std::to_string(per_node), "the job starts so many on a node");
    }
    if (gpus != draft_.nodes.value_or(1) * node) {
      draft_.assume("P.ranks", std::to_string(gpus), "as many GPUs as the job has");
    }
  }

  void name() {
    const std::string model = draft_.has("M.name") ? draft_.text("M.name") : draft_.text("M.from");
    draft_.assume("name", fmt::format("{} on {} GPUs", model, draft_.gpus.value()), "from the files");
  }

  Draft& draft_;
  DraftModel model_;
  bool assumed_gpus_ = false;
};

}  // namespace

bool has_job(const Draft& draft) {
  return !draft.keys().empty() || draft.gpus || draft.nodes;
}

void settle(Draft& draft, const ConfigPath& configs) {
  if (!has_job(draft)) {
    settle_machine(draft);
    return;
  }
  settle_model(draft, configs);
  JobSettler{draft, configs}.settle();
}

}  // namespace lockstep::importing
