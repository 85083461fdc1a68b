#include "import/nvidia_smi_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "import/machine.hpp"
#include "import/pcie_tree.hpp"

namespace lockstep::importing {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {  // the head is underlined: ESC[4m ... ESC[0m
      while (i < line.size() && line[i] != 'm') {
        ++i;
      }
      continue;
    }
    plain += line[i];
  }
  std::istringstream stream{plain};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

bool is_device(const std::string& word) {
  const auto is_numbered = [&](std::string_view prefix) {
    return word.starts_with(prefix) && word.size() > prefix.size() &&
           std::isdigit(static_cast<unsigned char>(word[prefix.size()])) != 0;
  };
  return is_numbered("GPU") || is_numbered("NIC") || is_numbered("mlx") || is_numbered("bnxt_re") ||
         is_numbered("rdmap") || is_numbered("irdma") || is_numbered("hfi1_") || is_numbered("ibp") ||
         is_numbered("roce");
}

/// The matrix as it stands in the file.
struct Matrix {
  std::vector<std::string> devices;
  std::vector<std::vector<std::string>> cells;  ///< by device and device
  std::vector<std::string> numa;                ///< by device; "" where it is not said
  std::vector<int> lines;
  SourceLocation head;
  std::string gpu_name;  ///< of `nvidia-smi -L` in the same file
};

bool is_head(const std::vector<std::string>& words) {
  return words.size() > 1 && words[0] == "GPU0" &&
         (words[1] == "GPU1" || words[1] == "CPU" || is_device(words[1]));
}

class MatrixReader {
 public:
  explicit MatrixReader(const SourceFile& file) : file_{file} {}

  Matrix read() {
    int number = 0;
    for (const std::string_view line : file_.lines()) {
      ++number;
      const std::vector<std::string> words = words_of(line);
      if (words.empty()) {
        continue;
      }
      if (line.find("(UUID:") != std::string_view::npos && matrix_.gpu_name.empty()) {
        const auto colon = line.find(": ");
        matrix_.gpu_name = std::string{line.substr(colon + 2, line.find(" (UUID") - colon - 2)};
      } else if (is_head(words) && matrix_.devices.empty()) {
        head(words, number);
      } else if (!matrix_.devices.empty() && is_device(words[0]) && words.size() > matrix_.devices.size()) {
        row(words, number);
      }
    }
    if (matrix_.cells.size() != matrix_.devices.size()) {
      throw InputError{matrix_.head, fmt::format("the head of the matrix has {} devices, and {} rows follow",
                                                 matrix_.devices.size(), matrix_.cells.size())};
    }
    return std::move(matrix_);
  }

 private:
  void head(const std::vector<std::string>& words, int number) {
    matrix_.head = {file_.name, number, 1};
    for (const std::string& word : words) {
      if (!is_device(word)) {
        break;
      }
      matrix_.devices.push_back(word);
    }
  }

  void row(const std::vector<std::string>& words, int number) {
    const std::size_t expected = matrix_.cells.size();
    if (expected >= matrix_.devices.size() || words[0] != matrix_.devices[expected]) {
      throw InputError{{file_.name, number, 1},
                       fmt::format("a row of '{}' is not in the order of the head", words[0])};
    }
    matrix_.cells.emplace_back(words.begin() + 1,
                               words.begin() + 1 + static_cast<std::ptrdiff_t>(matrix_.devices.size()));
    for (const std::string& cell : matrix_.cells.back()) {
      check_cell(cell, number);
    }
    const std::size_t behind = matrix_.devices.size() + 2;  // name, cells, CPU affinity, NUMA affinity
    matrix_.numa.push_back(words.size() > behind ? words[behind] : "");
    matrix_.lines.push_back(number);
  }

  void check_cell(const std::string& cell, int number) const {
    constexpr std::array<std::string_view, 6> kKinds{"X", "PIX", "PXB", "PHB", "NODE", "SYS"};
    const bool is_nvlink =
        cell.starts_with("NV") && cell.size() > 2 &&
        std::all_of(cell.begin() + 2, cell.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (!is_nvlink && std::ranges::count(kKinds, cell) == 0 && cell != "SOC" && cell != "PHB/NV") {
      throw InputError{
          {file_.name, number, 1},
          fmt::format("'{}' is no connection of nvidia-smi: expected X, NV1 ..., PIX, PXB, PHB, NODE or SYS",
                      cell)};
    }
  }

  const SourceFile& file_;
  Matrix matrix_;
};

int bricks(const std::string& cell) {
  int count = 0;
  if (cell.starts_with("NV")) {
    std::from_chars(cell.data() + 2, cell.data() + cell.size(), count);
  }
  return count;
}

/// Guesses the GPU model by the NVLinks of one.
std::string gpu_by_bricks(int most, std::size_t gpus) {
  constexpr int kHopper = 18, kAmpere = 12, kVolta = 6;
  if (most >= kHopper) {
    return "h100_80gb";
  }
  if (most >= kAmpere || (most == 4 && gpus == 4)) {
    return "a100_80gb";
  }
  return most > 0 && most <= kVolta ? "v100_32gb" : "a100_80gb_pcie";
}

class NodeWriter {
 public:
  NodeWriter(const SourceFile& file, Matrix matrix, Draft& draft)
      : file_{file}, matrix_{std::move(matrix)}, draft_{draft} {
    for (std::size_t i = 0; i < matrix_.devices.size(); ++i) {
      (matrix_.devices[i].starts_with("GPU") ? gpus_ : nics_).push_back(i);
    }
  }

  void write() {
    drawing_.say("name", "imported_node", matrix_.head);
    drawing_.say("source", fmt::format("nvidia-smi topo -m, {}", file_.name), matrix_.head);
    gpu();
    drawing_.vertex("gpu", "gpu", gpus_.size(), matrix_.head);
    drawing_.vertex("nic", "nic", nics_.size(), matrix_.head);
    nvlinks();
    pcie();
    draft_.node = std::move(drawing_).finish();
    draft_.node_origin = file_.name + ": nvidia-smi topo -m";
  }

 private:
  [[nodiscard]] const std::string& cell(std::size_t a, std::size_t b) const { return matrix_.cells[a][b]; }
  [[nodiscard]] SourceLocation at(std::size_t device) const { return {file_.name, matrix_.lines[device], 1}; }
  [[nodiscard]] std::string name(std::size_t device) const {
    const bool is_gpu = matrix_.devices[device].starts_with("GPU");
    const auto& list = is_gpu ? gpus_ : nics_;
    return fmt::format("{}{}", is_gpu ? "gpu" : "nic", std::ranges::find(list, device) - list.begin());
  }

  void gpu() {
    int most = 0;
    for (const std::size_t a : gpus_) {
      for (const std::size_t b : gpus_) {
        most = std::max(most, bricks(cell(a, b)));
      }
    }
    std::string gpu = gpu_by_name(matrix_.gpu_name);
    if (gpu.empty()) {
      gpu = draft_.gpu.empty() ? gpu_by_bricks(most, gpus_.size()) : draft_.gpu;
      const bool is_said = !matrix_.gpu_name.empty();
      const std::string why = is_said ? "no file of configs/gpus is of " + matrix_.gpu_name
                                      : "the matrix does not say the GPU: add the lines of nvidia-smi -L";
      drawing_.say("gpu", gpu, {"assumed: by its NVLinks", 0, 0});
      draft_.remark(is_said ? Remark::Kind::NotModelled : Remark::Kind::Unsaid, {matrix_.head, "GPU0"},
                    why + fmt::format("; {} is assumed", gpu));
    } else {
      drawing_.say("gpu", gpu, matrix_.head);
    }
    draft_.gpu = gpu;
    links_ = links_of_gpu(gpu);
    if (!nics_.empty()) {
      drawing_.say("network", links_.network, {"assumed: the matrix does not say how fast NICs are", 0, 0});
    }
  }

  /// Every pair with as many bricks as one GPU has: a switch between them. Else the bricks go from GPU to
  /// GPU.
  void nvlinks() {
    constexpr int kMostBricks = 18;  // of a GPU, of any generation
    const int first = gpus_.size() > 1 ? bricks(cell(gpus_[0], gpus_[1])) : 0;
    bool is_even = first > 0;
    for (const std::size_t a : gpus_) {
      for (const std::size_t b : gpus_) {
        is_even = is_even && (a == b || bricks(cell(a, b)) == first);
      }
    }
    const bool is_switched =
        is_even && gpus_.size() > 2 && static_cast<std::size_t>(first) * (gpus_.size() - 1) > kMostBricks;
    const bool is_volta_switched =
        is_even && first == 6 && gpus_.size() > 2;  // six bricks are all that Volta has
    if (is_switched || is_volta_switched) {
      drawing_.vertex("nvswitch", "nvswitch", 1, matrix_.head);
      drawing_.link("gpu*", "nvswitch0", links_.nvlink, first, at(gpus_[0]));
      return;
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      std::map<int, std::string> peers;
      for (std::size_t j = i + 1; j < gpus_.size(); ++j) {
        if (const int count = bricks(cell(gpus_[i], gpus_[j])); count > 0) {
          peers[count] += (peers[count].empty() ? "" : " ") + name(gpus_[j]);
        }
      }
      for (const auto& [count, with] : peers) {
        drawing_.link(name(gpus_[i]), with, links_.nvlink, count, at(gpus_[i]));
      }
    }
  }

  void pcie() {
    PcieTree tree{matrix_.devices.size()};
    for (std::size_t a = 0; a < matrix_.devices.size(); ++a) {
      for (std::size_t b = a + 1; b < matrix_.devices.size(); ++b) {
        tree.connect(a, b, cell(a, b));
      }
      tree.say_socket(a, matrix_.numa[a]);
    }
    tree.join_strangers();
    draw(
        tree, [this](std::size_t device) { return name(device); }, links_, matrix_.head, drawing_);
    if (tree.sockets() > 1) {
      draft_.remark(Remark::Kind::Unsaid, {matrix_.head, "CPU"},
                    "the matrix does not say what joins sockets; two UPI links are assumed");
    }
  }

  const SourceFile& file_;
  Matrix matrix_;
  Draft& draft_;
  std::vector<std::size_t> gpus_, nics_;
  GpuLinks links_;
  NodeDrawing drawing_;
};

}  // namespace

bool is_nvidia_smi_topology(const SourceFile& file) {
  if (file.tree) {
    return false;
  }
  const auto lines = file.lines();
  return std::ranges::any_of(lines, [](std::string_view line) { return is_head(words_of(line)); });
}

void read_nvidia_smi_topology(const SourceFile& file, Draft& draft) {
  NodeWriter{file, MatrixReader{file}.read(), draft}.write();
}

}  // namespace lockstep::importing
