#include "synth/model_file.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "synth/fit.hpp"
#include "tests/support/layered_job.hpp"
#include "tests/support/scratch_folder.hpp"

namespace lockstep::synth {
namespace {

std::string model_text() {
  Recording recording;
  recording.job = testing::layered_job({});
  recording.gpu = testing::shipped_a100();
  return to_json(fit(std::vector{recording}, {}));
}

TEST(ModelFile, ComesBackToTheLastBit) {
  const std::string text = model_text();
  const test::ScratchFolder folder;
  folder.write("model.json", text);
  EXPECT_EQ(to_json(read_model(folder / "model.json")), text);
}

std::string complaint_about(const std::string& text) {
  const test::ScratchFolder folder;
  folder.write("model.json", text);
  try {
    static_cast<void>(read_model(folder / "model.json"));
    return "";
  } catch (const InputError& problem) {
    return problem.problems().front().message;
  }
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(ModelFile, TellsWhatIsWrong) {
  const std::string text = model_text();
  EXPECT_NE(complaint_about("{").find("no JSON"), std::string::npos);
  EXPECT_NE(complaint_about("[]").find("lockstep-synth.1"), std::string::npos);
  EXPECT_NE(complaint_about(replaced(text, "lockstep-synth.1", "lockstep-synth.9")).find("schema"),
            std::string::npos);
  EXPECT_EQ(complaint_about(replaced(text, "\"launch\"", "\"lunch\"")), "'lunch' is no instruction");
  EXPECT_EQ(complaint_about(replaced(text, "\"gemm\",\"type\":\"bf16\"", "\"gemm\",\"type\":\"bf17\"")),
            "'bf17' is no data type");
  EXPECT_NE(complaint_about(replaced(text, "\"group\":0", "\"group\":3")).find("'group' cannot be 3"),
            std::string::npos);
  EXPECT_NE(
      complaint_about(replaced(text, "\"ranks\":4.0", "\"ranks\":5.0")).find("number of the job's ranks"),
      std::string::npos);
}

// However a file is broken, it is read or refused: never a crash.
TEST(ModelFile, BrokenFilesAreRefused) {
  const std::string text = model_text();
  for (std::size_t at = 0; at < text.size(); at += 1 + text.size() / 400) {
    std::string cut = text.substr(0, at);
    std::string changed = text;
    changed[at] = changed[at] == '9' ? '-' : '9';
    static_cast<void>(complaint_about(cut));
    static_cast<void>(complaint_about(changed));
  }
}

}  // namespace
}  // namespace lockstep::synth
