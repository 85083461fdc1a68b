#pragma once

/// @file
/// What is learnt of recorded jobs: their structure with what repeats written once, kernels by shape or by
/// time, sizes as products of symbols. Holds no text of a trace, only words of ours.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ops/job.hpp"
#include "synth/recording.hpp"
#include "synth/tokens.hpp"

namespace lockstep::synth {

/// factor * product of symbol^power; @p with_parameters: scaled as the number of parameters is.
struct Monomial {
  double factor = 0;
  std::map<std::string, int> powers;
  bool with_parameters = false;
  bool operator==(const Monomial&) const = default;

  /// @param parameters of the job that is wanted over those of the job that it was fitted to
  [[nodiscard]] double value(const Symbols& symbols, double parameters) const;
};

/// `3*hidden`, `batch*sequence`, `1.2e+07*parameters`.
[[nodiscard]] std::string to_text(const Monomial& monomial);

/// A kernel of a job.
struct KernelEntry {
  KernelCall call;              ///< its name is its class; Timed by its mean where no shape is known
  std::vector<Monomial> sizes;  ///< of its fields that are sizes (ops/kernel_fields.hpp), in their order
  double residual = 0;          ///< mean of log(recorded time over the model's); 0: as the model says
  double spread = 0;            ///< standard deviation of the log of its times where it is repeated
  std::uint32_t support = 1;    ///< how many times it was seen
  bool operator==(const KernelEntry&) const = default;
};

/// A collective of a job.
struct CallEntry {
  CollectiveCall call;
  Monomial elements;
  std::uint32_t support = 1;
  bool operator==(const CallEntry&) const = default;
};

/// A token, or a block that is repeated.
struct Item {
  Token token;
  float spread = 0;         ///< of the token's host time, relative
  std::uint32_t count = 1;  ///< times that `body` is repeated
  std::vector<Item> body;   ///< empty: the token
  bool operator==(const Item&) const = default;
};

/// A collective that starts when enough has piled up (a bucket of gradients), with what goes with it:
/// records, waits, ranges. Stands in no block, since blocks do not end where buckets do.
struct Bucket {
  std::uint32_t item = 0;  ///< of the body, in whose course it starts
  double place = 0;        ///< share of the item's tokens that are before it
  std::vector<Token> tokens;
};

/// The work that some ranks of a job share. Its Program has only tables (names, streams, ...). Kernel and
/// call numbers of tokens index the entries below.
struct Template {
  Program program;  ///< without kernels, collectives and instructions
  std::vector<KernelEntry> kernels;
  std::vector<CallEntry> calls;
  std::vector<Item> body;
  std::vector<Bucket> buckets;  ///< in their order
};

struct JobModel {
  std::vector<Template> templates;
  std::vector<ProcessGroup> groups;
  std::vector<RankAssignment> ranks;  ///< RankAssignment::program is the template
  Symbols symbols;
  std::vector<std::string> unclear;  ///< pairs of symbols that are equal in all jobs: cannot be told apart
  std::string gpu, cluster;          ///< shipped ones, by name; empty: not known
  bool has_launches = true;
  bool interferes = false;
  int steps = 1;             ///< that a simulation repeats
  std::uint64_t tokens = 0;  ///< of all templates, before what repeats was written once
};

struct Model {
  std::string family;
  std::uint32_t min_support = 5;
  std::vector<JobModel> jobs;
  std::map<std::string, double> spreads;  ///< by class: pooled spread of the times of repeated kernels
};

/// Names of the symbols that can be set.
[[nodiscard]] std::vector<std::string> symbols_of(const Model& model);

}  // namespace lockstep::synth
