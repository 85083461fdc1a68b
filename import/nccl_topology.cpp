#include "import/nccl_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <pugixml.hpp>
#include <vector>

#include "base/error.hpp"
#include "import/machine.hpp"

namespace lockstep::importing {
namespace {

struct Brick {
  std::string target;  ///< bus id
  int count = 1;
  bool is_switch = false;
};

/// A GPU of the file, with its NVLinks.
struct XmlGpu {
  std::string bus;
  std::vector<Brick> bricks;
  SourceLocation at;
};

/// GPU of a compute capability; NCCL's file has no names.
std::string gpu_of_capability(int capability, std::size_t bricks) {
  constexpr int kPascal = 60, kVolta = 70, kTuring = 75, kAmpere = 80, kAda = 89, kHopper = 90,
                kBlackwell = 100;
  if (capability >= kBlackwell) {
    return "b200_180gb";
  }
  if (capability >= kHopper) {
    return bricks > 0 ? "h100_80gb" : "h100_80gb_pcie";
  }
  if (capability >= kAda) {
    return "l4_24gb";
  }
  if (capability > kAmpere) {
    return "a10_24gb";
  }
  if (capability == kAmpere) {
    return bricks > 0 ? "a100_80gb" : "a100_80gb_pcie";
  }
  if (capability >= kTuring) {
    return "t4_16gb";
  }
  return capability >= kVolta ? "v100_32gb" : (capability >= kPascal ? "p100_16gb_pcie" : "");
}

class NcclReader {
 public:
  NcclReader(const SourceFile& file, Draft& draft) : file_{file}, draft_{draft} {}

  void read() {
    pugi::xml_document document;
    const pugi::xml_parse_result result = document.load_buffer(file_.text.data(), file_.text.size());
    if (!result) {
      throw InputError{at(result.offset), std::string{"no XML: "} + result.description()};
    }
    const pugi::xml_node system = document.child("system");
    collect(system);
    if (gpus_.empty()) {
      throw InputError{at(system.offset_debug()), "a topology without GPUs (<gpu>)"};
    }
    const SourceLocation head = at(system.offset_debug());
    drawing_.say("name", "imported_node", head);
    drawing_.say("source", fmt::format("NCCL's topology, {}", file_.name), head);
    const std::string gpu =
        draft_.gpu.empty() ? gpu_of_capability(capability_, gpus_.front().bricks.size()) : draft_.gpu;
    if (gpu.empty()) {
      throw InputError{gpus_.front().at,
                       fmt::format("GPUs of compute capability {} are not known", capability_)};
    }
    drawing_.say("gpu", gpu, {fmt::format("assumed: by compute capability {}", capability_), 0, 0});
    draft_.gpu = gpu;
    links_ = links_of_gpu(gpu);
    if (nics_ > 0) {
      drawing_.say("network", port_, port_at_);
    }
    drawing_.vertex("gpu", "gpu", gpus_.size(), head);
    drawing_.vertex("nic", "nic", nics_, head);
    drawing_.vertex("cpu", "cpu", sockets_, head);
    nvlinks();
    for (const pugi::xml_node cpu : system.children("cpu")) {
      pcie(cpu, fmt::format("cpu{}", socket_number_++));
    }
    drawing_.vertex("pex", "pcie_switch", switches_, head);
    sockets(system);
    draft_.node = std::move(drawing_).finish();
    draft_.node_origin = file_.name + ": topology of NCCL";
  }

 private:
  [[nodiscard]] SourceLocation at(std::ptrdiff_t offset) const {
    const auto end = file_.text.begin() +
                     std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(file_.text.size()));
    return {file_.name, 1 + static_cast<int>(std::count(file_.text.begin(), end, '\n')), 1};
  }

  void collect(const pugi::xml_node& node) {
    for (const pugi::xml_node child : node.children()) {
      const char* name = child.name();
      if (std::strcmp(name, "gpu") == 0) {
        gpu(child);
      } else if (std::strcmp(name, "net") == 0) {
        net(child);
      } else if (std::strcmp(name, "cpu") == 0) {
        ++sockets_;
      }
      collect(child);
    }
  }

  void gpu(const pugi::xml_node& node) {
    XmlGpu gpu{node.parent().attribute("busid").as_string(), {}, at(node.offset_debug())};
    capability_ = std::max(capability_, node.attribute("sm").as_int());
    for (const pugi::xml_node link : node.children("nvlink")) {
      constexpr const char* kSwitchClass = "0x068000";  // bridge, as NCCL's xml.cc tells NVSwitches
      gpu.bricks.push_back({link.attribute("target").as_string(), link.attribute("count").as_int(1),
                            std::string{link.attribute("tclass").as_string()} == kSwitchClass});
    }
    gpus_.push_back(std::move(gpu));
  }

  /// A port; those of one card share its place on PCIe.
  void net(const pugi::xml_node& node) {
    if (node.attribute("port").as_int(1) != 1 && nics_ > 0) {
      draft_.remark(Remark::Kind::NotModelled, {at(node.offset_debug()), "net"},
                    "a card's second port is left out");
      return;
    }
    ++nics_;
    const int speed = node.attribute("speed").as_int();
    constexpr int kNdr = 400000, kHdr = 200000;
    port_ = speed >= kNdr ? "infiniband_ndr" : (speed >= kHdr ? "infiniband_hdr" : "infiniband_edr");
    port_at_ = at(node.offset_debug());
    draft_.names_by_place[to_string(port_at_)] = fmt::format("net speed={}", speed);
    constexpr int kEdr = 100000;
    if (speed != kNdr && speed != kHdr && speed != kEdr) {
      draft_.remark(Remark::Kind::NotModelled, {port_at_, "speed"},
                    fmt::format("a port of {} Mb/s is taken for {}", speed, port_));
    }
  }

  [[nodiscard]] std::string gpu_name(const std::string& bus) const {
    const auto found = std::ranges::find(gpus_, bus, &XmlGpu::bus);
    return found == gpus_.end() ? "" : fmt::format("gpu{}", found - gpus_.begin());
  }

  void nvlinks() {
    int to_switch = 0;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      int own = 0;
      for (const Brick& brick : gpus_[i].bricks) {
        const std::string peer = gpu_name(brick.target);
        if (brick.is_switch) {
          own += brick.count;
        } else if (!peer.empty() && peer > fmt::format("gpu{}", i)) {
          drawing_.link(fmt::format("gpu{}", i), peer, links_.nvlink, brick.count, gpus_[i].at);
        }
      }
      to_switch = std::max(to_switch, own);
    }
    if (to_switch > 0) {
      drawing_.vertex("nvswitch", "nvswitch", 1, gpus_.front().at);
      drawing_.link("gpu*", "nvswitch0", links_.nvlink, to_switch, gpus_.front().at);
    }
  }

  /// `pcie4_x16` of `16.0 GT/s PCIe` and width 16; half of it for eight lanes.
  [[nodiscard]] std::string pcie_link(const pugi::xml_node& node) const {
    const double speed = node.attribute("link_speed").as_double();
    constexpr double kGen5 = 32, kGen4 = 16, kGen3 = 8;
    return speed >= kGen5 ? "pcie5_x16"
                          : (speed >= kGen4 ? "pcie4_x16" : (speed >= kGen3 ? "pcie3_x16" : links_.pcie));
  }

  void pcie(const pugi::xml_node& node, const std::string& above) {
    for (const pugi::xml_node pci : node.children("pci")) {
      const SourceLocation where = at(pci.offset_debug());
      if (const int lanes = pci.attribute("link_width").as_int(); lanes > 0 && lanes < 16) {
        draft_.remark(Remark::Kind::NotModelled, {where, "link_width"},
                      fmt::format("{} lanes are taken for 16", lanes));
      }
      if (const pugi::xml_node gpu = pci.child("gpu")) {
        drawing_.link(gpu_name(pci.attribute("busid").as_string()), above, pcie_link(pci), 1, where);
      } else if (const pugi::xml_node nic = pci.child("nic"); nic && nic.child("net")) {
        drawing_.link(fmt::format("nic{}", nic_number_++), above, pcie_link(pci), 1, where);
      } else if (pci.child("pci")) {
        const std::string name = fmt::format("pex{}", switches_++);
        drawing_.link(name, above, pcie_link(pci), 1, where);
        pcie(pci, name);
      }
    }
    for (const pugi::xml_node nic : node.children("nic")) {  // a virtual machine's, on no PCIe bus
      if (std::strcmp(node.name(), "cpu") == 0 && nic.child("net")) {
        drawing_.link(fmt::format("nic{}", nic_number_++), above, links_.pcie, 1, at(nic.offset_debug()));
      }
    }
  }

  void sockets(const pugi::xml_node& system) {
    const bool is_amd = std::string{system.child("cpu").attribute("vendor").as_string()} == "AuthenticAMD";
    for (std::size_t i = 0; i < sockets_; ++i) {
      for (std::size_t j = i + 1; j < sockets_; ++j) {
        drawing_.link(fmt::format("cpu{}", i), fmt::format("cpu{}", j), is_amd ? "xgmi3" : "upi_16", 2,
                      {"assumed: NCCL does not say how sockets are joined", 0, 0});
      }
    }
  }

  const SourceFile& file_;
  Draft& draft_;
  NodeDrawing drawing_;
  GpuLinks links_;
  std::vector<XmlGpu> gpus_;
  std::size_t nics_ = 0, sockets_ = 0, switches_ = 0, nic_number_ = 0, socket_number_ = 0;
  int capability_ = 0;
  std::string port_;
  SourceLocation port_at_;
};

}  // namespace

bool is_nccl_topology(const SourceFile& file) {
  const auto first = file.text.find_first_not_of(" \t\r\n");
  return !file.tree && first != std::string::npos && file.text[first] == '<' &&
         file.text.find("<system") != std::string::npos;
}

void read_nccl_topology(const SourceFile& file, Draft& draft) {
  NcclReader{file, draft}.read();
}

}  // namespace lockstep::importing
