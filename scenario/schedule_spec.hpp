#pragma once

/// @file
/// `schedule:` of a scenario: training in phases whose model is narrower, shallower or fed otherwise
/// (docs/schedules.md).

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/parameters.hpp"
#include "base/yaml_node.hpp"
#include "ops/workload/precision.hpp"

namespace lockstep {

/// Parts of a model of which shares can be kept.
enum class LayerGroup : std::uint8_t {
  BottomMlp,
  TopMlp,
  EmbeddingDim,
  EmbeddingRows,
  Interaction,
  Layers,
  Hidden,
  Heads,
  KvHeads,
  FeedForward,
  Experts,
  Vocabulary,
  Channels,
};
constexpr auto names_of(LayerGroup /*unused*/) {
  return std::to_array<EnumName<LayerGroup>>({{LayerGroup::BottomMlp, "bottom_mlp"},
                                              {LayerGroup::TopMlp, "top_mlp"},
                                              {LayerGroup::EmbeddingDim, "embedding_dim"},
                                              {LayerGroup::EmbeddingRows, "embedding_rows"},
                                              {LayerGroup::Interaction, "interaction"},
                                              {LayerGroup::Layers, "layers"},
                                              {LayerGroup::Hidden, "hidden"},
                                              {LayerGroup::Heads, "heads"},
                                              {LayerGroup::KvHeads, "kv_heads"},
                                              {LayerGroup::FeedForward, "feed_forward"},
                                              {LayerGroup::Experts, "experts"},
                                              {LayerGroup::Vocabulary, "vocabulary"},
                                              {LayerGroup::Channels, "channels"}});
}

/// Shares that are kept, above 0 to 1; groups that are not named are whole.
using KeptShares = std::map<LayerGroup, double>;

[[nodiscard]] bool keeps_all(const KeptShares& keep);

/// @throws FieldError at `PREFIX.GROUP` for a share that is none
void check_shares(const KeptShares& keep, const std::string& prefix);

/// Weights that are zero without structure: every product multiplies them all the same.
struct MaskSpec {
  double zeros = 0;

  template <class Visitor>
  static void describe(Visitor& key, MaskSpec& mask) {
    key.required("zeros", mask.zeros,
                 "share of the weights that are zero, e.g. 0.8: it saves no time, whatever it is");
  }
  void check() const;
};

enum class SparsityKind : std::uint8_t { TwoOfFour };
constexpr auto names_of(SparsityKind /*unused*/) {
  return std::to_array<EnumName<SparsityKind>>({{SparsityKind::TwoOfFour, "2:4"}});
}

/// Zeros in a structure that tensor cores leave out: two of each four weights along k.
struct SparsitySpec {
  SparsityKind kind = SparsityKind::TwoOfFour;
  bool backward = true;

  /// @throws std::invalid_argument
  static SparsitySpec parse(const std::string& text);

  template <class Visitor>
  static void describe(Visitor& key, SparsitySpec& sparsity) {
    key.optional("kind", sparsity.kind, SparsityKind::TwoOfFour,
                 "2:4: linear layers multiply on sparse tensor cores, of 16 bits and GPUs since Ampere");
    key.optional("backward", sparsity.backward, true,
                 "the input's gradient too, by a mask that holds for both directions; false: forward alone");
  }
};

/// Single embedding tables of which less is kept: `{ tables: [0, 5], rows: 0.5 }`.
struct KeptTablesSpec {
  std::vector<std::int64_t> tables;
  double rows = 1, dimension = 1;

  template <class Visitor>
  static void describe(Visitor& key, KeptTablesSpec& kept) {
    key.required("tables", kept.tables, "numbers of tables, in the model's order from 0 on, e.g. [0, 5]");
    key.optional("rows", kept.rows, 1, "share of their rows that is kept");
    key.optional("dimension", kept.dimension, 1,
                 "share of their dimension, with 'interaction: cat' or 'cross' (a dot needs one for all)");
  }
  void check() const;
};

/// A stretch of the training during which nothing changes.
struct PhaseSpec {
  SourceLocation at;
  std::string name;
  std::string until;
  KeptShares keep;
  std::vector<KeptTablesSpec> tables;
  std::optional<std::int64_t> round;
  std::optional<std::vector<std::string>> freeze;
  std::optional<std::int64_t> batch, micro_batch, sequence, image_size;
  std::optional<Precision> precision;
  YamlNode parallelism;
  std::optional<MaskSpec> mask;
  std::optional<SparsitySpec> sparsity;

  /// All widths are full and no zeros have a structure.
  [[nodiscard]] bool is_full_size() const;

  template <class Visitor>
  static void describe(Visitor& key, PhaseSpec& phase) {
    key.required("name", phase.name, "what the phase is called, e.g. pruned");
    key.required("until", phase.until,
                 "where it ends: a share of the training, e.g. 60 %, or a number of what the schedule counts "
                 "(steps, samples, tokens)");
    key.optional(
        "keep", phase.keep, {},
        "shares of the full widths by layer group, e.g. { top_mlp: 0.5 }. DLRM: bottom_mlp, top_mlp, "
        "embedding_dim, embedding_rows, interaction (tables); transformer: layers, hidden, heads, "
        "kv_heads, feed_forward, experts, vocabulary; CNN: channels");
    key.optional("tables", phase.tables, {},
                 "single embedding tables of which less is kept, e.g. [{ tables: [0, 5], rows: 0.5 }]");
    key.optional("freeze", phase.freeze, std::nullopt,
                 "parts that are not trained in this phase, in place of workload.freeze, e.g. [embedding, "
                 "layers 0..11]");
    key.optional(
        "round", phase.round, std::nullopt,
        "kept widths are the nearest multiple of it, 1: any; left out: 64 on tensor cores, 8 in fp32 "
        "and for channels");
    key.optional("batch", phase.batch, std::nullopt, "samples per step, in place of workload.global_batch");
    key.optional("micro_batch", phase.micro_batch, std::nullopt, "in place of workload.micro_batch");
    key.optional("sequence", phase.sequence, std::nullopt, "transformers: tokens of a sample");
    key.optional("image_size", phase.image_size, std::nullopt, "CNN: pixels along each side of the input");
    key.optional("precision", phase.precision, std::nullopt, "in place of workload.precision");
    key.optional("parallelism", phase.parallelism, YamlNode{},
                 "keys of the scenario's parallelism that are others in this phase, e.g. { tensor: 2 }");
    key.optional("mask", phase.mask, std::nullopt, "unstructured sparsity; it costs time and saves none");
    key.optional("sparsity", phase.sparsity, std::nullopt,
                 "structured sparsity of linear layers' weights: 2:4, or { kind: 2:4, backward: false }");
  }
  void check() const;
};

/// Phases that take turns: `{ every: 5 %, between: [{ top_mlp: 0.5 }, {}] }`.
struct AlternationSpec {
  std::string every;
  std::vector<KeptShares> between;
  std::optional<std::int64_t> round;

  template <class Visitor>
  static void describe(Visitor& key, AlternationSpec& alternate) {
    key.required("every", alternate.every, "share of the training that each turn takes, e.g. 5 %");
    key.required("between", alternate.between,
                 "what is kept in turn, e.g. [{ top_mlp: 0.5 }, {}]: half the top MLP, then all");
    key.optional("round", alternate.round, std::nullopt, "as in phases");
  }
  void check() const;
};

enum class Scoring : std::uint8_t {
  None,          ///< which structures go is known
  Magnitude,     ///< sums of the weights' magnitudes
  SecondMoment,  ///< of weights and the optimizer's second moments
};
constexpr auto names_of(Scoring /*unused*/) {
  return std::to_array<EnumName<Scoring>>(
      {{Scoring::None, "none"}, {Scoring::Magnitude, "magnitude"}, {Scoring::SecondMoment, "second_moment"}});
}

enum class StatesAfter : std::uint8_t { Keep, Reset };
constexpr auto names_of(StatesAfter /*unused*/) {
  return std::to_array<EnumName<StatesAfter>>({{StatesAfter::Keep, "keep"}, {StatesAfter::Reset, "reset"}});
}

enum class Agreement : std::uint8_t {
  Deterministic,  ///< every replica decides alike by itself
  Broadcast,      ///< rank 0 decides, and sends the new weights to all
};
constexpr auto names_of(Agreement /*unused*/) {
  return std::to_array<EnumName<Agreement>>(
      {{Agreement::Deterministic, "deterministic"}, {Agreement::Broadcast, "broadcast"}});
}

/// Whether a transition goes through a file: `none`, `local`, or `{ bandwidth: 2 GB/s }`.
struct TransitionCheckpoint {
  std::optional<BytesPerSecond> bandwidth;

  /// @throws std::invalid_argument
  static TransitionCheckpoint parse(const std::string& text);

  template <class Visitor>
  static void describe(Visitor& key, TransitionCheckpoint& checkpoint) {
    key.optional(
        "bandwidth", checkpoint.bandwidth, std::nullopt,
        "of each GPU's share of the file system; 'none': no file, 'local': 1 GB/s (a guess: a node's "
        "NVMe drives, shared by eight)");
  }
  void check() const;
};

/// The way between two phases whose models differ.
struct TransitionSpec {
  Scoring score = Scoring::Magnitude;
  StatesAfter optimizer_state = StatesAfter::Keep;
  Agreement agreement = Agreement::Deterministic;
  TransitionCheckpoint checkpoint;
  std::optional<Seconds> recompile;
  std::vector<double> warm_up;
  bool replan = false;

  template <class Visitor>
  static void describe(Visitor& key, TransitionSpec& transition) {
    key.optional("score", transition.score, Scoring::Magnitude,
                 "what is read to choose the structures that go, where a model gets narrower");
    key.optional("optimizer_state", transition.optimizer_state, StatesAfter::Keep,
                 "kept: gathered as the weights are; reset: written as zeros");
    key.optional("agreement", transition.agreement, Agreement::Deterministic,
                 "how replicas come to the same new weights: each by the same rule, or sent by one of them");
    key.optional("checkpoint", transition.checkpoint, TransitionCheckpoint{},
                 "none, local, or { bandwidth: 2 GB/s }: states are written to a file and read back");
    key.optional(
        "recompile", transition.recompile, std::nullopt,
        "torch.compile, CUDA graphs, cuDNN's benchmark for new shapes; left out: 40 s where the model "
        "has any of these (a guess), else nothing");
    key.optional("warm_up", transition.warm_up, {},
                 "how much longer the first steps of a phase take, e.g. [1, 0.5]: twice, then 1.5 times");
    key.optional("replan", transition.replan, false,
                 "embedding tables are placed anew for each phase's model, and their rows moved; else the "
                 "full model's plan stays");
  }
  void check() const;
};

/// How long a training is: one of the three.
struct TrainingLengthSpec {
  std::optional<double> steps, samples, tokens;

  template <class Visitor>
  static void describe(Visitor& key, TrainingLengthSpec& length) {
    key.optional("steps", length.steps, std::nullopt, "optimizer steps");
    key.optional("samples", length.samples, std::nullopt, "samples seen");
    key.optional("tokens", length.tokens, std::nullopt, "tokens seen, e.g. 300e9");
  }
  /// @throws FieldError unless it is one, of at least 1
  void check() const;
  [[nodiscard]] double amount() const { return steps ? *steps : samples ? *samples : tokens.value_or(0); }
  [[nodiscard]] const char* unit() const { return steps ? "steps" : samples ? "samples" : "tokens"; }
};

/// A power, written `350 W` or `0.35 kW`.
struct Watts {
  double watts = 0;

  /// @throws std::invalid_argument
  static Watts parse(const std::string& text);

  template <class Visitor>
  static void describe(Visitor& key, Watts& power) {
    key.required("watts", power.watts, "W; written 350 W for short");
  }
};

/// The power that a GPU draws: `{ busy: 350 W, idle: 80 W }`.
struct PowerSpec {
  Watts busy, idle;

  template <class Visitor>
  static void describe(Visitor& key, PowerSpec& power) {
    key.required("busy", power.busy, "of a GPU while a kernel or copy runs, e.g. 350 W");
    key.required("idle", power.idle, "of a GPU between them, e.g. 80 W");
  }
  void check() const;
};

/// A training whose model changes.
struct ScheduleSpec {
  TrainingLengthSpec length;
  std::vector<PhaseSpec> phases;
  std::optional<AlternationSpec> alternate;
  TransitionSpec transition;
  bool allow_small_end = false;
  std::optional<TrainingLengthSpec> dense;
  std::optional<PowerSpec> power;
  std::optional<std::string> quality, quality_by_share;
  int seeds = 1;

  template <class Visitor>
  static void describe(Visitor& key, ScheduleSpec& schedule) {
    TrainingLengthSpec::describe(key, schedule.length);
    key.optional("phases", schedule.phases, {}, "in order, the last one full; or alternate");
    key.optional("alternate", schedule.alternate, std::nullopt, "phases that take turns; or phases");
    key.optional("transition", schedule.transition, TransitionSpec{}, "what lies between two phases");
    key.optional("allow_small_end", schedule.allow_small_end, false,
                 "the last phase may keep less than all: what is trained then is a smaller model");
    key.optional("dense", schedule.dense, std::nullopt,
                 "how long the full model trains for the same quality, from your own runs; left out: as long "
                 "as the schedule");
    key.optional("power", schedule.power, std::nullopt,
                 "of a GPU, as measured; left out: guessed by its TDP where configs/power has it");
    key.optional("quality", schedule.quality, std::nullopt,
                 "a CSV file of your own with the columns phase and quality, a line for each phase: printed "
                 "beside the times, never computed with");
    key.optional("quality_by_share", schedule.quality_by_share, std::nullopt,
                 "a CSV file of your own with the columns share and quality, for --search \"..., quality >= "
                 "0.9\": the mean over steps is bounded; between its lines it is a straight line");
    key.optional("seeds", schedule.seeds, 1,
                 "where 'vary' draws jitter: steps are means over so many seeds, from vary.seed on");
  }
  /// @throws FieldError for phases that do not follow each other, end early, or end small
  void check() const;
};

/// A phase with its place in the training, as shares of it.
struct PlannedPhase {
  PhaseSpec spec;
  double from = 0, until = 1;
  std::string key_path;  ///< of its `keep` below the scenario, for complaints
};

/// `phases`, or what `alternate` stands for.
/// @throws FieldError as ScheduleSpec::check()
[[nodiscard]] std::vector<PlannedPhase> planned_phases(const ScheduleSpec& schedule);

}  // namespace lockstep
