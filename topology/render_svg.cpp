#include "topology/render_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "base/svg.hpp"
#include "topology/cables.hpp"
#include "topology/layout.hpp"

namespace lockstep {
namespace {

using namespace literals;

const char* colour_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::NvLink:
      return "#4f8a10";
    case LinkKind::Pcie:
      return "#777777";
    case LinkKind::Socket:
      return "#3182bd";
    case LinkKind::Network:
    case LinkKind::HostMemory:
      break;
  }
  return "#e6550d";
}

constexpr double kLegendLeft = 34;
constexpr double kLegendLine = 22;

struct Look {
  const char* fill;
  const char* stroke;
  double width;
  double corner;
};

Look look_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::Gpu:
      return {"#76b900", "#3d6000", 44, 4};
    case VertexKind::NvSwitch:
      return {"#dcefb4", "#4f8a10", 92, 13};
    case VertexKind::PcieSwitch:
      return {"#eeeeee", "#777777", 52, 13};
    case VertexKind::CpuSocket:
      return {"#c6dbef", "#3182bd", 64, 2};
    case VertexKind::Nic:
      return {"#fdd0a2", "#e6550d", 40, 8};
    case VertexKind::SpineSwitch:
      return {"#fee0c0", "#e6550d", 60, 13};
    case VertexKind::CoreSwitch:
      return {"#fdae6b", "#a63603", 60, 2};
    case VertexKind::LeafSwitch:
    case VertexKind::HostMemory:
      break;
  }
  return {"#fff5eb", "#e6550d", 60, 13};
}

/// In the legend.
const char* title_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::Gpu:
      return "GPU";
    case VertexKind::NvSwitch:
      return "NVSwitch";
    case VertexKind::PcieSwitch:
      return "PCIe switch";
    case VertexKind::CpuSocket:
      return "CPU socket";
    case VertexKind::Nic:
      return "NIC";
    case VertexKind::LeafSwitch:
      return "leaf switch";
    case VertexKind::SpineSwitch:
      return "spine switch";
    case VertexKind::CoreSwitch:
      return "core switch";
    case VertexKind::HostMemory:
      break;
  }
  return "host memory";
}

/// 1 px for 10 GB/s, 6 for a terabyte a second.
double thickness(BytesPerSecond bandwidth) {
  return std::clamp(1 + 2.5 * std::log10(bandwidth / 10_GBps), 0.8, 8.0);
}

/// How far an arc between neighbours of a row hangs down; negative: rises. It stays short of the next row.
double arc_depth(VertexKind row, double distance) {
  const double depth = 12 + 0.26 * distance;
  switch (row) {
    case VertexKind::Gpu:
      return std::min(depth, 70.0);
    case VertexKind::NvSwitch:
      return std::min(depth, 34.0);
    default:
      return -std::min(depth, 30.0);
  }
}

/// `node3.gpu0` is drawn inside the box of node 3.
std::string short_name(const Vertex& vertex) {
  const auto prefix = fmt::format("node{}.", vertex.node);
  return vertex.node >= 0 && vertex.name.starts_with(prefix) ? vertex.name.substr(prefix.size())
                                                             : vertex.name;
}

class Picture {
 public:
  Picture(const Fabric& fabric, const MachineDrawing& drawing)
      : fabric_{fabric}, layout_{lay_out(fabric, drawing.most_nodes)}, used_{drawing.used} {
    for (const double used : used_) {
      most_used_ = std::max(most_used_, used);
    }
  }

  std::string draw() && {
    const auto legend = lines_of_legend();
    const double height = layout_.height + kLegendLine * static_cast<double>(legend.size() + 1) + 16;
    for (const Frame& frame : layout_.frames) {
      svg_.add(
          R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="8" fill="#fafafa" stroke="#bbbbbb"/>)",
          frame.corner.x, frame.corner.y, frame.width, frame.height);
      svg_.add(R"(<text x="{:.1f}" y="{:.1f}" font-size="13" fill="#444444">{}</text>)", frame.corner.x + 10,
               frame.corner.y + frame.height - 10, frame.title);
    }
    for (const Cable& cable : cables_of(fabric_)) {
      draw_cable(cable);
    }
    for (VertexId id = 0; id < fabric_.vertices().size(); ++id) {
      if (layout_.centres[id]) {
        draw_vertex(fabric_.vertices()[id], *layout_.centres[id]);
      }
    }
    const double right = draw_legend_of_devices();
    draw_legend(legend);
    return svg_.document(std::max(layout_.width, right), height, 11);
  }

 private:
  void draw_cable(const Cable& cable) {
    const Link& link = fabric_.links()[cable.link];
    if (!layout_.centres[link.from] || !layout_.centres[link.to]) {
      return;
    }
    const Point a = *layout_.centres[link.from];
    const Point b = *layout_.centres[link.to];
    std::string path = fmt::format("M{:.1f} {:.1f} L{:.1f} {:.1f}", a.x, a.y, b.x, b.y);
    if (std::abs(a.y - b.y) < 1) {  // neighbours of a row: an arc, so that what lies between is not crossed
      const double depth = arc_depth(fabric_.vertices()[link.from].kind, std::abs(a.x - b.x));
      path = fmt::format("M{:.1f} {:.1f} Q{:.1f} {:.1f} {:.1f} {:.1f}", a.x, a.y, (a.x + b.x) / 2,
                         a.y + 2 * depth, b.x, b.y);
    }
    const std::string look =
        used_.empty() ? fmt::format(R"(stroke="{}")", colour_of(link.kind)) : heat(cable);
    svg_.add(
        R"(<path d="{}" fill="none" {} stroke-width="{:.1f}" stroke-opacity="0.75"{}><title>{}{}: {}, {}{}</title></path>)",
        path, look, thickness(link.bandwidth), cable.both_ways ? "" : R"( stroke-dasharray="5 3")",
        svg_escaped(fabric_.name_of(cable.link)), cable.both_ways ? " and back" : "", link.bandwidth,
        link.latency, used_.empty() ? "" : fmt::format(", used {:.1f} %", 100 * use_of(cable)));
  }

  /// The busier direction's.
  [[nodiscard]] double use_of(const Cable& cable) const {
    return cable.both_ways ? std::max(used_[cable.link], used_[cable.back]) : used_[cable.link];
  }

  /// Attributes of a line: grey where a link is idle, the darker an orange the nearer it is to the busiest.
  [[nodiscard]] std::string heat(const Cable& cable) const {
    static constexpr std::array kHeat{"#f3d9b1", "#f0b35a", "#e58a1f", "#c85f00", "#8f3b00"};
    const double used = use_of(cable);
    if (!(used > 0)) {
      return R"(stroke="#c4cad0")";
    }
    const auto step =
        static_cast<std::size_t>(used / most_used_ * (static_cast<double>(kHeat.size()) - 0.01));
    return fmt::format(R"(stroke="{}")", kHeat.at(step));
  }

  void draw_vertex(const Vertex& vertex, Point centre) {
    const Look look = look_of(vertex.kind);
    svg_.add(R"(<g><title>{}{}</title>)", svg_escaped(vertex.name),
             vertex.model.empty() ? "" : ": " + svg_escaped(vertex.model));
    svg_.add(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="26" rx="{}" fill="{}" stroke="{}"/>)",
             centre.x - look.width / 2, centre.y - 13, look.width, look.corner, look.fill, look.stroke);
    svg_.add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle"{}>{}</text></g>)", centre.x, centre.y + 4,
             vertex.kind == VertexKind::Gpu ? R"( fill="white" font-weight="bold")" : R"( fill="#222222")",
             svg_escaped(short_name(vertex)));
  }

  struct LegendLine {
    std::string text;
    const char* colour;
    double width;
  };

  /// One line for each kind of link in the picture, found while the cables of the drawing are gone through.
  [[nodiscard]] std::vector<LegendLine> lines_of_legend() const {
    std::set<std::tuple<LinkKind, BytesPerSecond, Seconds>> kinds;
    for (const Link& link : fabric_.links()) {
      if (layout_.centres[link.from] && layout_.centres[link.to]) {
        kinds.insert({link.kind, link.bandwidth, link.latency});
      }
    }
    std::vector<LegendLine> lines;
    for (const auto& [kind, bandwidth, latency] : kinds) {
      if (lines.size() == 14) {
        lines.push_back({fmt::format("and {} more kinds of link", kinds.size() - 14), "#ffffff", 1});
        break;
      }
      lines.push_back({fmt::format("{}: {} each way, {}", to_string(kind), bandwidth, latency),
                       used_.empty() ? colour_of(kind) : "#9aa4ae", thickness(bandwidth)});
    }
    if (layout_.nodes_left_out > 0) {
      lines.push_back({fmt::format("and {} more nodes", layout_.nodes_left_out), "#ffffff", 1});
    }
    return lines;
  }

  /// One line: the look of each kind of device in the picture.
  /// @return where it ends
  double draw_legend_of_devices() {
    constexpr double kGlyph = 6.2;  // mean width
    std::set<VertexKind> kinds;
    for (VertexId id = 0; id < fabric_.vertices().size(); ++id) {
      if (layout_.centres[id]) {
        kinds.insert(fabric_.vertices()[id].kind);
      }
    }
    double x = kLegendLeft;
    const double y = layout_.height + 8;
    for (const VertexKind kind : kinds) {
      const Look look = look_of(kind);
      const std::string_view title = title_of(kind);
      svg_.add(R"(<rect x="{:.1f}" y="{:.1f}" width="16" height="12" rx="{}" fill="{}" stroke="{}"/>)", x,
               y - 6, look.corner / 2, look.fill, look.stroke);
      svg_.add(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", x + 22, y + 4, title);
      x += 40 + kGlyph * static_cast<double>(title.size());
    }
    return x;
  }

  void draw_legend(const std::vector<LegendLine>& lines) {
    double y = layout_.height + 8 + kLegendLine;
    for (const LegendLine& line : lines) {
      svg_.add(R"(<path d="M{0} {1:.1f} h50" stroke="{2}" stroke-width="{3:.1f}"/>)", kLegendLeft, y,
               line.colour, line.width);
      svg_.add(R"(<text x="94" y="{:.1f}">{}</text>)", y + 4, line.text);
      y += kLegendLine;
    }
  }

  const Fabric& fabric_;
  Layout layout_;
  const std::vector<double>& used_;
  double most_used_ = 0;
  SvgDrawing svg_;
};

}  // namespace

std::string to_svg(const Fabric& fabric, const MachineDrawing& drawing) {
  return Picture{fabric, drawing}.draw();
}

}  // namespace lockstep
