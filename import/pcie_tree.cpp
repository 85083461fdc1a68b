#include "import/pcie_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace lockstep::importing {
namespace {

void merge(std::vector<std::size_t>& groups, std::size_t a, std::size_t b) {
  const std::size_t from = std::max(groups[a], groups[b]), to = std::min(groups[a], groups[b]);
  std::ranges::replace(groups, from, to);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

}  // namespace

PcieTree::PcieTree(std::size_t devices) : switch_(devices), root_(devices), socket_(devices) {
  std::iota(switch_.begin(), switch_.end(), std::size_t{0});
  root_ = socket_ = switch_;
}

void PcieTree::connect(std::size_t a, std::size_t b, const std::string& kind) {
  if (kind == "PIX") {
    merge(switch_, a, b);
  }
  if (kind == "PIX" || kind == "PXB") {
    merge(root_, a, b);
  }
  if (kind == "PIX" || kind == "PXB" || kind == "PHB" || kind == "NODE") {
    merge(socket_, a, b);
  }
}

void PcieTree::say_socket(std::size_t device, const std::string& numa) {
  if (numa.empty() || std::isdigit(static_cast<unsigned char>(numa[0])) == 0) {
    return;
  }
  const auto [found, is_new] = first_of_numa_.emplace(numa, device);
  if (!is_new) {
    merge(socket_, found->second, device);
  }
}

void PcieTree::join_strangers() {
  if (sockets() == devices() && devices() > 2) {
    std::ranges::fill(socket_, 0);
  }
}

std::vector<std::vector<std::size_t>> PcieTree::switches() const {
  // Devices that share no switch, but what is above them (PXB), are drawn on one.
  std::map<std::pair<bool, std::size_t>, std::vector<std::size_t>> by_group;
  for (std::size_t device = 0; device < switch_.size(); ++device) {
    const bool is_alone = std::ranges::count(switch_, switch_[device]) == 1;
    by_group[{is_alone, is_alone ? root_[device] : switch_[device]}].push_back(device);
  }
  std::vector<std::vector<std::size_t>> all;
  for (auto& [group, devices] : by_group) {
    if (devices.size() > 1) {
      all.push_back(std::move(devices));
    }
  }
  return all;
}

std::size_t PcieTree::root_of(std::size_t device) const {
  return root_[device];
}

std::size_t PcieTree::socket_of(std::size_t device) const {
  const std::set<std::size_t> all{socket_.begin(), socket_.end()};
  return static_cast<std::size_t>(std::distance(all.begin(), all.find(socket_[device])));
}

std::size_t PcieTree::sockets() const {
  return std::set<std::size_t>{socket_.begin(), socket_.end()}.size();
}

void draw(const PcieTree& tree, const std::function<std::string(std::size_t)>& name, const GpuLinks& links,
          const SourceLocation& at, NodeDrawing& drawing) {
  const auto groups = tree.switches();
  std::map<std::size_t, std::vector<std::size_t>> below_root;  // switches by their root
  std::vector<bool> on_switch(tree.devices());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    below_root[tree.root_of(groups[i].front())].push_back(i);
    for (const std::size_t device : groups[i]) {
      on_switch[device] = true;
    }
  }
  const auto socket = [&](std::size_t device) { return fmt::format("cpu{}", tree.socket_of(device)); };
  drawing.vertex("pex", "pcie_switch", groups.size(), at);
  drawing.vertex("cpu", "cpu", tree.sockets(), at);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<std::string> names;
    std::ranges::transform(groups[i], std::back_inserter(names), name);
    drawing.link(joined(names), fmt::format("pex{}", i), links.pcie, 1, at);
  }
  for (const auto& [root, switches] :
       below_root) {  // the first of several below one root port is nearest to it
    drawing.link(fmt::format("pex{}", switches.front()), socket(root), links.pcie, 1, at);
    for (std::size_t i = 1; i < switches.size(); ++i) {
      drawing.link(fmt::format("pex{}", switches[i]), fmt::format("pex{}", switches.front()), links.pcie, 1,
                   at);
    }
  }
  std::map<std::string, std::vector<std::string>> alone;  // by socket
  for (std::size_t device = 0; device < tree.devices(); ++device) {
    if (!on_switch[device]) {
      alone[socket(device)].push_back(name(device));
    }
  }
  for (const auto& [cpu, names] : alone) {
    drawing.link(joined(names), cpu, links.pcie, 1, at);
  }
  for (std::size_t i = 0; i < tree.sockets(); ++i) {
    for (std::size_t j = i + 1; j < tree.sockets(); ++j) {
      drawing.link(fmt::format("cpu{}", i), fmt::format("cpu{}", j), "upi_16", 2,
                   {"assumed: two UPI links", 0, 0});
    }
  }
}

}  // namespace lockstep::importing
