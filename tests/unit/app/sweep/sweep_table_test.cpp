#include "app/sweep/sweep_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/sweep/plot.hpp"
#include "app/sweep/slurm_script.hpp"
#include "app/sweep/sweep_plots.hpp"
#include "base/shell_words.hpp"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SweepRow row(const std::string& batch, double step, double samples_per_s) {
  SweepRow row;
  row.labels = {batch};
  row.key = "k" + batch;
  row.step_time = step;
  row.samples_per_s = samples_per_s;
  row.bottleneck = "compute-bound: kernels, \"all\" of them";
  return row;
}

SweepTable three_rows() {
  SweepRow failed;
  failed.labels = {"3"};
  failed.key = "k3";
  failed.outcome = {2, "s.yaml:4:2: workload: a batch of 3\nand more"};
  return {"batches", {"workload.global_batch"}, {row("8", 0.001, 8000), failed, row("16", 0.0015, 10667)}};
}

TEST(SweepTable, TheBestIsTheOneThatTrainsMost) {
  EXPECT_EQ(best_row(three_rows()), 2U);
  SweepTable none = three_rows();
  none.rows = {none.rows[1]};
  EXPECT_EQ(best_row(none), std::nullopt);
}

TEST(SweepTable, WithPricesTheBestIsTheCheapest) {
  SweepTable table = three_rows();
  table.rows[0].cost = 1.5;
  EXPECT_EQ(best_row(table), 2U);  // one price does not judge the others
  table.rows[2].cost = 2;
  EXPECT_EQ(best_row(table), 0U);
}

TEST(SweepTable, AsText) {
  EXPECT_EQ(sweep_text(three_rows()), R"(batches
  3 points, 1 failed

    global_batch  step time  samples/s  bottleneck
    8                  1 ms       8000  compute-bound
    3             failed (2): workload: a batch of 3
 *  16               1.5 ms    10.67 k  compute-bound

best (*), the most samples/s: global_batch 16
)");
}

TEST(SweepTable, OfManyPointsTheBestFitOneScreen) {
  SweepTable table{"many", {"workload.global_batch"}, {}};
  for (int i = 1; i <= 100; ++i) {
    table.rows.push_back(row(std::to_string(i), 0.001, i));
  }
  const std::string text = sweep_text(table);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 27);
  EXPECT_THAT(text, HasSubstr(" *  100 "));
  EXPECT_THAT(text, HasSubstr("    81 "));
  EXPECT_THAT(text, Not(HasSubstr("    80 ")));
}

TEST(SweepTable, AsCsvQuotesWhatMustBe) {
  EXPECT_EQ(sweep_csv(three_rows()),
            "workload.global_batch,exit_code,step_time_s,step_time_band_faster,step_time_band_slower,ranks,"
            "samples_per_s,tokens_per_s,mfu,memory_peak_bytes,cost_per_million_tokens,cost_per_million_"
            "samples,bottleneck,message,key\r\n"
            "8,0,0.001,,,,8000,,,,,,\"compute-bound: kernels, \"\"all\"\" of them\",,k8\r\n"
            "3,2,,,,,,,,,,,,\"s.yaml:4:2: workload: a batch of 3\nand more\",k3\r\n"
            "16,0,0.0015,,,,10667,,,,,,\"compute-bound: kernels, \"\"all\"\" of them\",,k16\r\n");
}

TEST(SweepTable, AsJson) {
  const auto json = nlohmann::json::parse(sweep_json(three_rows()));
  EXPECT_EQ(json["best"], 2);
  EXPECT_EQ(json["points"][0]["values"]["workload.global_batch"], "8");
  EXPECT_EQ(json["points"][1]["exit_code"], 2);
  EXPECT_FALSE(json["points"][1].contains("step_time_s"));
  EXPECT_EQ(json["points"][2]["step_time_s"], 0.0015);
}

TEST(SweepTable, ColumnsHaveShortNamesWhereTheseAreUnique) {
  EXPECT_THAT(short_names({"a.x", "b.x", "b.y", "c"}), ::testing::ElementsAre("a.x", "b.x", "y", "c"));
}

TEST(SweepPlots, AreThoseOfTheFiguresThatAreKnown) {
  SweepTable table = three_rows();
  ASSERT_EQ(sweep_plots(table).size(), 1U);
  EXPECT_EQ(sweep_plots(table)[0].name, "step_time.svg");
  table.rows[2].mfu = 0.4;
  const auto plots = sweep_plots(table);
  ASSERT_EQ(plots.size(), 2U);
  EXPECT_THAT(plots[1].svg, HasSubstr("<title>16: 40 %</title>"));
  EXPECT_THAT(plots[1].svg, Not(HasSubstr("<title>8: ")));  // a gap, not a zero
}

TEST(Plot, GrowingNumbersAreJoinedOthersAreBars) {
  SweepTable table = three_rows();  // 8, 3, 16
  EXPECT_THAT(sweep_plots(table)[0].svg, Not(HasSubstr("<circle")));
  table.rows.erase(table.rows.begin() + 1);
  EXPECT_THAT(sweep_plots(table)[0].svg, HasSubstr("<circle"));
}

TEST(Plot, EscapesWhatXmlWouldTakeForItsOwn) {
  const Plot plot{"a<b", "", "x & y", {"<1>"}, {{"", {1.0}}}, false};
  EXPECT_THAT(to_svg(plot), HasSubstr("a&lt;b"));
  EXPECT_THAT(to_svg(plot), HasSubstr("x &amp; y"));
  EXPECT_THAT(to_svg(plot), Not(HasSubstr("<1>")));
}

TEST(SlurmScript, QuotesWhatAShellWouldSplit) {
  EXPECT_EQ(shell_quoted("a/b.yaml"), "a/b.yaml");
  EXPECT_EQ(shell_quoted("dgx2 x 1"), "'dgx2 x 1'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
  const std::string script = slurm_script(
      {"GPT-2: how many?", "/bin/lockstep", "/s.yaml", "/out", {"cluster=dgx2 x 1,dgx1v x 1"}, 4});
  EXPECT_THAT(script, HasSubstr("#SBATCH --job-name=lockstep-GPT-2-how-many\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --array=0-3\n"));
  EXPECT_THAT(script,
              HasSubstr("exec /bin/lockstep sweep /s.yaml -o /out \\\n  --set 'cluster=dgx2 x 1,dgx1v x 1'"));
  EXPECT_THAT(script, HasSubstr("--shard \"${SLURM_ARRAY_TASK_ID}/4\""));
}

}  // namespace
}  // namespace lockstep
