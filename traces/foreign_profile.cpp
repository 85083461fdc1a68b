#include "traces/foreign_profile.hpp"

#include "base/error.hpp"
#include "traces/nsys/nsys_reader.hpp"
#include "traces/unpacked_blocks.hpp"

namespace lockstep {
namespace {

constexpr const char* kXla = "a profile of JAX/XLA or TensorFlow, which is not read";
constexpr const char* kRocprof = "a profile of rocprof (ROCm), which is not read";
constexpr const char* kNsight =
    "a database (SQLite) that is no export of Nsight Systems (rocprof writes such), which is not read";
constexpr const char* kNsightReport =
    "a report of Nsight Systems, of which the export is read: nsys export --type sqlite FILE";
constexpr const char* kDatabase = "SQLite format 3";
constexpr const char* kInstead = ": give the trace of PyTorch's profiler (export_chrome_trace)";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string foreign_process(std::string_view name) {
  // TensorFlow's profiler, which JAX uses, names planes so (tsl/profiler/utils/xplane_schema.cc).
  for (const std::string_view plane : {"/device:GPU", "/device:TPU", "/device:CPU", "/host:", "/job:"}) {
    if (name.starts_with(plane)) {
      return std::string{kXla} + kInstead;
    }
  }
  // rocprof's JSON of the first version (rocprof, tblextr.py).
  if (name == "CPU HIP API" || name == "CPU HSA API" || name == "Markers and Ranges") {
    return std::string{kRocprof} + kInstead;
  }
  return "";
}

bool is_database(const std::string& file_name) {
  UnpackedBlocks blocks{file_name};
  return blocks.next().starts_with(kDatabase);
}

std::string foreign_file(const std::string& file_name) {
  UnpackedBlocks blocks{file_name};
  const std::string_view text = blocks.next();
  constexpr std::size_t kHead = 4096;
  const std::string_view head = text.substr(0, kHead);
  std::string found;
  if (head.starts_with(kDatabase)) {
    found = nsys::is_nsys(file_name) ? "" : kNsight;
  } else if (file_name.ends_with(".nsys-rep") || file_name.ends_with(".qdrep")) {
    return kNsightReport;
  } else if (has(head, "\"rocprofiler-sdk-tool\"") || has(head, "\"rocprofiler-sdk-json-tool\"")) {
    found = kRocprof;
  } else if (file_name.ends_with(".xplane.pb") || file_name.ends_with(".xplane.pb.gz") ||
             (head.starts_with('\n') &&
              (has(text, "/host:CPU") || has(text, "/host:metadata") || has(text, "/device:GPU:")))) {
    found = kXla;  // a message whose field 1, the planes, comes first
  }
  return found.empty() ? "" : found + kInstead;
}

void refuse_foreign(const std::string& file_name) {
  if (const std::string whose = foreign_file(file_name); !whose.empty()) {
    throw InputError{{file_name}, whose};
  }
}

}  // namespace lockstep
