#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/synth_subcommands.hpp"
#include "app/commands/synth_written_tokens.hpp"
#include "synth/model_file.hpp"
#include "synth/symbols.hpp"

namespace lockstep {
namespace {

/// How often an entry is launched.
void count_uses(const std::vector<synth::Item>& items, double times, std::vector<double>& uses) {
  for (const synth::Item& item : items) {
    if (!item.body.empty()) {
      count_uses(item.body, times * item.count, uses);
    } else if (item.token.op == Opcode::Launch && !item.token.per_rank) {
      uses[item.token.operand] += times;
    }
  }
}

void print_blocks(const std::vector<synth::Item>& items, std::size_t depth) {
  constexpr std::size_t kShownDepth = 3;
  constexpr std::uint64_t kLeastShown = 6;
  std::uint64_t single = 0;
  const auto print_single = [&] {
    if (single >= kLeastShown) fmt::print("  {:{}}{} instructions\n", "", 2 * depth, single);
    single = 0;
  };
  for (const synth::Item& item : items) {
    const std::uint64_t written = item.body.empty() ? 1 : written_tokens(item.body);
    if (item.body.empty() || written < kLeastShown || depth >= kShownDepth) {
      single += item.body.empty() ? 1 : item.count * written;
      continue;
    }
    print_single();
    fmt::print("  {:{}}{} times a block of {} instructions\n", "", 2 * depth, item.count, written);
    print_blocks(item.body, depth + 1);
  }
  print_single();
}

void print_kernels(const synth::Template& tmpl, const synth::Model& model) {
  struct Row {
    double launches = 0;
    std::uint32_t kernels = 0, shaped = 0, supported = 0;
  };
  std::vector<double> uses(tmpl.kernels.size(), 0);
  count_uses(tmpl.body, 1, uses);
  std::map<std::string, Row> rows;
  for (std::size_t i = 0; i < tmpl.kernels.size(); ++i) {
    const synth::KernelEntry& kernel = tmpl.kernels[i];
    if (uses[i] == 0) continue;
    Row& row = rows[kernel.call.name];
    row.launches += uses[i];
    ++row.kernels;
    row.shaped += std::holds_alternative<Timed>(kernel.call.work) ? 0 : 1;
    row.supported += kernel.support >= model.min_support ? 1 : 0;
  }
  fmt::print("  class              launches  kernels  with shape  seen {} times or more\n",
             model.min_support);
  for (const auto& [name, row] : rows) {
    fmt::print("  {:<18} {:>8.0f} {:>8} {:>11} {:>22}\n", name, row.launches, row.kernels, row.shaped,
               row.supported);
  }
}

void print_sizes(const synth::Template& tmpl) {
  std::map<std::string, std::uint32_t> sizes;
  for (const synth::KernelEntry& kernel : tmpl.kernels) {
    for (const synth::Monomial& size : kernel.sizes) {
      if (!size.powers.empty() || size.with_parameters) ++sizes[to_text(size)];
    }
  }
  if (sizes.empty()) return;
  std::vector<std::pair<std::uint32_t, std::string>> ranked;
  for (const auto& [text, count] : sizes) ranked.emplace_back(count, text);
  std::ranges::sort(ranked, std::greater{});
  constexpr std::size_t kShown = 12;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(kShown, ranked.size()); ++i) shown.push_back(ranked[i].second);
  fmt::print("  sizes: {}{}\n", fmt::join(shown, ", "),
             ranked.size() > kShown ? fmt::format(", and {} more", ranked.size() - kShown) : "");
}

int show_command(const std::string& path) {
  const synth::Model model = synth::read_model(path);
  fmt::print("family {}, {} job{}\n", model.family, model.jobs.size(), model.jobs.size() == 1 ? "" : "s");
  for (const synth::JobModel& job : model.jobs) {
    std::vector<std::string> symbols;
    for (const auto& [name, value] : job.symbols) symbols.push_back(fmt::format("{} = {:.10g}", name, value));
    fmt::print("\njob of {} ranks{}{}\n  {}\n", job.ranks.size(), job.gpu.empty() ? "" : " on " + job.gpu,
               job.has_launches ? "" : ", recorded (times hold the gaps between kernels)",
               fmt::join(symbols, ", "));
    for (std::size_t i = 0; i < job.templates.size(); ++i) {
      const synth::Template& tmpl = job.templates[i];
      fmt::print(" ranks of kind {}: {} threads, {}\n", i + 1, tmpl.program.threads.size(),
                 fmt::join(tmpl.program.streams, ", "));
      print_blocks(tmpl.body, 0);
      print_kernels(tmpl, model);
      print_sizes(tmpl);
      for (const synth::CallEntry& call : tmpl.calls) {
        fmt::print("  {} in {}: {} elements, seen {} times\n", to_string(call.call.kind),
                   tmpl.program.groups[call.call.group], to_text(call.elements), call.support);
      }
    }
  }
  return 0;
}

}  // namespace

void add_synth_show(CLI::App& parent, std::function<int()>& action) {
  const auto model = std::make_shared<std::string>();
  CLI::App* command = parent.add_subcommand("show", "what a model holds: blocks, classes, sizes, support");
  command->add_option("MODEL", *model, "written by lockstep synth fit")->required();
  command->callback([model, &action] { action = [model] { return show_command(*model); }; });
}

}  // namespace lockstep
