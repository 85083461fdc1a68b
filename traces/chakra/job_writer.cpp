#include "traces/chakra/job_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "sim/compiled_program.hpp"
#include "traces/chakra/gpu_nodes.hpp"
#include "traces/chakra/program_nodes.hpp"
#include "traces/gzip_file.hpp"

namespace lockstep {
namespace {

void write_gzip(const std::filesystem::path& path, const std::string& text) {
  constexpr std::size_t kBlock = 1U << 20U;
  BlockCompressor compressor{1, 0};
  GzipFile file{path, compressor, kBlock};
  for (std::size_t at = 0; at < text.size(); at += kBlock) {
    file.append(std::string_view{text}.substr(at, kBlock));
  }
  file.complete();
  file.publish();
}

/// The same file under a second name; a copy where links are not possible.
void write_again(const std::filesystem::path& first, const std::filesystem::path& second) {
  std::error_code failed;
  std::filesystem::remove(second, failed);
  std::filesystem::create_hard_link(first, second, failed);
  if (failed) {
    write_whole_file(second, read_own_file(first));
  }
}

bool has_messages(const Program& program) {
  return std::any_of(program.collectives.begin(), program.collectives.end(), [](const CollectiveCall& call) {
    return call.kind == CollectiveKind::Send || call.kind == CollectiveKind::Receive;
  });
}

class JobWriter {
 public:
  JobWriter(const TimedJob& job, const ChakraFiles& files) : job_{job}, files_{files} {}

  ChakraExport write(const std::function<void(std::uint32_t)>& on_rank) {
    const auto ranks = static_cast<std::uint32_t>(job_.job->ranks.size());
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      write(rank);
      on_rank(rank + 1);
    }
    write_groups();
    return written_;
  }

 private:
  /// All that a rank's trace depends on; a rank with messages has its own number in it.
  using Content = std::tuple<std::uint32_t, std::uint32_t, std::vector<std::uint32_t>,
                             std::vector<std::uint32_t>, std::vector<std::uint32_t>, std::uint32_t>;

  void write(std::uint32_t rank) {
    const RankAssignment& assignment = job_.job->ranks[rank];
    const Program& program = *job_.job->programs[assignment.program];
    const std::uint32_t model = job_.gpu_model_of_rank[rank];
    const std::filesystem::path path = files_.folder / files_.name_of(fmt::format("{}", rank));
    const bool names_itself = !files_.fold && has_messages(program);
    const Content content{assignment.program,          model,
                          groups_in_file(assignment),  assignment.kernel_slots,
                          assignment.collective_slots, names_itself ? rank : 0};
    const auto [known, fresh] = known_.try_emplace(content, path);
    if (!fresh) {
      return write_again(known->second, path);
    }
    auto& kernels = kernels_[{assignment.program, model}];
    if (kernels.empty()) {
      kernels = time_kernels(program, job_.gpu_models[model]);
    }
    const std::string text =
        files_.dialect == ChakraDialect::AstraSim
            ? chakra::gpu_trace_of_rank(*job_.job, rank, kernels)
            : chakra::trace_of_rank(*job_.job, rank, kernels, {job_.has_launches, job_.notes, files_.fold});
    written_.nodes_bytes += text.size();
    ++written_.different;
    if (files_.gzip) {
      write_gzip(path, text);
    } else {
      write_whole_file(path, text);
    }
  }

  /// Numbers of groups stand in a file of its own; in a shared one, how many members they have.
  [[nodiscard]] std::vector<std::uint32_t> groups_in_file(const RankAssignment& assignment) const {
    if (!files_.fold) return assignment.groups;
    std::vector<std::uint32_t> sizes;
    for (const std::uint32_t group : assignment.groups) {
      sizes.push_back(static_cast<std::uint32_t>(job_.job->groups[group].ranks.size()));
    }
    return sizes;
  }

  /// {"1": [0, 1], ...}: the group's number in the Job, from 1, as the traces' pg_name has it. With shared
  /// files also "names", by number, and "of_ranks", numbers by rank in the order of Program::groups.
  void write_groups() const {
    std::string text = "{";
    for (std::size_t group = 0; group < job_.job->groups.size(); ++group) {
      text += fmt::format("{}\n  \"{}\": [{}]", group == 0 ? "" : ",", group + 1,
                          fmt::join(job_.job->groups[group].ranks, ", "));
    }
    if (files_.fold) {
      std::vector<std::string> names;
      for (const ProcessGroup& group : job_.job->groups) names.push_back(nlohmann::json(group.name).dump());
      text += fmt::format("{}\n  \"names\": [{}],\n  \"of_ranks\": [", names.empty() ? "" : ",",
                          fmt::join(names, ", "));
      const char* between = "";
      for (const RankAssignment& rank : job_.job->ranks) {
        std::vector<std::uint32_t> numbers = rank.groups;
        for (std::uint32_t& number : numbers) ++number;
        text += fmt::format("{}[{}]", std::exchange(between, ",\n    "), fmt::join(numbers, ", "));
      }
      text += "]";
    }
    write_whole_file(files_.folder / files_.name_of_groups(), text + "\n}\n");
  }

  const TimedJob& job_;
  const ChakraFiles& files_;
  std::map<Content, std::filesystem::path> known_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<KernelTiming>>
      kernels_;  // by program and model
  ChakraExport written_;
};

}  // namespace

ChakraExport write_chakra(const TimedJob& job, const ChakraFiles& files,
                          const std::function<void(std::uint32_t)>& on_rank) {
  return JobWriter{job, files}.write(on_rank);
}

}  // namespace lockstep
