#pragma once

/// @file
/// A Program as one sequence of tokens: what its threads do in an order in which it can happen. Tokens name
/// no event and no flag, but which record or post is meant, counted from where they stand, so that a part
/// of the sequence can be repeated or left out.

#include <cstdint>
#include <vector>

#include "ops/program.hpp"

namespace lockstep::synth {

/// The record (of a stream) or post (of a thread) that a wait means.
enum class Reference : std::uint8_t {
  None,
  Latest,   ///< the last one
  Next,     ///< the one behind that which the same waiter waited for before
  Back,     ///< the operand-th before the last one
  Carried,  ///< that of the step before
};

struct Token {
  Opcode op = Opcode::HostWork;
  std::uint8_t thread = 0;
  std::uint8_t stream = 0;
  std::uint8_t source =
      0;  ///< of a wait for an event the stream of the record, of an Await the posting thread
  bool per_rank = false;
  Reference reference = Reference::None;
  /// Name (range, host work); kernel or slot (launch); call or slot (collective); carried event plus one,
  /// 0 for none (record); distance for Back, else the carried event (wait).
  std::uint32_t operand = 0;
  float lead = 0, cost = 0;
  bool operator==(const Token&) const = default;
};

/// The tokens of @p program, in the order in which its trace is written (ops/thread_walk.hpp):
/// threads one at a time, until they await what has not been posted.
[[nodiscard]] std::vector<Token> tokens_of(const Program& program);

/// Counts of tokens that could not be written as they say, and were left out.
struct Repairs {
  std::uint64_t waits = 0;  ///< for a record or a post that does not exist
  bool operator==(const Repairs&) const = default;
};

/// Writes the threads' instructions anew from @p tokens. Every record has an event and every post a flag of
/// its own.
/// @param program its tables stay; its instructions, events and flags are replaced
Repairs write_instructions(const std::vector<Token>& tokens, Program& program);

}  // namespace lockstep::synth
