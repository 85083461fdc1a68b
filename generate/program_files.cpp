#include "generate/program_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "generate/embedded_sources.hpp"
#include "generate/operation_table.hpp"

namespace lockstep::generate {
namespace {

constexpr std::string_view kRuntime = "generate/runtime/";
constexpr std::string_view kKernels = "calibration/measure/kernels/";

/// The function that makes the launches of a work, and its file.
struct WorkSource {
  std::string_view work, maker, file;
};
constexpr auto kWorkSources = std::to_array<WorkSource>({
    {"gemm", "make_product", "products.cu"},
    {"convolution", "make_convolution", "convolutions.cu"},
    {"memcpy", "make_copy", "copies.cu"},
    {"memset", "make_copy", "copies.cu"},
    {"pointwise", "make_elementwise", "elementwise.cu"},
    {"concat", "make_elementwise", "elementwise.cu"},
    {"optimizer", "make_elementwise", "elementwise.cu"},
    {"reduction", "make_rows", "rows.cu"},
    {"softmax", "make_rows", "rows.cu"},
    {"layer_norm", "make_rows", "rows.cu"},
    {"batch_norm", "make_rows", "rows.cu"},
    {"transpose", "make_movement", "movements.cu"},
    {"index_select", "make_movement", "movements.cu"},
    {"triangular", "make_movement", "movements.cu"},
    {"embedding", "make_look_up", "lookups.cu"},
    {"attention", "make_attention", "attention.cu"},
});

std::string_view embedded(std::string_view path) {
  const auto& all = embedded_sources();
  const auto found = std::ranges::find(all, path, &EmbeddedFile::path);
  return found == all.end() ? std::string_view{} : found->text;
}

/// The project's files that a line includes: `#include "generate/runtime/table.hpp"`.
std::vector<std::string> inclusions(std::string_view text) {
  constexpr std::string_view kWord = "#include \"";
  std::vector<std::string> paths;
  for (std::size_t at = text.find(kWord); at != std::string_view::npos; at = text.find(kWord, at + 1)) {
    const std::size_t begin = at + kWord.size();
    paths.emplace_back(text.substr(begin, text.find('"', begin) - begin));
  }
  return paths;
}

/// Removes folders from includes: all files of a program lie side by side.
std::string side_by_side(std::string_view text) {
  std::string made{text};
  for (const std::string_view folder : {kRuntime, kKernels}) {
    const std::string from = fmt::format("#include \"{}", folder);
    for (std::size_t at = made.find(from); at != std::string::npos; at = made.find(from, at)) {
      made.replace(at, from.size(), "#include \"");
    }
  }
  return made;
}

/// Sources with all that they include; a header's own source comes with it.
class Sources {
 public:
  void add(const std::string& path) {
    if (!known_.insert(path).second) {
      return;
    }
    const std::string_view text = embedded(path);
    if (text.empty()) {
      throw std::logic_error{fmt::format("{} is not embedded", path)};
    }
    files_.push_back({path.substr(path.rfind('/') + 1), side_by_side(text)});
    for (const std::string& included : inclusions(text)) {
      if (included.ends_with("families.inc")) {
        continue;
      }
      add(included);
      const std::string stem = included.substr(0, included.rfind('.'));
      for (const std::string& source : {stem + ".cu", stem + ".cpp"}) {
        if (source != fmt::format("{}collectives.cu", kRuntime) && !embedded(source).empty()) {
          add(source);
        }
      }
    }
  }
  [[nodiscard]] std::vector<ProgramFile> files() && { return std::move(files_); }

 private:
  std::set<std::string> known_;
  std::vector<ProgramFile> files_;
};

/// Works of kernels that are launched as what they are.
std::set<std::string> works_of(const benchmark::Table& table) {
  std::set<std::string> works;
  for (const benchmark::Program& program : table.programs) {
    for (const benchmark::Kernel& kernel : program.kernels) {
      if (kernel.backend == "library" || kernel.backend == "own") {
        std::ranges::for_each(kernel.calls, [&](const benchmark::Call& call) { works.insert(call.work); });
      }
    }
  }
  return works;
}

bool communicates(const benchmark::Table& table) {
  return std::ranges::any_of(table.programs,
                             [](const auto& program) { return !program.collectives.empty(); });
}

std::string cmake_text(bool has_convolutions, bool has_collectives) {
  std::string text = R"(cmake_minimum_required(VERSION 3.22)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90)
endif()
project(benchmark LANGUAGES CXX CUDA)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_EXTENSIONS OFF)
find_package(CUDAToolkit 12 REQUIRED)
find_package(Threads REQUIRED)

file(GLOB sources *.cu *.cpp)
add_executable(benchmark ${sources})
target_include_directories(benchmark PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(benchmark PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--Werror=all-warnings;-Xcompiler=-Wall,-Wextra>")
target_link_libraries(benchmark PRIVATE CUDA::cudart CUDA::cublasLt Threads::Threads)
)";
  const auto need = [&](const char* header, const char* library) {
    text += fmt::format(R"(
find_path({0}_INCLUDE {1} HINTS ${{CUDAToolkit_INCLUDE_DIRS}} ENV {0}_HOME PATH_SUFFIXES include REQUIRED)
find_library({0}_LIBRARY {2} HINTS ${{CUDAToolkit_LIBRARY_DIR}} ENV {0}_HOME PATH_SUFFIXES lib lib64 REQUIRED)
target_include_directories(benchmark SYSTEM PRIVATE ${{{0}_INCLUDE}})
target_link_libraries(benchmark PRIVATE ${{{0}_LIBRARY}})
)",
                        library == std::string_view{"nccl"} ? "NCCL" : "CUDNN", header, library);
  };
  if (has_convolutions) {
    need("cudnn.h", "cudnn");
  }
  if (has_collectives) {
    need("nccl.h", "nccl");
  }
  return text;
}

/// Starts a process a rank on this node; launchers of clusters start the program themselves.
std::string run_script(std::size_t ranks, const std::string& program) {
  return fmt::format(R"sh(#!/bin/sh
# Starts {0} processes on this machine, a GPU each; further arguments are the program's.
# On several nodes: srun -n {0} --export=ALL,BENCHMARK_RENDEZVOUS=/a/folder/that/all/see {1}
cd "$(dirname "$0")" || exit 1
BENCHMARK_RENDEZVOUS=$(mktemp -d) || exit 1
trap 'rm -rf "$BENCHMARK_RENDEZVOUS"' EXIT
export BENCHMARK_RENDEZVOUS WORLD_SIZE={0}
: "${{MASTER_ADDR:=127.0.0.1}}" "${{MASTER_PORT:=29500}}"
export MASTER_ADDR MASTER_PORT
rank=0
processes=
while [ "$rank" -lt {0} ]; do
  RANK=$rank LOCAL_RANK=$rank {1} "$@" &
  processes="$processes $!"
  rank=$((rank + 1))
done
code=0
for process in $processes; do
  wait "$process" || {{ code=$?; kill $processes 2>/dev/null; }}
done
exit $code
)sh",
                     ranks, program);
}

std::vector<ProgramFile> cuda_files(const benchmark::Table& table) {
  const std::set<std::string> works = works_of(table);
  const bool has_collectives = communicates(table);
  Sources sources;
  std::string families = "// Which function makes the launches of which work.\n";
  for (const char* file : {"main.cu", "kernels.cu", "busy.cu", "elementwise.cu"}) {
    sources.add(fmt::format("{}{}", kRuntime, file));
  }
  sources.add(fmt::format("{}{}", kRuntime, has_collectives ? "collectives.cu" : "no_collectives.cu"));
  for (const WorkSource& source : kWorkSources) {
    if (works.contains(std::string{source.work})) {
      sources.add(fmt::format("{}{}", kRuntime, source.file));
      families += fmt::format("BENCHMARK_WORK(\"{}\", {})\n", source.work, source.maker);
    }
  }
  std::vector<ProgramFile> files = std::move(sources).files();
  files.push_back({"families.inc", families});
  files.push_back({"CMakeLists.txt", cmake_text(works.contains("convolution"), has_collectives)});
  files.push_back({"run.sh", run_script(table.ranks.size(), "build/benchmark"), true});
  return files;
}

std::vector<ProgramFile> pytorch_files(const benchmark::Table& table) {
  std::vector<ProgramFile> files;
  for (const char* name : {"benchmark.py", "operation_table.py", "operators.py", "communication.py"}) {
    files.push_back({name, std::string{embedded(std::string{kRuntime} + name)}});
  }
  files.push_back({"run.sh", run_script(table.ranks.size(), "python3 benchmark.py"), true});
  return files;
}

}  // namespace

std::vector<ProgramFile> program_files(const benchmark::Table& table, Target target) {
  std::vector<ProgramFile> files = target == Target::Cuda ? cuda_files(table) : pytorch_files(table);
  files.push_back({kOperationTable, to_text(table)});
  return files;
}

bool is_of_program(const std::string& name) {
  constexpr auto kOthers = std::to_array<std::string_view>({kOperationTable, "CMakeLists.txt", "run.sh",
                                                            "families.inc", "benchmark.json", "machine.yaml",
                                                            "recorded_machine.yaml", "benchmark.py"});
  return std::ranges::find(kOthers, name) != kOthers.end() ||
         std::ranges::any_of(embedded_sources(), [&](const EmbeddedFile& source) {
           return source.path.substr(source.path.rfind('/') + 1) == name;
         });
}

}  // namespace lockstep::generate
