#include "app/size/size_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "app/counted.hpp"
#include "app/plans/plan_text.hpp"
#include "scenario/memory_demand.hpp"

namespace lockstep {
namespace {

const ClusterSize& best_of(const SizeAnswer& answer) {
  return answer.sizes[answer.best.value()];
}

/// `256 GPUs (32 nodes)`, `256 GPUs (32 nodes with 4 NICs)`
std::string name_of_size(const ClusterSize& size) {
  const std::string nics =
      size.nics ? fmt::format(" with {} NIC{} each", *size.nics, *size.nics == 1 ? "" : "s") : "";
  return fmt::format("{} GPUs ({} node{}{})", size.gpus, size.nodes, size.nodes == 1 ? "" : "s", nics);
}

std::string in_days(double days) {
  return days < 1 ? fmt::format("{:.3g} hours", 24 * days) : fmt::format("{:.4g} days", days);
}

/// `27.3 days (24.1 to 32.8)`: of the training, with its band.
std::string days_with_band(const ClusterSize& size) {
  const double days = size.days.value();
  if (!size.band) {
    return "about " + in_days(days);
  }
  const double unit = days < 1 ? 24 : 1;
  return fmt::format("{} ({:.3g} to {:.3g})", in_days(days), unit * days * (1 - size.band->faster),
                     unit * days * (1 + size.band->slower));
}

std::string what_it_does(const ClusterSize& size, const SizeQuestion& question) {
  if (size.days) {
    return fmt::format("train {} tokens in {}{}", counted(question.tokens.value()), days_with_band(size),
                       size.cost ? fmt::format(" for {}", counted(*size.cost)) : "");
  }
  return fmt::format("take {} a step{}{}", to_string(Seconds{size.step()}),
                     size.band ? ", " + in_words(*size.band) : ", by the estimates",
                     size.figures.cost_per_million
                         ? fmt::format(": {:.4g} for a million tokens", *size.figures.cost_per_million)
                         : "");
}

std::string tie_sentence(const SizeAnswer& answer) {
  if (answer.ties.empty()) {
    return "";
  }
  std::vector<std::string> others;
  for (const std::size_t number : answer.ties) {
    const ClusterSize& other = answer.sizes[number];
    others.push_back(name_of_size(other) + (other.days ? ", " + in_days(*other.days) : ""));
  }
  return fmt::format(" A tie: within that band {} {} as cheap.", fmt::join(others, "; "),
                     others.size() == 1 ? "is" : "are");
}

/// A size that would meet a deadline that none does, if more GPUs did as much each as the fastest size's.
std::string missed_sentence(const SizeAnswer& answer, const SizeQuestion& question,
                            const std::string& scenario) {
  const ClusterSize& fastest = answer.sizes[answer.fastest.value()];
  const int node = fastest.gpus / fastest.nodes;
  const double needed = fastest.gpus * fastest.days.value() / question.most_days.value();
  const int gpus = static_cast<int>(std::ceil(needed / node)) * node;
  return fmt::format(
      "None of the sizes is done in {}: the fastest, {}, would {}. If more GPUs did as much each, {} would "
      "be "
      "needed: lockstep size {} --gpus {} --tokens {:g} --days {:g}",
      in_days(*question.most_days), name_of_size(fastest), what_it_does(fastest, question), gpus, scenario,
      gpus, *question.tokens, *question.most_days);
}

std::string memory_of(const ClusterSize& size) {
  const auto& evaluation = size.plan->evaluation;
  if (!evaluation) {
    return to_string(size.plan->estimate.memory);
  }
  const double bytes = evaluation->memory.total().in_base_units();
  const double share = evaluation->capacity > 0 ? bytes / evaluation->capacity : 0;
  return to_string(Bytes{bytes}) +
         (share > 0 ? fmt::format(" ({:.0f} %{})", 100 * share, share > kTight ? ", tight" : "") : "");
}

/// Heads and cells of the table; columns that no row fills are left out.
class SizeTable {
 public:
  SizeTable(const SizeAnswer& answer, const SizeQuestion& question) : answer_{answer} {
    const auto& sizes = answer.sizes;
    const bool has_nics = !question.nics.empty();
    add(
        "nodes", [](const ClusterSize& size) { return std::to_string(size.nodes); }, true);
    add(
        "GPUs", [](const ClusterSize& size) { return std::to_string(size.gpus); }, true);
    if (has_nics) {
      add(
          "NICs/node", [](const ClusterSize& size) { return std::to_string(*size.nics); }, true);
    }
    add("step time", [](const ClusterSize& size) { return to_string(Seconds{size.step()}); });
    add("band", [](const ClusterSize& size) { return size.band ? in_words(*size.band) : "est."; });
    add("MFU", [](const ClusterSize& size) {
      return size.figures.mfu ? fmt::format("{:.1f} %", 100 * *size.figures.mfu) : "";
    });
    add("tokens/s", [](const ClusterSize& size) {
      return size.figures.tokens_per_s ? counted(*size.figures.tokens_per_s) : "";
    });
    add("tokens/s/GPU", [](const ClusterSize& size) {
      return size.figures.tokens_per_s ? fmt::format("{:.4g}", *size.figures.tokens_per_s / size.gpus) : "";
    });
    add("memory", memory_of);
    if (std::ranges::any_of(sizes, [](const ClusterSize& size) { return size.days.has_value(); })) {
      add("days", [](const ClusterSize& size) { return fmt::format("{:.4g}", size.days.value_or(0)); });
    }
    if (std::ranges::any_of(
            sizes, [](const ClusterSize& size) { return size.figures.cost_per_million.has_value(); })) {
      add("cost/Mtoken",
          [](const ClusterSize& size) { return fmt::format("{:.4g}", *size.figures.cost_per_million); });
    }
    if (std::ranges::any_of(sizes, [](const ClusterSize& size) { return size.cost.has_value(); })) {
      add("cost", [](const ClusterSize& size) { return counted(size.cost.value_or(0)); });
    }
  }

  [[nodiscard]] std::string text() const {
    std::string text = "  ";
    for (const Column& column : columns_) {
      text += fmt::format("  {:>{}}", column.cells.front(), column.width());
    }
    text += "  plan\n";
    for (std::size_t row = 0; row < answer_.sizes.size(); ++row) {
      text += line(row) + "\n";
    }
    return text;
  }

 private:
  struct Column {
    std::vector<std::string> cells;  ///< the head first
    bool is_of_all = false;          ///< of sizes without a plan, too

    [[nodiscard]] std::size_t width() const {
      return std::ranges::max_element(cells, {}, &std::string::size)->size();
    }
  };

  template <class Cell>
  void add(const char* head, Cell cell, bool is_of_all = false) {
    Column column{{head}, is_of_all};
    for (const ClusterSize& size : answer_.sizes) {
      column.cells.push_back(is_of_all || size.plan ? cell(size) : std::string{});
    }
    columns_.push_back(std::move(column));
  }

  [[nodiscard]] std::string line(std::size_t row) const {
    const ClusterSize& size = answer_.sizes[row];
    const bool is_tied = std::ranges::count(answer_.ties, row) > 0;
    std::string text = answer_.best == row ? " *" : is_tied ? " =" : "  ";
    for (const Column& column : columns_) {
      if (size.plan || column.is_of_all) {
        text += fmt::format("  {:>{}}", column.cells[row + 1], column.width());
      }
    }
    return text + "  " + (size.plan ? in_words(size.plan->candidate) : size.why_none);
  }

  const SizeAnswer& answer_;
  std::vector<Column> columns_;
};

}  // namespace

std::string size_sentence(const SizeAnswer& answer, const SizeQuestion& question,
                          const std::string& scenario) {
  if (!answer.meets_deadline) {
    return missed_sentence(answer, question, scenario);
  }
  const ClusterSize& best = best_of(answer);
  const auto planned =
      std::ranges::count_if(answer.sizes, [](const ClusterSize& size) { return size.plan.has_value(); });
  const std::string among = question.most_days
                                ? fmt::format("the cheapest that is done in {}", in_days(*question.most_days))
                            : planned > 1 ? "the cheapest for a token"
                                          : "the only size that can be";
  std::string text = fmt::format("{} {}: {}.", name_of_size(best), what_it_does(best, question), among);
  if (question.most_days && best.band && *best.days * (1 + best.band->slower) > *question.most_days) {
    text += " The slow end of its band is beyond that.";
  }
  return text + tie_sentence(answer);
}

std::string size_text(const SizeAnswer& answer, const SizeQuestion& question, const std::string& scenario) {
  const ClusterSize& best = best_of(answer);
  const PlanEvaluator& evaluator = *best.evaluator;
  const PlanProblem& problem = evaluator.problem();
  std::string text =
      fmt::format("{}\n  steps of {} samples of {} tokens on nodes of {} GPUs", evaluator.scenario().name,
                  problem.global_batch, problem.model.sequence, problem.gpus_of_node);
  if (const auto price = evaluator.scenario().price_per_gpu_hour) {
    text += fmt::format(", {:g} for a GPU and hour", *price);
  }
  text += fmt::format("\n\n{}\n\n{}", size_sentence(answer, question, scenario),
                      SizeTable{answer, question}.text());
  if (!answer.ties.empty()) {
    text += "    =: as cheap as the best (*), within its band\n";
  }
  text += fmt::format("\nthe plan on {} GPUs\n{}\n", best.gpus, plan_text(evaluator, best.plan->candidate));
  if (std::ranges::any_of(answer.sizes, [](const ClusterSize& size) { return !size.is_complete; })) {
    text +=
        "not all plans were looked at (time was up, or simulations failed): a larger --budget may find "
        "better\n";
  }
  return text;
}

std::string no_size_text(const SizeAnswer& answer) {
  std::string text = "no size has a plan";
  for (const ClusterSize& size : answer.sizes) {
    text += fmt::format("\n  {}: {}", name_of_size(size), size.why_none);
  }
  return text;
}

}  // namespace lockstep
