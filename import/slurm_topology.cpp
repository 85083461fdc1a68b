#include "import/slurm_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <regex>
#include <sstream>

#include "base/error.hpp"
#include "import/network_drawing.hpp"

namespace lockstep::importing {
namespace {

constexpr std::size_t kMostHosts = 100'000;

/// Parts of a list between commas outside of brackets. @throws InputError for a bracket without its other
/// half
std::vector<std::string> parts_of(const std::string& list, const SourceLocation& at) {
  std::vector<std::string> parts(1);
  bool is_inside = false;
  for (const char c : list) {
    if ((c == '[' && is_inside) || (c == ']' && !is_inside)) {
      throw InputError{at, fmt::format("'{}' has a bracket without its other half", list)};
    }
    is_inside = c == '[' || (is_inside && c != ']');
    if (c == ',' && !is_inside) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (is_inside) {
    throw InputError{at, fmt::format("'{}' has a bracket without its end", list)};
  }
  return parts;
}

/// `001-003,7` as its numbers in text. @throws InputError for what is no range
std::vector<std::string> numbers_of(const std::string& ranges, const SourceLocation& at) {
  std::vector<std::string> numbers;
  std::istringstream all{ranges};
  for (std::string range; std::getline(all, range, ',');) {
    const auto dash = range.find('-');
    const std::string low = range.substr(0, dash),
                      high = dash == std::string::npos ? low : range.substr(dash + 1);
    std::size_t first = 0, last = 0;
    const auto is_number = [](const std::string& text, std::size_t& number) {
      const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
      return problem == std::errc{} && end == text.data() + text.size();
    };
    if (!is_number(low, first) || !is_number(high, last) || last < first || last - first > kMostHosts) {
      throw InputError{at, fmt::format("'{}' is no range of numbers: expected e.g. 001-016", range)};
    }
    for (std::size_t i = first; i <= last; ++i) {
      numbers.push_back(fmt::format("{:0{}}", i, low.size()));
    }
  }
  return numbers;
}

/// `rack[1-2]node[001-003,7],login` as its names. @throws InputError for what is no list, or too many
std::vector<std::string> expanded(const std::string& list, const SourceLocation& at) {
  std::vector<std::string> names;
  for (const std::string& part : parts_of(list, at)) {
    std::vector<std::string> begun{""};
    std::size_t done = 0;
    for (auto open = part.find('['); open != std::string::npos; open = part.find('[', done)) {
      const auto close = part.find(']', open);
      std::vector<std::string> longer;
      for (const std::string& before : begun) {
        for (const std::string& number : numbers_of(part.substr(open + 1, close - open - 1), at)) {
          longer.push_back(fmt::format("{}{}{}", before, part.substr(done, open - done), number));
        }
        if (longer.size() > kMostHosts) {
          throw InputError{at, fmt::format("more than {} names", kMostHosts)};
        }
      }
      begun = std::move(longer);
      done = close + 1;
    }
    for (const std::string& before : begun) {
      names.push_back(before + part.substr(done));
    }
    if (names.size() > kMostHosts) {
      throw InputError{at, fmt::format("more than {} names", kMostHosts)};
    }
  }
  return names;
}

std::string in_small(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The line without its comment: from a `#` on that no backslash stands before.
std::string without_comment(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size() && line[i] != '#'; ++i) {
    i += line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '#' ? 1 : 0;
    text += line[i];
  }
  return text;
}

/// Takes the backslash off that continues a line; blanks may stand behind it. @return whether there was one
bool take_continuation(std::string& line) {
  const auto end = line.find_last_not_of(" \t\r");
  if (end == std::string::npos || line[end] != '\\') {
    return false;
  }
  const auto before = line.find_last_not_of('\\', end);
  const std::size_t backslashes = before == std::string::npos ? end + 1 : end - before;
  if (backslashes % 2 == 0) {
    return false;
  }
  line.resize(end);
  return true;
}

/// Reads the syntax of slurm.conf (parse_config.c): KEY=VALUE, blanks round `=`, quoted values, comments,
/// lines that go on behind a backslash.
class SlurmReader {
 public:
  SlurmReader(const SourceFile& file, Draft& draft) : file_{file}, draft_{draft} {}

  Network read() {
    network_.host_has_ports = false;
    int number = 0, first = 0;
    std::string whole;
    for (const std::string_view line : file_.lines()) {
      ++number;
      first = whole.empty() ? number : first;
      whole += without_comment(line);
      if (!take_continuation(whole)) {
        row(whole, {file_.name, first, 1});
        whole.clear();
      }
    }
    row(whole, {file_.name, first, 1});
    if (network_.hosts.empty()) {
      throw InputError{{file_.name}, "a topology without nodes: expected SwitchName=leaf1 Nodes=node[1-8]"};
    }
    join_blocks();
    uplinks();
    return std::move(network_);
  }

 private:
  struct Value {
    std::string key;  ///< as it is written
    std::string text;
  };
  using Row = std::map<std::string, Value>;  // by key in small letters

  Row keys_of(const std::string& line, const SourceLocation& at) {
    constexpr const char* kBlanks = " \t\r";
    Row keys;
    for (std::size_t i = line.find_first_not_of(kBlanks); i != std::string::npos;) {
      const std::size_t key_end = std::min(line.find_first_of(" \t\r=", i), line.size());
      const std::string key = line.substr(i, key_end - i);
      const std::size_t equals = line.find_first_not_of(kBlanks, key_end);
      if (keys.empty() && in_small(key) == "include") {
        draft_.remark(Remark::Kind::Unsaid, {at, key}, "give that file to import, too");
        return keys;
      }
      if (equals == std::string::npos || line[equals] != '=') {
        throw InputError{at, fmt::format("'{}' has no value: expected KEY=VALUE", key)};
      }
      std::size_t begin = std::min(line.find_first_not_of(kBlanks, equals + 1), line.size());
      const bool is_quoted = begin < line.size() && line[begin] == '"';
      begin += is_quoted ? 1 : 0;
      const std::size_t end = line.find_first_of(is_quoted ? "\"" : kBlanks, begin);
      if (is_quoted && end == std::string::npos) {
        throw InputError{at, fmt::format("the value of '{}' has a quote without its end", key)};
      }
      keys[in_small(key)] = {key, line.substr(begin, end - begin)};
      i = end == std::string::npos ? end : line.find_first_not_of(kBlanks, end + (is_quoted ? 1 : 0));
    }
    return keys;
  }

  void row(const std::string& line, const SourceLocation& at) {
    Row keys = keys_of(line, at);
    const auto take = [&](const std::string& key) {
      const auto found = keys.find(key);
      const std::string text = found == keys.end() ? "" : found->second.text;
      keys.erase(key);
      return text;
    };
    const std::string of_switch = take("switchname"), of_block = take("blockname");
    const std::string name = of_switch.empty() ? of_block : of_switch;
    if (!name.empty()) {
      network_.switches.emplace(name, at);
      if (of_switch.empty()) {
        blocks_.emplace_back(name, at);
      }
      add_hosts(name, take("nodes"), at);
      add_switches(name, take("switches"), at);
    }
    for (const char* const without_effect : {"linkspeed", "blocksizes", "comment"}) {
      if (const auto found = keys.find(without_effect); found != keys.end()) {
        draft_.remark(Remark::Kind::NoEffect, {at, found->second.key}, "SLURM alone uses it, for placement");
        keys.erase(found);
      }
    }
    for (const auto& [small, value] : keys) {
      draft_.remark(Remark::Kind::Unknown, {at, value.key});
    }
  }

  void add_hosts(const std::string& name, const std::string& list, const SourceLocation& at) {
    if (list.empty()) {
      return;
    }
    for (const std::string& host : expanded(list, at)) {
      network_.hosts.push_back(host);
      network_.ports.push_back({host, name, "", at});
    }
  }

  void add_switches(const std::string& name, const std::string& list, const SourceLocation& at) {
    if (list.empty()) {
      return;
    }
    for (const std::string& below : expanded(list, at)) {
      network_.cables.push_back({below, name, 1, "", at});
    }
  }

  /// Blocks are listed without what joins them.
  void join_blocks() {
    if (blocks_.size() < 2) {
      return;
    }
    const std::string spine = "what joins blocks";
    network_.switches.emplace(spine, blocks_.front().second);
    for (const auto& [name, at] : blocks_) {
      network_.cables.push_back({name, spine, 1, "", at});
    }
    draft_.remark(Remark::Kind::Unsaid, {blocks_.front().second, "BlockName"},
                  "SLURM does not say what joins blocks; one switch is assumed");
  }

  /// SLURM does not say how wide a switch's uplinks are: as wide as what is below it.
  void uplinks() {
    const std::string port = "infiniband_ndr";
    std::map<std::string, int> below;
    for (Network::Port& link : network_.ports) {
      link.link = port;
      below[link.leaf] += kNicsOfNode;
    }
    for (Network::Cable& cable : network_.cables) {
      if (!network_.switches.contains(cable.from)) {
        throw InputError{cable.at, fmt::format("there is no switch '{}' in the file", cable.from)};
      }
      cable.link = port;
      cable.count = std::max(1, below[cable.from]);
      below[cable.to] += cable.count;
    }
    const bool is_flat = network_.cables.empty();
    draft_.remark(Remark::Kind::Unsaid,
                  {is_flat ? network_.ports.front().at : network_.cables.front().at, "cables"},
                  is_flat ? "SLURM does not say how fast they are; InfiniBand NDR is assumed"
                          : "SLURM does not say how many and how fast; uplinks as wide as what is below a "
                            "switch, of InfiniBand NDR, are assumed");
  }

  static constexpr int kNicsOfNode = 8;
  const SourceFile& file_;
  Draft& draft_;
  Network network_;
  std::vector<std::pair<std::string, SourceLocation>> blocks_;
};

}  // namespace

bool is_slurm_topology(const SourceFile& file) {
  static const std::regex named{R"re((^|\n)[ \t]*(switch|block)name[ \t]*=)re"};
  return !file.tree && std::regex_search(in_small(file.text), named);
}

void read_slurm_topology(const SourceFile& file, Draft& draft) {
  draw(SlurmReader{file, draft}.read(), file.name + ": topology.conf of SLURM", draft);
}

}  // namespace lockstep::importing
