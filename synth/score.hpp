#pragma once

#include <string>
#include <vector>

#include "synth/recording.hpp"

namespace lockstep::synth {

/// How alike two jobs are in one class of kernels.
struct ClassScore {
  std::string name;
  std::uint64_t sampled = 0, source = 0;       ///< launches of a mean rank
  double sampled_share = 0, source_share = 0;  ///< of the kernels' time
  double duration_ks = 0;                      ///< Kolmogorov-Smirnov distance of the durations
  double weighted_ks = 0;                      ///< the same, each kernel counted by its time
};

struct Score {
  std::vector<ClassScore> classes;  ///< the longest first
  double class_mix = 0;             ///< total variation of the launches' classes
  double message_ks = 0;            ///< of the sizes of collectives and messages
  double host_gap_ks = 0;           ///< of host times before and in instructions
  double work_ratio = 0;            ///< time of kernels, sampled over source
  double message_ratio = 0;         ///< bytes of collectives, sampled over source
  double sequence_distance = 0;     ///< normalised edit distance of the classes of launches in order
  double size_distance = 0;         ///< earth mover's distance of log2 of the message sizes, in octaves
};

/// @p sampled against @p source; ranks in the order of their numbers, weighed alike.
[[nodiscard]] Score compare(const Recording& sampled, const Recording& source);

/// How far a sample is from the nearest of @p sources: the least of their sequence distances plus size
/// distances.
struct Nearest {
  std::size_t source = 0;
  double sequence_distance = 0, size_distance = 0;
};
[[nodiscard]] Nearest nearest(const Recording& sampled, const std::vector<Recording>& sources);

}  // namespace lockstep::synth
