#include "topology/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "topology/alike_nodes.hpp"

namespace lockstep {
namespace {

constexpr double kPitch = 58;   // between neighbours of a row
constexpr double kRow = 84;     // between rows
constexpr double kMargin = 34;  // of the drawing and between nodes
constexpr double kTitle = 26;   // above the first row of a node
constexpr int kGpuRow = 100;    // rows are numbered downwards; PCIe switches are between sockets and GPUs
constexpr int kNvSwitchRow = 101;
constexpr int kSocketRow = 1;
constexpr int kNicRow = 0;
/// Switches of a network, the topmost first.
constexpr std::array kTiers{VertexKind::CoreSwitch, VertexKind::SpineSwitch, VertexKind::LeafSwitch};

class Drafting {
 public:
  Drafting(const Fabric& fabric, int most_nodes) : fabric_{fabric}, layout_{.centres = {}, .frames = {}} {
    layout_.centres.resize(fabric.vertices().size());
    choose_nodes(most_nodes);
    find_pcie_levels();
  }

  Layout draw() && {
    const bool cores = !network_[VertexKind::CoreSwitch].empty();
    const bool spines = !network_[VertexKind::SpineSwitch].empty();
    const bool leaves = !network_[VertexKind::LeafSwitch].empty();
    double top = kMargin + kRow * ((cores ? 1 : 0) + (spines ? 1 : 0) + (leaves ? 1.2 : 0));
    double left = kMargin;
    for (const auto& [node, members] : members_) {
      left += draw_node(node, members, {left, top}) + kMargin;
    }
    layout_.width = std::max({left, widest_network_row() + 2 * kMargin, 420.0});
    double row = kMargin + kRow / 4;
    for (const VertexKind tier : kTiers) {
      draw_network_row(tier, row);
      row += network_[tier].empty() ? 0 : kRow;
    }
    layout_.height += kMargin;
    return std::move(layout_);
  }

 private:
  using Row = std::vector<VertexId>;

  /// Each once per link.
  [[nodiscard]] std::vector<VertexId> neighbours_of(VertexId id) const {
    std::vector<VertexId> neighbours;
    for (const LinkId link : fabric_.links_from(id)) {
      neighbours.push_back(fabric_.links()[link].to);
    }
    return neighbours;
  }

  using Inventory = std::vector<std::size_t>;  ///< a device, how many links leave it, and each, ...

  /// The number that @p thing has, or gets: they count from 0.
  template <class Thing>
  static std::size_t number_of(std::map<Thing, std::size_t>& numbers, Thing thing) {
    return numbers.try_emplace(std::move(thing), numbers.size()).first->second;
  }

  void choose_nodes(int most_nodes) {
    std::set<int> all;
    std::map<int, std::vector<VertexId>> members;
    for (VertexId id = 0; id < fabric_.vertices().size(); ++id) {
      const Vertex& vertex = fabric_.vertices()[id];
      if (is_network_switch(vertex.kind)) {
        network_[vertex.kind].push_back(id);
        continue;
      }
      all.insert(vertex.node);
      members[vertex.node].push_back(id);
    }
    const bool all_fit = static_cast<int>(members.size()) <= most_nodes;
    members_ = all_fit ? std::move(members) : those_that_differ(members, most_nodes);
    layout_.nodes_left_out = static_cast<int>(all.size() - members_.size());
    if (layout_.nodes_left_out > 0) {  // only switches that something drawn hangs on
      for (auto tier = kTiers.rbegin(); tier != kTiers.rend(); ++tier) {
        std::erase_if(network_[*tier], [&](VertexId id) { return !touches_drawing(id); });
      }
    }
  }

  /// The contents of a node, and how it is joined: nodes that are alike have equal ones.
  [[nodiscard]] Inventory inventory(const std::vector<VertexId>& members) {
    Inventory things;
    for (const VertexId id : members) {
      const Vertex& vertex = fabric_.vertices()[id];
      things.push_back(number_of(devices_, {vertex.kind, vertex.index, vertex.model}));
      things.push_back(fabric_.links_from(id).size());
      for (const LinkId link_id : fabric_.links_from(id)) {
        const Link& link = fabric_.links()[link_id];
        const Vertex& to = fabric_.vertices()[link.to];
        const auto [found, is_new] = rates_.try_emplace({link.bandwidth, link.latency}, "");
        if (is_new) {
          found->second = fmt::format("{} {}", link.bandwidth, link.latency);
        }
        things.push_back(number_of(ends_, {link.kind, to.kind, found->second}));
      }
    }
    return things;
  }

  /// The first two nodes of each kind, as many as may be drawn; the second one's frame counts the others.
  std::map<int, std::vector<VertexId>> those_that_differ(const std::map<int, std::vector<VertexId>>& members,
                                                         int most_nodes) {
    struct Kind {
      int count = 0;
      int last = 0;  ///< that is drawn
    };
    std::map<Inventory, Kind> kinds;
    std::unordered_map<std::uint32_t, Kind*> known;  // by class of a node's first device
    std::map<int, std::vector<VertexId>> drawn;
    for (const auto& [node, things] : members) {
      Kind*& its = known[fabric_.alike_nodes().class_of(things.front())];
      its = its == nullptr ? &kinds[inventory(things)] : its;
      Kind& kind = *its;
      if (++kind.count <= 2 && static_cast<int>(drawn.size()) < most_nodes) {
        kind.last = node;
        drawn[node] = things;
      }
    }
    for (const auto& [inventory, kind] : kinds) {
      if (kind.count > 2 && drawn.contains(kind.last)) {
        alike_[kind.last] = kind.count - 2;
      }
    }
    return drawn;
  }

  /// Whether a node, or a switch of a lower tier, is drawn that the switch hangs on.
  [[nodiscard]] bool touches_drawing(VertexId id) {
    const auto lower = std::ranges::find(kTiers, fabric_.vertices()[id].kind) + 1;
    return std::ranges::any_of(neighbours_of(id), [&](VertexId other) {
      for (auto tier = lower; tier != kTiers.end(); ++tier) {
        if (std::ranges::find(network_[*tier], other) != network_[*tier].end()) {
          return true;
        }
      }
      return members_.contains(fabric_.vertices()[other].node) && fabric_.vertices()[other].node >= 0;
    });
  }

  /// 1 next to something that is no PCIe switch or socket, 2 next to a switch of level 1, ...
  void find_pcie_levels() {
    levels_.assign(fabric_.vertices().size(), 0);
    std::vector<VertexId> ring;
    const auto is_switch = [&](VertexId id) { return fabric_.vertices()[id].kind == VertexKind::PcieSwitch; };
    for (VertexId id = 0; id < levels_.size(); ++id) {
      if (is_switch(id) && std::ranges::any_of(neighbours_of(id), [&](VertexId other) {
            return fabric_.vertices()[other].kind == VertexKind::Gpu;
          })) {
        levels_[id] = 1;
        ring.push_back(id);
      }
    }
    for (int level = 2; !ring.empty(); ++level) {
      std::vector<VertexId> next;
      for (const VertexId id : ring) {
        for (const VertexId other : neighbours_of(id)) {
          if (is_switch(other) && levels_[other] == 0) {
            levels_[other] = level;
            next.push_back(other);
          }
        }
      }
      ring = std::move(next);
    }
  }

  [[nodiscard]] int row_of(VertexId id) const {
    switch (fabric_.vertices()[id].kind) {
      case VertexKind::Nic:
        return kNicRow;
      case VertexKind::CpuSocket:
        return kSocketRow;
      case VertexKind::PcieSwitch:
        return kGpuRow - std::clamp(levels_[id], 1, kGpuRow - kSocketRow - 1);
      case VertexKind::NvSwitch:
        return kNvSwitchRow;
      default:
        return kGpuRow;
    }
  }

  /// Returns the width of the node's frame.
  double draw_node(int node, const Row& members, Point corner) {
    std::map<int, Row> rows;
    std::size_t widest = 2;
    for (const VertexId id : members) {
      Row& row = rows[row_of(id)];
      row.push_back(id);
      widest = std::max(widest, row.size());
    }
    const double width = kPitch * static_cast<double>(widest) + kPitch / 2;
    const double first = corner.y + kRow / 2;
    std::map<int, double> y_of;
    for (const auto& [row, ids] : rows) {
      y_of[row] = first + kRow * static_cast<double>(y_of.size());
    }
    const int start = rows.contains(kGpuRow) ? kGpuRow : rows.rbegin()->first;
    spread(rows[start], corner.x, width, y_of[start]);
    // Up from the GPUs, then the NVSwitches, then the NICs, each under or over the mean of what it hangs on.
    for (auto row = std::make_reverse_iterator(rows.find(start)); row != rows.rend(); ++row) {
      hang(row->second, corner.x, width, y_of[row->first]);
    }
    for (auto row = rows.upper_bound(start); row != rows.end(); ++row) {
      hang(row->second, corner.x, width, y_of[row->first]);
    }
    const double arcs =
        y_of.rbegin()->first == kGpuRow ? kRow * 0.45 : 0;  // links between GPUs hang below them
    const double height = y_of.rbegin()->second + kRow / 2 + arcs + (node < 0 ? 0 : kTitle) - corner.y;
    if (node >= 0) {
      const auto alike = alike_.find(node);
      layout_.frames.push_back(
          {corner, width, height,
           fmt::format("node {}", node) +
               (alike == alike_.end() ? "" : fmt::format(", and {} more like it", alike->second))});
    }
    layout_.height = std::max(layout_.height, corner.y + height);
    return width;
  }

  void spread(const Row& row, double left, double width, double y) {
    const double pitch = width / static_cast<double>(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      layout_.centres[row[i]] = {left + pitch * (static_cast<double>(i) + 0.5), y};
    }
  }

  /// The mean place of the neighbours that have one and lie in another row.
  [[nodiscard]] double wished_x(VertexId id, double otherwise) const {
    double sum = 0;
    int count = 0;
    for (const VertexId other : neighbours_of(id)) {
      if (layout_.centres[other] && fabric_.vertices()[other].node == fabric_.vertices()[id].node &&
          row_of(other) != row_of(id)) {
        sum += layout_.centres[other]->x;
        ++count;
      }
    }
    return count == 0 ? otherwise : sum / count;
  }

  /// Puts a row where its neighbours wish it, at least a pitch apart.
  void hang(Row row, double left, double width, double y) {
    std::map<VertexId, double> wish;
    for (const VertexId id : row) {
      wish[id] = wished_x(id, left + width / 2);
    }
    std::ranges::stable_sort(row, {}, [&](VertexId id) { return wish[id]; });
    const std::size_t n = row.size();
    const double pitch = std::min(kPitch, width / static_cast<double>(n));
    std::vector<double> from_left(n);
    std::vector<double> from_right(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double least = i == 0 ? left + pitch / 2 : from_left[i - 1] + pitch;
      from_left[i] = std::max(wish[row[i]], least);
    }
    for (std::size_t i = n; i-- > 0;) {
      const double most = i + 1 == n ? left + width - pitch / 2 : from_right[i + 1] - pitch;
      from_right[i] = std::min(wish[row[i]], most);
    }
    // Both keep their distance, so their mean does; then all is moved into the frame if it sticks out.
    std::vector<double> x(n);
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = (from_left[i] + from_right[i]) / 2;
    }
    const double too_far = std::max(0.0, x.back() - (left + width - pitch / 2));
    const double too_near = std::max(0.0, left + pitch / 2 - x.front());
    for (std::size_t i = 0; i < n; ++i) {
      layout_.centres[row[i]] = {x[i] - too_far + too_near, y};
    }
  }

  [[nodiscard]] double widest_network_row() {
    std::size_t widest = 0;
    for (const VertexKind tier : kTiers) {
      widest = std::max(widest, network_[tier].size());
    }
    return kPitch * 1.3 * static_cast<double>(widest);
  }

  void draw_network_row(VertexKind tier, double y) {
    if (!network_[tier].empty()) {
      spread(network_[tier], kMargin, layout_.width - 2 * kMargin, y);
    }
  }

  const Fabric& fabric_;
  std::map<int, int> alike_;           // by drawn node: how many like it are not drawn
  std::map<int, Row> members_;         // by node, -1 first
  std::map<VertexKind, Row> network_;  // its switches, by tier
  std::vector<int> levels_;            // of PCIe switches
  // Numbers that tell devices and ends of links apart; rates are alike that are written alike.
  std::map<std::tuple<VertexKind, int, std::string>, std::size_t> devices_;
  std::map<std::tuple<LinkKind, VertexKind, std::string>, std::size_t> ends_;
  std::map<std::pair<BytesPerSecond, Seconds>, std::string> rates_;
  Layout layout_;
};

}  // namespace

Layout lay_out(const Fabric& fabric, int most_nodes) {
  return Drafting{fabric, most_nodes}.draw();
}

}  // namespace lockstep
