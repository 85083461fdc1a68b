#include "generate/runtime/batches.cuh"

namespace benchmark {
namespace {

/// Marks the batches of one thread.
class ThreadBatches {
 public:
  ThreadBatches(const Table& table, const Rank& rank, const std::vector<Instruction>& code)
      : table_{table}, rank_{rank}, code_{code}, marks_(code.size(), 0) {}

  std::vector<char> mark() {
    for (std::size_t at = 0; at < code_.size(); ++at) {
      if (!is_passed_over(code_[at])) {
        go_to(at, batched_call(code_[at]));
      }
    }
    end();
    return std::move(marks_);
  }

 private:
  [[nodiscard]] const Collective& call_of(const Instruction& i) const {
    return table_.programs[rank_.program].collectives.at(i.per_rank ? rank_.collective_slots.at(i.operand)
                                                                    : i.operand);
  }

  /// Host time, and what stands for a message of the batch to a rank that is not there.
  [[nodiscard]] bool is_passed_over(const Instruction& i) const {
    return i.op == Opcode::Host || i.op == Opcode::Open || i.op == Opcode::Close || i.op == Opcode::Lag ||
           (i.op == Opcode::Collective && table_.groups[rank_.groups.at(call_of(i).group)].ranks.size() == 1);
  }

  [[nodiscard]] const Collective* batched_call(const Instruction& i) const {
    return i.op == Opcode::Collective && call_of(i).batched ? &call_of(i) : nullptr;
  }

  void go_to(std::size_t at, const Collective* call) {
    const bool goes_on = open_ != nullptr && call != nullptr && call->group == open_->group &&
                         code_[at].stream == code_[last_].stream;
    if (!goes_on) {
      end();
    }
    if (call != nullptr) {
      marks_[at] = goes_on ? 0 : kBatchBegins;
      last_ = at;
    }
    open_ = call;
  }

  void end() {
    if (open_ != nullptr) {
      marks_[last_] = static_cast<char>(marks_[last_] | kBatchEnds);
    }
  }

  const Table& table_;
  const Rank& rank_;
  const std::vector<Instruction>& code_;
  std::vector<char> marks_;
  const Collective* open_ = nullptr;
  std::size_t last_ = 0;
};

}  // namespace

std::vector<std::vector<char>> batch_marks(const Table& table, const Rank& rank) {
  std::vector<std::vector<char>> marks;
  for (const Thread& thread : table.programs[rank.program].threads) {
    marks.push_back(ThreadBatches{table, rank, thread.instructions}.mark());
  }
  return marks;
}

}  // namespace benchmark
