#include "generate/runtime/table.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace benchmark {
namespace {

constexpr std::string_view kFormat = "lockstep-benchmark";
constexpr double kVersion = 2;
constexpr double kMostOfAKind = 1e9;

/// The words of a line, one after the other.
class Line {
 public:
  Line(std::string_view text, int number) : rest_{text}, number_{number} {}

  [[nodiscard]] bool is_over() {
    skip_blanks();
    return rest_.empty();
  }

  std::string_view word(const char* what) {
    skip_blanks();
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    if (end == 0) {
      fail(std::string{what} + " is missing");
    }
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return found;
  }

  /// All that is left, blanks between words included.
  std::string rest() {
    skip_blanks();
    std::string found{rest_};
    rest_ = {};
    return found;
  }

  double number(const char* what) { return number_in(word(what), what); }

  double number_in(std::string_view text, const char* what) const {
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size()) {
      fail(std::string{what} + " is a number, not '" + std::string{text} + "'");
    }
    return value;
  }

  /// A whole number from 0 to below @p bound.
  std::uint32_t index(const char* what, double bound = kMostOfAKind) {
    return index_in(word(what), what, bound);
  }

  std::uint32_t index_in(std::string_view text, const char* what, double bound = kMostOfAKind) const {
    const double value = number_in(text, what);
    if (!(value >= 0) || !(value < bound) ||
        value != static_cast<double>(static_cast<std::uint32_t>(value))) {
      fail(std::string{what} + " is a whole number from 0 to " +
           std::to_string(static_cast<std::int64_t>(bound) - 1) + ", not '" + std::string{text} + "'");
    }
    return static_cast<std::uint32_t>(value);
  }

  /// `0,1,5`, or `-` for none.
  std::vector<std::uint32_t> indices(const char* what, double bound = kMostOfAKind) {
    std::vector<std::uint32_t> list;
    for (const std::string_view item : items(what)) {
      list.push_back(index_in(item, what, bound));
    }
    return list;
  }

  std::vector<double> numbers(const char* what) {
    std::vector<double> list;
    for (const std::string_view item : items(what)) {
      list.push_back(number_in(item, what));
    }
    return list;
  }

  [[noreturn]] void fail(const std::string& message) const { throw TableError{number_, message}; }

 private:
  std::vector<std::string_view> items(const char* what) {
    std::string_view text = word(what);
    std::vector<std::string_view> list;
    while (text != "-" && !text.empty()) {
      const std::size_t end = std::min(text.find(','), text.size());
      list.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return list;
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  std::string_view rest_;
  int number_;
};

class Reader {
 public:
  Table read(std::istream& text) {
    std::string line;
    int number = 0;
    while (std::getline(text, line)) {
      ++number;
      if (!line.empty() && line.back() == '\r') {
        line.pop_back();
      }
      Line words{line, number};
      if (words.is_over() || line.front() == '#') {
        continue;
      }
      if (!begun_) {
        begin(words);
      } else {
        understand(words);
      }
    }
    if (!begun_) {
      throw TableError{std::max(number, 1), "the file is empty"};
    }
    check(number);
    return std::move(table_);
  }

 private:
  void begin(Line& line) {
    if (line.word("the format") != kFormat) {
      line.fail("this is no operation table: it begins with '" + std::string{kFormat} + " 2'");
    }
    if (line.number("the version") != kVersion) {
      line.fail("only version 2 of the format is known");
    }
    begun_ = true;
  }

  void understand(Line& line) {
    const std::string_view word = line.word("a word");
    if (of_table(word, line)) {
      return;
    }
    if (table_.programs.empty()) {
      line.fail("'" + std::string{word} + "' belongs to a program, and none has begun");
    }
    Program& program = table_.programs.back();
    if (!of_program(word, line, program)) {
      instruction(word, line, program);
    }
    if (!line.is_over()) {
      line.fail("more than '" + std::string{word} + "' takes: '" + line.rest() + "'");
    }
  }

  bool of_table(std::string_view word, Line& line) {
    if (word == "seed") {
      table_.seed = line.index("the seed", 4294967296.0);
    } else if (word == "job_steps") {
      table_.job_steps = static_cast<int>(line.index("the number of steps"));
    } else if (word == "steps") {
      table_.steps = static_cast<int>(line.index("the number of steps"));
    } else if (word == "host_time") {
      const std::string_view mode = line.word("the mode");
      if (mode != "recorded" && mode != "none") {
        line.fail("host_time is recorded or none, not '" + std::string{mode} + "'");
      }
      table_.host_recorded = mode == "recorded";
    } else if (word == "group") {
      Group group;
      group.ranks = line.indices("the ranks");
      group.name = line.rest();
      table_.groups.push_back(std::move(group));
    } else if (word == "rank") {
      Rank rank;
      rank.program = line.index("the program");
      rank.groups = line.indices("the groups");
      rank.kernel_slots = line.indices("the kernels of slots");
      rank.collective_slots = line.indices("the collectives of slots");
      table_.ranks.push_back(std::move(rank));
    } else if (word == "program") {
      table_.programs.emplace_back();
    } else {
      return false;
    }
    return true;
  }

  static bool of_program(std::string_view word, Line& line, Program& program) {
    if (word == "stream") {
      program.streams.push_back(line.rest());
    } else if (word == "uses") {
      program.groups.push_back(line.rest());
    } else if (word == "name") {
      program.names.push_back(line.rest());
    } else if (word == "events") {
      program.events = line.index("the number of events");
      program.carried_events = line.indices("the carried events");
    } else if (word == "flags") {
      program.flags = line.index("the number of flags");
    } else if (word == "memory") {
      program.memory = bytes(line, "the bytes");
    } else if (word == "view") {
      const std::int64_t place = bytes(line, "the place");
      program.views.push_back({place, bytes(line, "the bytes")});
    } else if (word == "kernel") {
      program.kernels.push_back(kernel(line));
    } else if (word == "operands") {
      if (program.kernels.empty()) {
        line.fail("operands belong to the kernel above them, and there is none");
      }
      program.kernels.back().reads = line.indices("what it reads", static_cast<double>(program.views.size()));
      program.kernels.back().writes =
          line.indices("what it writes", static_cast<double>(program.views.size()));
    } else if (word == "call") {
      if (program.kernels.empty()) {
        line.fail("a call belongs to the kernel above it, and there is none");
      }
      Call call;
      call.work = line.word("the kind of work");
      call.type = line.word("the type");
      call.fields = fields(line);
      program.kernels.back().calls.push_back(std::move(call));
    } else if (word == "table") {
      if (program.kernels.empty() || program.kernels.back().calls.empty()) {
        line.fail("a table belongs to the call above it, and there is none");
      }
      program.kernels.back().calls.back().tables.push_back(fields(line));
    } else if (word == "communication") {
      program.collectives.push_back(collective(line));
    } else if (word == "thread") {
      program.threads.push_back({line.rest(), {}});
    } else {
      return false;
    }
    return true;
  }

  static std::int64_t bytes(Line& line, const char* what) {
    const double value = line.number(what);
    if (!(value >= 0) || value > 1e15) {
      line.fail(std::string{what} + " are a number from 0 to 1e15");
    }
    return static_cast<std::int64_t>(value);
  }

  static Kernel kernel(Line& line) {
    Kernel made;
    made.backend = line.word("the back-end");
    const std::string_view origin = line.word("the origin of its time");
    if (origin != "recorded" && origin != "modelled") {
      line.fail("its time is recorded or modelled, not '" + std::string{origin} + "'");
    }
    made.recorded = origin == "recorded";
    made.seconds = line.number("the time");
    made.bytes = line.number("the bytes");
    made.flops = line.number("the FLOPs");
    made.delay = line.number("the rest after it");
    made.graph = static_cast<int>(line.number("the graph"));
    made.family = line.word("the family");
    made.name = line.rest();
    return made;
  }

  static Fields fields(Line& line) {
    Fields made;
    while (!line.is_over()) {
      const std::string_view pair = line.word("a field");
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos) {
        line.fail("a field is NAME=NUMBER, not '" + std::string{pair} + "'");
      }
      made[std::string{pair.substr(0, equals)}] = line.number_in(pair.substr(equals + 1), "a field");
    }
    return made;
  }

  static Collective collective(Line& line) {
    Collective made;
    made.kind = line.word("the kind");
    made.type = line.word("the type");
    made.group = line.index("the group");
    made.bytes = line.number("the bytes");
    made.peer = static_cast<int>(line.number("the peer"));
    made.batched = line.index("batched", 2) == 1;
    made.sm_limit = static_cast<int>(line.index("the limit of SMs"));
    made.recorded = line.number("the recorded time");
    made.delay = line.number("the delay");
    made.send_bytes = line.numbers("the bytes to each member");
    return made;
  }

  static void instruction(std::string_view word, Line& line, Program& program) {
    Instruction made;
    made.per_rank = word.ends_with('*');
    word.remove_suffix(made.per_rank ? 1 : 0);
    const auto& names = opcode_names();
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) {
      line.fail("there is no '" + std::string{word} + "' in an operation table");
    }
    if (program.threads.empty()) {
      line.fail("an instruction belongs to a thread, and none has begun");
    }
    made.op = static_cast<Opcode>(found - names.begin());
    made.stream = static_cast<std::uint8_t>(line.index("the stream", 256));
    made.operand = line.index("the operand");
    made.lead = static_cast<float>(line.number("the time before"));
    made.cost = static_cast<float>(line.number("the time"));
    program.threads.back().instructions.push_back(made);
  }

  /// Every index points somewhere.
  void check(int line) const {
    const auto expect = [&](bool holds, const std::string& message) {
      if (!holds) {
        throw TableError{line, message};
      }
    };
    expect(!table_.ranks.empty(), "the file ends before any rank: it is cut off");
    for (const Rank& rank : table_.ranks) {
      expect(rank.program < table_.programs.size(), "a rank runs a program that is not there");
      const Program& program = table_.programs[rank.program];
      expect(rank.groups.size() == program.groups.size(), "a rank has other groups than its program");
      expect_indices(rank, program, expect);
      expect(std::all_of(program.views.begin(), program.views.end(),
                         [&](const View& view) { return view.place + view.bytes <= program.memory; }),
             "a view ends behind the planned memory");
      for (const std::uint32_t group : rank.groups) {
        expect(group < table_.groups.size(), "a rank is in a group that is not there");
      }
    }
  }

  template <class Expect>
  static void expect_indices(const Rank& rank, const Program& program, const Expect& expect) {
    const auto all_below = [](const std::vector<std::uint32_t>& list, std::size_t bound) {
      return std::all_of(list.begin(), list.end(), [&](std::uint32_t index) { return index < bound; });
    };
    expect(all_below(rank.kernel_slots, program.kernels.size()),
           "a slot of a rank holds a kernel that is not there");
    expect(all_below(rank.collective_slots, program.collectives.size()),
           "a slot of a rank holds a collective that is not there");
    for (const Collective& call : program.collectives) {
      expect(call.group < program.groups.size(), "a collective is of a group that its program has not");
    }
    for (const Thread& thread : program.threads) {
      for (const Instruction& i : thread.instructions) {
        const std::size_t bound =
            i.op == Opcode::Launch ? (i.per_rank ? rank.kernel_slots.size() : program.kernels.size())
            : i.op == Opcode::Collective
                ? (i.per_rank ? rank.collective_slots.size() : program.collectives.size())
            : i.op == Opcode::Record || i.op == Opcode::StreamWait || i.op == Opcode::WaitEvent
                ? program.events
            : i.op == Opcode::Post || i.op == Opcode::Await ? program.flags
                                                            : i.operand + 1ULL;
        expect(i.operand < bound, "'" + opcode_names()[static_cast<std::size_t>(i.op)] + "' of " +
                                      std::to_string(i.operand) + ", and there are " + std::to_string(bound));
        expect(i.stream < std::max<std::size_t>(program.streams.size(), 1),
               "an instruction of a stream that is not there");
      }
    }
  }

  Table table_;
  bool begun_ = false;
};

}  // namespace

double Call::number(const std::string& field, double otherwise) const {
  const auto found = fields.find(field);
  return found == fields.end() ? otherwise : found->second;
}

const std::vector<std::string>& opcode_names() {
  static const std::vector<std::string> names{
      "host",       "open",        "close",       "launch", "collective", "record", "stream_wait",
      "wait_event", "wait_stream", "wait_device", "post",   "await",      "lag"};
  return names;
}

Table read_table(std::istream& text) {
  return Reader{}.read(text);
}

}  // namespace benchmark
