#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/program.hpp"
#include "synth/model.hpp"
#include "synth/symbols.hpp"

namespace lockstep::synth {

/// Tokens without those of buckets, and the buckets: Bucket::item is the number of tokens left before one.
struct SplitTokens {
  std::vector<Token> tokens;
  std::vector<Bucket> buckets;
};

/// Takes out collectives of @p kinds that nothing waits for before the next one of their stream begins: those
/// of DDP's buckets. Others stand where they are called.
[[nodiscard]] SplitTokens split_buckets(const std::vector<Token>& tokens, const Program& program,
                                        std::span<const CollectiveKind> kinds);

/// Turns numbers of tokens into items of @p body and places within them.
void place_buckets(const std::vector<Item>& body, std::vector<Bucket>& buckets);

/// Tokens that an item stands for.
[[nodiscard]] std::uint64_t tokens_of(const Item& item);

/// Elements that the collectives of a template reduce and that grow with the parameters.
[[nodiscard]] Parameters reduced_elements(const Template& tmpl, const Symbols& fitted);

/// One bucket of an item as it is sampled.
struct DrawnBucket {
  const Bucket* like = nullptr;
  double place = 0;
  double elements = 0;
};

/// The buckets of an item with @p growth times as many elements: so many more buckets of their size.
[[nodiscard]] std::vector<DrawnBucket> drawn_buckets(const Template& tmpl, std::uint32_t item, double growth);

}  // namespace lockstep::synth
