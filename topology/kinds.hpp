#pragma once

/// @file
/// The words of the configuration files for kinds of vertices and links.

#include "base/parameters.hpp"
#include "topology/fabric.hpp"
#include "topology/nic_access.hpp"

namespace lockstep {

constexpr auto names_of(VertexKind /*unused*/) {
  return std::to_array<EnumName<VertexKind>>({{VertexKind::Gpu, "gpu"},
                                              {VertexKind::NvSwitch, "nvswitch"},
                                              {VertexKind::PcieSwitch, "pcie_switch"},
                                              {VertexKind::CpuSocket, "cpu"},
                                              {VertexKind::Nic, "nic"},
                                              {VertexKind::LeafSwitch, "leaf"},
                                              {VertexKind::SpineSwitch, "spine"},
                                              {VertexKind::CoreSwitch, "core"},
                                              {VertexKind::HostMemory, "memory"}});
}

constexpr auto names_of(LinkKind /*unused*/) {
  return std::to_array<EnumName<LinkKind>>({{LinkKind::NvLink, "nvlink"},
                                            {LinkKind::Pcie, "pcie"},
                                            {LinkKind::Socket, "socket"},
                                            {LinkKind::Network, "network"},
                                            {LinkKind::HostMemory, "memory"}});
}

constexpr auto names_of(CpuVendor /*unused*/) {
  return std::to_array<EnumName<CpuVendor>>({{CpuVendor::Unknown, "unknown"},
                                             {CpuVendor::Amd, "amd"},
                                             {CpuVendor::Arm, "arm"},
                                             {CpuVendor::Intel, "intel"}});
}

constexpr auto names_of(NicAccess /*unused*/) {
  return std::to_array<EnumName<NicAccess>>({{NicAccess::Full, "full"},
                                             {NicAccess::ReadsWithNvLink, "reads_with_nvlink"},
                                             {NicAccess::None, "none"}});
}

constexpr auto names_of(P2pLevel /*unused*/) {
  return std::to_array<EnumName<P2pLevel>>({{P2pLevel::Loc, "LOC"},
                                            {P2pLevel::Nvl, "NVL"},
                                            {P2pLevel::Pix, "PIX"},
                                            {P2pLevel::Pxb, "PXB"},
                                            {P2pLevel::Phb, "PHB"},
                                            {P2pLevel::Sys, "SYS"}});
}

}  // namespace lockstep
