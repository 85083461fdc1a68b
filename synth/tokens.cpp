#include "synth/tokens.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "ops/thread_walk.hpp"

namespace lockstep::synth {
namespace {

/// A waiter (a stream, a thread) and whose records or posts it waits for.
using Way = std::tuple<bool, std::uint8_t, std::uint8_t>;

/// Turns positions in a list that grows into references and back.
class References {
 public:
  /// @param count how many there are so far @param place which is meant, below count
  std::pair<Reference, std::uint32_t> encode(const Way& way, std::size_t count, std::size_t place) {
    const std::size_t next = std::exchange(next_[way], place + 1);
    if (place + 1 == count) return {Reference::Latest, 0};
    if (place == next) return {Reference::Next, 0};
    return {Reference::Back, static_cast<std::uint32_t>(count - 1 - place)};
  }

  /// @return which is meant, below @p count, which is not 0
  std::size_t decode(const Way& way, std::size_t count, Reference reference, std::uint32_t distance) {
    std::size_t place = count - 1;
    if (reference == Reference::Next) {
      place = std::min(next_[way], count - 1);
    } else if (reference == Reference::Back) {
      place = distance < count ? count - 1 - distance : 0;
    }
    next_[way] = place + 1;
    return place;
  }

 private:
  std::map<Way, std::size_t> next_;
};

/// Carried events by their number in the order of Program::carried_events.
std::map<std::uint32_t, std::uint32_t> carried_numbers(const Program& program) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (const std::uint32_t event : program.carried_events) {
    numbers.emplace(event, static_cast<std::uint32_t>(numbers.size()));
  }
  return numbers;
}

class Tokeniser {
 public:
  explicit Tokeniser(const Program& program)
      : walk_{program},
        carried_{carried_numbers(program)},
        records_(program.streams.size(), 0),
        posts_(program.threads.size(), 0) {}

  std::vector<Token> tokens() && {
    walk_.run([this](std::size_t thread, std::size_t /*number*/, const Instruction& instruction) {
      tokens_.push_back(token(static_cast<std::uint8_t>(thread), instruction));
    });
    return std::move(tokens_);
  }

 private:
  struct Record {
    std::uint8_t stream = 0;
    std::size_t place = 0;
  };
  struct Post {
    std::uint8_t thread = 0;
    std::size_t place = 0;
  };

  Token token(std::uint8_t thread, const Instruction& instruction) {
    Token token{instruction.op,       thread,          instruction.stream,  0,
                instruction.per_rank, Reference::None, instruction.operand, instruction.lead,
                instruction.cost};
    switch (instruction.op) {
      case Opcode::RecordEvent: {
        const auto carried = carried_.find(instruction.operand);
        token.operand = carried == carried_.end() ? 0 : carried->second + 1;
        latest_[instruction.operand] = {instruction.stream, records_[instruction.stream]++};
        break;
      }
      case Opcode::StreamWait:
      case Opcode::WaitEvent:
        refer(token, instruction);
        break;
      case Opcode::Post:
        token.operand = 0;
        walk_.post(instruction.operand, {thread, posts_[thread]++});
        break;
      case Opcode::Await: {
        const Post post = walk_.await(thread, instruction.operand);
        token.source = post.thread;
        std::tie(token.reference, token.operand) =
            of_posts_.encode({false, thread, post.thread}, posts_[post.thread], post.place);
        break;
      }
      default:
        break;
    }
    return token;
  }

  void refer(Token& token, const Instruction& instruction) {
    const auto record = latest_.find(instruction.operand);
    if (record == latest_.end()) {
      token.reference = Reference::Carried;
      token.operand = carried_.at(instruction.operand);
      return;
    }
    const bool is_stream = instruction.op == Opcode::StreamWait;
    token.source = record->second.stream;
    std::tie(token.reference, token.operand) =
        of_records_.encode({is_stream, is_stream ? instruction.stream : token.thread, token.source},
                           records_[token.source], record->second.place);
  }

  ThreadWalk<Post> walk_;
  std::map<std::uint32_t, std::uint32_t> carried_;
  std::vector<std::size_t> records_;        // by stream: how many
  std::vector<std::size_t> posts_;          // by thread: how many
  std::map<std::uint32_t, Record> latest_;  // by event
  References of_records_, of_posts_;
  std::vector<Token> tokens_;
};

class InstructionWriter {
 public:
  explicit InstructionWriter(Program& program)
      : program_{program}, records_(program.streams.size()), posts_(program.threads.size()) {
    for (Program::Thread& thread : program_.threads) thread.instructions.clear();
    carried_ = static_cast<std::uint32_t>(program_.carried_events.size());
    for (std::uint32_t i = 0; i < carried_; ++i) program_.carried_events[i] = i;
    program_.events = carried_;
    program_.flags = 0;
  }

  void add(const Token& token) {
    Instruction instruction{token.op, token.stream, token.per_rank, 0, token.operand, token.lead, token.cost};
    switch (token.op) {
      case Opcode::RecordEvent:
        instruction.operand = token.operand == 0 ? program_.events++ : token.operand - 1;
        records_[token.stream].push_back(instruction.operand);
        break;
      case Opcode::StreamWait:
      case Opcode::WaitEvent:
        if (!find_record(token, instruction.operand)) return;
        break;
      case Opcode::Post:
        instruction.operand = program_.flags++;
        posts_[token.thread].push_back(instruction.operand);
        break;
      case Opcode::Await:
        if (!find_post(token, instruction.operand)) return;
        break;
      default:
        break;
    }
    program_.threads[token.thread].instructions.push_back(instruction);
  }

  [[nodiscard]] const Repairs& repairs() const { return repairs_; }

 private:
  bool find_record(const Token& token, std::uint32_t& event) {
    if (token.reference == Reference::Carried) {
      event = token.operand;
      return true;
    }
    const auto& records = records_[token.source];
    if (records.empty()) {
      ++repairs_.waits;
      return false;
    }
    const bool is_stream = token.op == Opcode::StreamWait;
    event = records[of_records_.decode({is_stream, is_stream ? token.stream : token.thread, token.source},
                                       records.size(), token.reference, token.operand)];
    return true;
  }

  bool find_post(const Token& token, std::uint32_t& flag) {
    const auto& posts = posts_[token.source];
    if (posts.empty()) {
      ++repairs_.waits;
      return false;
    }
    flag = posts[of_posts_.decode({false, token.thread, token.source}, posts.size(), token.reference,
                                  token.operand)];
    if (!awaited_.emplace(token.thread, flag).second) {  // it would wait for a second post
      ++repairs_.waits;
      return false;
    }
    return true;
  }

  Program& program_;
  std::uint32_t carried_ = 0;
  std::vector<std::vector<std::uint32_t>> records_, posts_;  // events by stream, flags by thread
  std::set<std::pair<std::uint8_t, std::uint32_t>> awaited_;
  References of_records_, of_posts_;
  Repairs repairs_;
};

}  // namespace

std::vector<Token> tokens_of(const Program& program) {
  return Tokeniser{program}.tokens();
}

Repairs write_instructions(const std::vector<Token>& tokens, Program& program) {
  InstructionWriter writer{program};
  for (const Token& token : tokens) {
    writer.add(token);
  }
  return writer.repairs();
}

}  // namespace lockstep::synth
