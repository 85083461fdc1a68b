#include "import/ibnetdiscover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "base/error.hpp"
#include "import/network_drawing.hpp"

namespace lockstep::importing {
namespace {

class IbReader {
 public:
  explicit IbReader(const SourceFile& file) : file_{file} {}

  Network read(Draft& draft) {
    int number = 0;
    for (const std::string_view line : file_.lines()) {
      ++number;
      take(std::string{line}, number);
    }
    if (network_.switches.empty()) {
      throw InputError{{file_.name},
                       "ibnetdiscover's output without a switch (lines that begin with Switch)"};
    }
    join(draft);
    return std::move(network_);
  }

 private:
  void take(const std::string& line, int number) {
    static const std::regex head{R"re(^(Switch|Ca|Rt)\s+(\d+)\s+"([^"]+)"\s*(?:#\s*"([^"]*)")?.*)re"};
    static const std::regex port{
        R"re(^\[(\d+)\](?:\(\w+\))?\s+"([^"]+)"\[(\d+)\](?:\(\w+\))?(?:\s*#\s*(.*))?)re"};
    std::smatch found;
    if (std::regex_match(line, found, head)) {
      current_ = found[3].str();
      is_switch_ = found[1].str() == "Switch";
      if (is_switch_) {
        network_.switches.emplace(current_, SourceLocation{file_.name, number, 1});
      } else {
        names_[current_] = found[4].str();
      }
    } else if (std::regex_search(line, found, port) && is_switch_ && !current_.empty()) {
      cable(found[2].str(), found[4].str(), number);
    } else if (line.starts_with('[') && !std::regex_search(line, port)) {
      throw InputError{
          {file_.name, number, 1},
          R"(expected a port of ibnetdiscover: [1] "H-0002c903000a1b2c"[1] # "name" lid 1 4xHDR)"};
    }
  }

  void cable(const std::string& peer, const std::string& remark, int number) {
    const SourceLocation at{file_.name, number, 1};
    const std::string link = link_of(remark);
    if (peer.starts_with("S-")) {
      ++cables_[{std::min(current_, peer), std::max(current_, peer)}].first;
      cables_[{std::min(current_, peer), std::max(current_, peer)}].second = {link, at};
      return;
    }
    const auto quote = remark.find('"');
    if (quote != std::string::npos) {
      names_.emplace(peer, remark.substr(quote + 1, remark.find('"', quote + 1) - quote - 1));
    }
    ports_.push_back({peer, current_, link, at});
  }

  static std::string link_of(const std::string& remark) {
    for (const auto& [word, link] : {std::pair{"NDR", "infiniband_ndr"}, std::pair{"HDR", "infiniband_hdr"},
                                     std::pair{"EDR", "infiniband_edr"}}) {
      if (remark.find(word) != std::string::npos) {
        return link;
      }
    }
    return "";
  }

  /// Ports of one host belong to one node: its name is the first word of the description.
  void join(Draft& draft) {
    std::set<std::string> odd;
    for (Network::Port& port : ports_) {
      const std::string described = names_[port.host];
      const std::string host = described.substr(0, described.find(' '));
      if (described.find("Aggregation Node") != std::string::npos) {
        continue;  // SHARP's, within a switch
      }
      port.host = host.empty() ? port.host : host;
      if (port.link.empty()) {
        port.link = "infiniband_hdr";
        odd.insert(port.host);
      }
      if (std::ranges::count(network_.hosts, port.host) == 0) {
        network_.hosts.push_back(port.host);
      }
      network_.ports.push_back(port);
    }
    std::ranges::sort(network_.hosts);
    std::ranges::stable_sort(network_.ports, {}, &Network::Port::host);
    for (const std::string& host : odd) {
      draft.remark(Remark::Kind::Unsaid, {{file_.name, 1, 1}, host},
                   "the speed of its port is not EDR, HDR or NDR; HDR is assumed");
    }
    for (const auto& [pair, row] : cables_) {  // both ends list a cable
      const auto& [count, link] = row;
      network_.cables.push_back({pair.first, pair.second, std::max(1, count / 2),
                                 link.first.empty() ? "infiniband_hdr" : link.first, link.second});
    }
  }

  const SourceFile& file_;
  Network network_;
  std::string current_;
  bool is_switch_ = false;
  std::map<std::string, std::string> names_;
  std::vector<Network::Port> ports_;
  std::map<std::pair<std::string, std::string>, std::pair<int, std::pair<std::string, SourceLocation>>>
      cables_;
};

}  // namespace

bool is_ibnetdiscover(const SourceFile& file) {
  static const std::regex head{R"((^|\n)Switch\s+\d+\s+"S-)"};
  return !file.tree &&
         std::regex_search(file.text.substr(0, std::min<std::size_t>(file.text.size(), 1U << 16U)), head);
}

void read_ibnetdiscover(const SourceFile& file, Draft& draft) {
  draw(IbReader{file}.read(draft), file.name + ": ibnetdiscover", draft);
}

}  // namespace lockstep::importing
