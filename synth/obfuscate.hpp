#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "synth/aggregate.hpp"
#include "synth/model.hpp"
#include "synth/sample.hpp"

namespace lockstep::synth {

/// How sizes are made coarse.
enum class SizeHiding : std::uint8_t { Exact, TwoDigits, Log2 };

struct ObfuscateOptions {
  SizeHiding sizes = SizeHiding::TwoDigits;
  std::uint32_t k = 5;              ///< jobs in which a kernel is found, else it goes into a larger piece
  double noise = 0;                 ///< relative spread that is put on every time; 0: none
  bool keep_communication = false;  ///< sizes of collectives stay exact
  bool hide_totals = false;         ///< other layers, and one factor on all times and messages
  CollectiveTime alone;             ///< AggregateOptions::alone
  std::uint64_t seed = 1;           ///< of the noise and of what hides the totals
};

/// Counts of what obfuscate() changed.
struct ObfuscateReport {
  std::size_t kernels = 0;         ///< different kernels
  std::size_t shaped = 0;          ///< of them, timed by the models of their coarse shapes
  std::size_t shared = 0;          ///< of the others, those that share their time
  std::size_t merged_classes = 0;  ///< classes of fewer than k kernels, made one
  double layers = 1, scale = 1;    ///< factors that hide the totals: a secret of the sender
  AggregateReport pieces;          ///< what is left of launches and collectives
};

/// @p value with two significant digits, or as the nearest power of two; 0 stays.
[[nodiscard]] double coarse(double value, SizeHiding sizes);

/// Makes an exact model (FitOptions::exact) of one job coarse, and how it is to be sampled.
///
/// With k = 1, when all kernels stay, symbols are made coarse first and shapes follow from them, so that what
/// one kernel writes the next one reads. Times of kernels without a shape are microaggregated: sorted by time
/// within their class, groups of k to 2k - 1 neighbours take their mean, which keeps the sum (univariate
/// microaggregation: Domingo-Ferrer and Mateo-Sanz, IEEE TKDE 14(1), 2002, groups of fixed size). Kernels of
/// classes with fewer than k become `other`. Host times have two significant digits.
ObfuscateReport obfuscate(Model& model, const ObfuscateOptions& options, SampleOptions& sampled);

/// Kernels as they are in obfuscated jobs (class, type, coarse sizes or time), each with the number of jobs
/// that have it.
using KernelSupport = std::map<std::string, std::uint32_t>;

/// Counts the kernels of an obfuscated sample.
void add_support(const Job& job, KernelSupport& support);

/// Hides what fewer than k jobs have, in a sample of an obfuscated model: its kernels become larger pieces
/// (aggregate()). One job alone is one: nothing but order, times and communication stays of it.
/// @param support of the job itself and of others
AggregateReport hide_rare(Sample& made, const JobModel& job, const GpuSpec& gpu,
                          const ObfuscateOptions& options, const KernelSupport& support);

}  // namespace lockstep::synth
