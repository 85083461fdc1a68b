#pragma once

/// @file
/// The words of the configuration files for kinds of vertices and links.

#include "base/parameters.hpp"
#include "topology/fabric.hpp"

namespace lockstep {

constexpr auto names_of(VertexKind /*unused*/) {
  return std::to_array<EnumName<VertexKind>>({{VertexKind::Gpu, "gpu"},
                                              {VertexKind::NvSwitch, "nvswitch"},
                                              {VertexKind::PcieSwitch, "pcie_switch"},
                                              {VertexKind::CpuSocket, "cpu"},
                                              {VertexKind::Nic, "nic"},
                                              {VertexKind::LeafSwitch, "leaf"},
                                              {VertexKind::SpineSwitch, "spine"}});
}

constexpr auto names_of(LinkKind /*unused*/) {
  return std::to_array<EnumName<LinkKind>>({{LinkKind::NvLink, "nvlink"},
                                            {LinkKind::Pcie, "pcie"},
                                            {LinkKind::Socket, "socket"},
                                            {LinkKind::Network, "network"}});
}

}  // namespace lockstep
