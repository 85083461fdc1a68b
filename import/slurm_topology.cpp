#include "import/slurm_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "base/error.hpp"
#include "import/network_drawing.hpp"

namespace lockstep::importing {
namespace {

constexpr std::size_t kMostHosts = 100'000;

/// `node[001-003,7]` as its names. @throws InputError for a bracket without its end, or too many
std::vector<std::string> expanded(const std::string& list, const SourceLocation& at) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : list) {
    depth += c == '[' ? 1 : 0;
    depth -= c == ']' ? 1 : 0;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  std::vector<std::string> names;
  for (const std::string& part : parts) {
    const auto open = part.find('['), close = part.find(']');
    if (open == std::string::npos) {
      names.push_back(part);
      continue;
    }
    if (close == std::string::npos || close < open) {
      throw InputError{at, fmt::format("'{}' has a bracket without its end", part)};
    }
    std::istringstream ranges{part.substr(open + 1, close - open - 1)};
    for (std::string range; std::getline(ranges, range, ',');) {
      const auto dash = range.find('-');
      const std::string low = range.substr(0, dash),
                        high = dash == std::string::npos ? low : range.substr(dash + 1);
      std::size_t first = 0, last = 0;
      const auto a = std::from_chars(low.data(), low.data() + low.size(), first);
      const auto b = std::from_chars(high.data(), high.data() + high.size(), last);
      if (a.ec != std::errc{} || b.ec != std::errc{} || last < first || last - first > kMostHosts) {
        throw InputError{at, fmt::format("'{}' is no range of numbers: expected e.g. 001-016", range)};
      }
      for (std::size_t i = first; i <= last; ++i) {
        names.push_back(
            fmt::format("{}{:0{}}{}", part.substr(0, open), i, low.size(), part.substr(close + 1)));
      }
    }
  }
  if (names.size() > kMostHosts) {
    throw InputError{at, fmt::format("more than {} names", kMostHosts)};
  }
  return names;
}

std::string in_small(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

class SlurmReader {
 public:
  SlurmReader(const SourceFile& file, Draft& draft) : file_{file}, draft_{draft} {}

  Network read() {
    network_.host_has_ports = false;
    int number = 0;
    std::string whole;
    for (const std::string_view line : file_.lines()) {
      ++number;
      whole += std::string{line.substr(0, line.find('#'))};
      if (whole.ends_with('\\')) {
        whole.back() = ' ';
        continue;
      }
      row(whole, {file_.name, number, 1});
      whole.clear();
    }
    if (network_.hosts.empty()) {
      throw InputError{{file_.name}, "a topology without nodes: expected SwitchName=leaf1 Nodes=node[1-8]"};
    }
    uplinks();
    return std::move(network_);
  }

 private:
  void row(const std::string& line, const SourceLocation& at) {
    std::istringstream words{line};
    std::map<std::string, std::string> keys;
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) {
        throw InputError{at, fmt::format("'{}' has no value: expected KEY=VALUE", word)};
      }
      keys[in_small(word.substr(0, equals))] = word.substr(equals + 1);
    }
    const std::string name = keys.contains("switchname") ? keys["switchname"] : keys["blockname"];
    if (keys.empty() || name.empty()) {
      if (!keys.empty()) {
        draft_.remark(Remark::Kind::Unknown, {at, keys.begin()->first});
      }
      return;
    }
    network_.switches.emplace(name, at);
    if (keys.contains("linkspeed")) {
      draft_.remark(Remark::Kind::NoEffect, {at, "LinkSpeed"}, "SLURM itself does not use it");
    }
    for (const std::string& host :
         keys.contains("nodes") ? expanded(keys["nodes"], at) : std::vector<std::string>{}) {
      network_.hosts.push_back(host);
      network_.ports.push_back({host, name, "", at});
    }
    if (keys.contains("switches")) {
      for (const std::string& below : expanded(keys["switches"], at)) {
        network_.cables.push_back({below, name, 1, "", at});
      }
    }
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
    draft_.remark(
        Remark::Kind::Unknown,
        {network_.cables.empty() ? network_.ports.front().at : network_.cables.front().at, "Switches"},
        "SLURM does not say how many cables and how fast: every switch's uplinks are as wide as what is "
        "below it, "
        "of InfiniBand NDR");
  }

  static constexpr int kNicsOfNode = 8;
  const SourceFile& file_;
  Draft& draft_;
  Network network_;
};

}  // namespace

bool is_slurm_topology(const SourceFile& file) {
  return !file.tree && (in_small(file.text).find("switchname=") != std::string::npos ||
                        in_small(file.text).find("blockname=") != std::string::npos);
}

void read_slurm_topology(const SourceFile& file, Draft& draft) {
  draw(SlurmReader{file, draft}.read(), file.name + ": topology.conf of SLURM", draft);
}

}  // namespace lockstep::importing
