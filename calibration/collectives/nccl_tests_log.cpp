#include "calibration/collectives/nccl_tests_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <regex>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "base/file.hpp"
#include "calibration/collectives/nccl_tests_checks.hpp"
#include "calibration/collectives/nccl_tests_line.hpp"
#include "traces/unpacked.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kLongestLine = 4096;  // of rows and headers; NCCL's own lines may be longer

/// The collective that a file's name mentions: the longest of nccl-tests' names in it.
std::string program_in_name(const std::filesystem::path& file) {
  static constexpr std::array kWords{
      std::pair{"allreduce", "all_reduce"}, std::pair{"all_reduce", "all_reduce"},
      std::pair{"allgather", "all_gather"}, std::pair{"all_gather", "all_gather"},
      std::pair{"alltoall", "alltoall"},    std::pair{"all_to_all", "alltoall"},
      std::pair{"broadcast", "broadcast"},  std::pair{"reducescatter", "reduce_scatter"},
      std::pair{"sendrecv", "sendrecv"},    std::pair{"reduce_scatter", "reduce_scatter"},
      std::pair{"reduce", "reduce"},  // last: it is part of others
  };
  std::string name = file.filename().string();  // all-reduce.log, AllReduce.txt, all_reduce_perf.out
  for (char& letter : name) {
    letter = letter == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  for (const auto& [word, program] : kWords) {
    if (name.find(word) != std::string::npos) {
      return program;
    }
  }
  return {};
}

/// Runs of one program in one log, or in logs of one name, are runs of their own.
std::string unused_name(const std::string& name, const std::vector<std::string>& runs) {
  std::string unused = name;
  for (int number = 2; std::ranges::find(runs, unused) != runs.end(); ++number) {
    unused = fmt::format("{} ({})", name, number);
  }
  return unused;
}

/// The program of a log that does not say it itself.
struct FallbackProgram {
  std::string name;     ///< empty: not known
  bool of_all = false;  ///< of each program in the log: said by the user, not guessed by the file's name
};

/// One pass over a log.
class LogPass {
 public:
  LogPass(const std::filesystem::path& file, std::string name, FallbackProgram program,
          CollectiveMeasurements& into)
      : file_{file},
        name_{std::move(name)},
        fallback_{std::move(program)},
        program_{fallback_.name},
        into_{into} {}

  void take(int line_number, const std::string& raw) {
    line_ = line_number;
    if (raw.size() > kLongestLine) {
      return;
    }
    const std::string line{nccl_tests::without_launcher(raw)};
    if (std::smatch found; std::regex_search(line, found, starting())) {
      begin(found[1]);
    } else if (std::regex_search(line, found, rank_line())) {
      if (time_from_end_) {
        begin_unnamed();
      }
      ++ranks_on_[found[1]];
      if (found[2].matched) {
        report_.devices.insert(found[2]);
      }
    } else if (const auto wrong = results_out_of_bounds(line)) {
      end(*wrong);
    } else if (line.find("size") != std::string::npos && line.find("busbw") != std::string::npos) {
      take_header(nccl_tests::words_of(line));
    } else {
      take_row(nccl_tests::words_of(line));
    }
  }

  [[nodiscard]] const NcclTestsReport& report() const { return report_; }
  [[nodiscard]] bool found_a_table() const { return found_table_; }

 private:
  // Made when the first log is read: they take as long as the whole start of a run.
  static const std::regex& starting() {
    static const std::regex kStarting{R"(# Collective test starting: (\w+))"};
    return kStarting;
  }
  static const std::regex& rank_line() {
    static const std::regex kRank{R"(#\s+Rank\s+\d+ .* on\s+(\S+) device(?:.*\]\s+(\S.*?)\s*$)?)"};
    return kRank;
  }

  void begin(const std::string& program) {
    program_ = program;
    ranks_on_.clear();
    time_from_end_.reset();
    run_.reset();
    wrong_here_ = 0;
  }

  /// The devices of the next program.
  void begin_unnamed() {
    if (!fallback_.of_all) {
      complain(
          "a second program begins here, and the log does not say which collective it is of: cut the log in "
          "two and name each file by its collective, or say that all are of one, e.g. --collective "
          "all_reduce");
    }
    begin(fallback_.name);
  }

  /// A program's last line counts wrong results. Where none of its rows tells them, any may be wrong.
  void end(std::uint64_t wrong) {
    if (wrong == 0 || wrong_here_ > 0 || !run_) {
      return;
    }
    const auto is_of_run = [&](const CollectiveMeasurement& row) { return row.run == *run_; };
    const std::size_t rows = std::erase_if(into_.rows, is_of_run);
    report_.used -= rows;
    report_.wrong += rows;
    into_.runs.pop_back();  // the last
    run_.reset();
  }

  /// `# size count type [redop] [root] time algbw busbw error time ...`. Rows leave redop and root out where
  /// the collective has none, though the header has them: times are counted from the end of the line.
  void take_header(const std::vector<std::string>& words) {
    const auto time = std::ranges::find(words, "time");
    if (time == words.end() && std::ranges::find(words, "cputime") != words.end()) {
      complain("these are times of the CPU (-C 1), not of the GPUs: run nccl-tests without it");
    }
    if (time != words.end()) {
      time_from_end_ = static_cast<std::size_t>(words.end() - time);
      *time_from_end_ += words.back() == "timestamp" ? 1U : 0U;  // of rows a date and a time
      counts_wrong_ = std::ranges::find(words, "#wrong") != words.end();
      has_errors_ = std::ranges::find(words, "error") != words.end();
      found_table_ = true;
    }
  }

  void take_row(const std::vector<std::string>& words) {
    if (!time_from_end_ || words.empty() || !nccl_tests::number_of(words.front())) {
      if (nccl_tests::has_row(words)) {  // else NCCL's own output, blank lines, remarks
        ++report_.unread;
        report_.first_unread = report_.first_unread > 0 ? report_.first_unread : line_;
      } else if (time_from_end_ && !words.empty() && nccl_tests::was_row(words)) {
        break_off();
      }
      return;
    }
    const double bytes = *nccl_tests::number_of(words.front());
    if (bytes == 0) {
      ++report_.without_size;
      return;
    }
    const auto time = time_in(words, bytes);
    if (!time) {
      break_off();
      return;
    }
    if (is_wrong(words)) {
      ++report_.wrong;
      return;
    }
    const auto kind = kind_here();
    if (!kind) {
      ++report_.not_modelled;
      return;
    }
    const auto [nodes, per_node] = group_here();
    check_bus_bandwidth(words, *kind, nodes * per_node);
    if (!run_) {
      run_ = into_.runs.size();
      into_.runs.push_back(unused_name(fmt::format("{}: {}", name_, program_), into_.runs));
    }
    into_.rows.push_back({*kind, nodes, per_node, Bytes{bytes}, *time, *run_});
    ++report_.used;
  }

  /// A row that cannot be used.
  void break_off() {
    ++report_.broken;
    report_.first_broken = report_.first_broken > 0 ? report_.first_broken : line_;
  }

  /// The row's first time, when the algorithm bandwidth behind it agrees.
  std::optional<Seconds> time_in(const std::vector<std::string>& words, double bytes) const {
    constexpr std::size_t kNames = 2;  // size and count
    if (words.size() < *time_from_end_ + kNames) {
      return std::nullopt;
    }
    const std::size_t column = words.size() - *time_from_end_;
    const auto microseconds = nccl_tests::number_of(words[column]);
    const auto gigabytes_a_second = nccl_tests::number_of(words[column + 1]);
    if (!microseconds || !(*microseconds > 0) || !gigabytes_a_second) {
      return std::nullopt;
    }
    constexpr double kRounding = 0.0051;  // two digits behind the point
    const double expected = bytes / *microseconds * 1e-3;
    const bool agrees = std::abs(*gigabytes_a_second - expected) <= kRounding + 0.01 * expected;
    return agrees ? std::optional{Seconds{*microseconds * 1e-6}} : std::nullopt;
  }

  /// The log states its collective and its ranks once more: as busbw / algbw (doc/PERFORMANCE.md of
  /// nccl-tests).
  void check_bus_bandwidth(const std::vector<std::string>& words, CollectiveKind kind, int ranks) const {
    const std::size_t time = words.size() - *time_from_end_;
    const auto algorithm = nccl_tests::number_of(words[time + 1]);
    const auto bus = time + 2 < words.size() ? nccl_tests::number_of(words[time + 2]) : std::nullopt;
    constexpr double kRounding = 0.01;  // two digits behind the point, of both
    const double factor = bus_factor(kind, ranks);
    if (bus && std::abs(*bus - factor * *algorithm) > kRounding * (1 + factor) + 0.01 * *bus) {
      complain(
          fmt::format("busbw {} of algbw {} is no {} of {} ranks, whose factor is {:.4g}: was it another "
                      "collective (--collective), or groups of fewer ranks (NCCL_TESTS_SPLIT, processes "
                      "without MPI)?",
                      *bus, *algorithm, program_, ranks, factor));
    }
  }

  /// Whether the results of the row's first time were wrong; of the second, in place, it is only noted.
  bool is_wrong(const std::vector<std::string>& words) {
    constexpr std::size_t kOutOfPlace = 3, kInPlace = 7;
    const bool is_wrong_here = is_wrong(words, kOutOfPlace);
    wrong_here_ += is_wrong_here || is_wrong(words, kInPlace) ? 1 : 0;
    return is_wrong_here;
  }

  /// Behind time, algbw and busbw: how many elements came out wrong (2.13 and later), or by how much the one
  /// that is furthest off; N/A without `-c 1`.
  [[nodiscard]] bool is_wrong(const std::vector<std::string>& words, std::size_t behind_time) const {
    constexpr std::size_t kType = 2;
    const std::size_t column = words.size() - *time_from_end_ + behind_time;
    const auto error = column < words.size() ? nccl_tests::number_of(words[column]) : std::nullopt;
    if (!error || !(counts_wrong_ || has_errors_)) {
      return false;
    }
    int ranks = 0;
    for (const auto& [host, count] : ranks_on_) {
      ranks += count;
    }
    return !(*error <= (counts_wrong_ ? 0 : largest_right_error(words[kType], ranks)));  // nan is wrong, too
  }

  std::optional<CollectiveKind> kind_here() const {
    if (program_.empty()) {
      complain(
          "neither the log nor its name says which collective this is: give --collective, e.g. all_reduce");
    }
    return nccl_tests_kind(program_);
  }

  std::pair<int, int> group_here() const {
    if (ranks_on_.empty()) {
      complain("no '# Rank ... on HOST device ...' line before this row: how many GPUs ran it?");
    }
    const int per_node = ranks_on_.begin()->second;
    for (const auto& [host, ranks] : ranks_on_) {
      if (ranks != per_node) {
        complain(fmt::format("{} has {} ranks and {} has {}: only equal nodes can be used", host, ranks,
                             ranks_on_.begin()->first, per_node));
      }
    }
    const std::pair group{static_cast<int>(ranks_on_.size()), per_node};
    if (const std::string wrong = wrong_with_group(group.first, group.second); !wrong.empty()) {
      complain(wrong + ": run nccl-tests on several (-g 8, or a process each)");
    }
    return group;
  }

  [[noreturn]] void complain(const std::string& message) const {
    throw InputError{{file_.string(), line_, 1}, message};
  }

  const std::filesystem::path& file_;
  std::string name_;
  FallbackProgram fallback_;
  std::string program_;
  CollectiveMeasurements& into_;
  NcclTestsReport report_;
  std::map<std::string, int> ranks_on_;
  std::optional<std::size_t> time_from_end_;
  bool counts_wrong_ = false, has_errors_ = false;  // the columns of the table
  std::size_t wrong_here_ = 0;                      // rows of this program with wrong results
  std::optional<std::size_t> run_;
  bool found_table_ = false;
  int line_ = 0;
};

}  // namespace

std::string left_out_in_words(const NcclTestsReport& report) {
  std::string text;
  const auto add = [&](std::size_t count, const std::string& what) {
    if (count > 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
    }
  };
  add(report.without_size, "rows of 0 bytes");
  add(report.broken, fmt::format("broken lines, the first in line {}", report.first_broken));
  add(report.unread,
      fmt::format("rows that cannot be read, the first in line {}: behind words that no launcher known here "
                  "puts there, or without a header before them",
                  report.first_unread));
  add(report.wrong, "rows with wrong results (#wrong, error, or FAILED at the end of their run)");
  add(report.not_modelled, "rows of collectives without a model");
  return text;
}

NcclTestsReport NcclTestsLog::read(const std::filesystem::path& file, CollectiveMeasurements& into,
                                   const std::string& name) const {
  std::istringstream in{unpacked(read_whole_file(file), file.string())};
  LogPass pass{file, name.empty() ? file.filename().string() : name,
               program_.empty() ? FallbackProgram{program_in_name(file)} : FallbackProgram{program_, true},
               into};
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    pass.take(++number, line);
  }
  if (!pass.found_a_table()) {
    throw InputError{
        {file.string()},
        "this is no output of nccl-tests: it has no '# size count type ... time algbw busbw' line"};
  }
  return pass.report();
}

}  // namespace lockstep
