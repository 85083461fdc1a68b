#include "app/sweep/slurm_script.hpp"

#include "base/shell_words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {
namespace {

/// Slurm's job names are one word.
std::string one_word(const std::string& name) {
  std::string word;
  for (const char c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_plain) {
      word += c;
    } else if (!word.empty() && word.back() != '-') {
      word += '-';
    }
  }
  word.resize(std::min<std::size_t>(word.size(), 40));
  return word.ends_with('-') ? word.substr(0, word.size() - 1) : word;
}

}  // namespace

std::string slurm_script(const SlurmJob& job) {
  std::string sets;
  for (const std::string& assignment : job.assignments) {
    sets += " \\\n  --set " + shell_quoted(assignment);
  }
  return fmt::format(
      R"(#!/bin/bash
# A sweep of Lockstep as a job array: sbatch THIS_FILE
# The tasks share the points through the folder, which all nodes have to see. A task that is killed loses no
# finished point: submit the script again. The task that finds all points done writes the table; so does the
# command below without --shard, at any time afterwards.
#SBATCH --job-name=lockstep-{4}
#SBATCH --array=0-{5}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
#SBATCH --output={6}

exec {0} sweep {1} -o {2}{3} \
  --shard "${{SLURM_ARRAY_TASK_ID}}/{7}" --jobs "${{SLURM_CPUS_PER_TASK:-1}}"
)",
      shell_quoted(job.program.string()), shell_quoted(job.scenario.string()),
      shell_quoted(job.folder.string()), sets, one_word(job.name), job.tasks - 1,
      shell_quoted((job.folder / "slurm-%A_%a.log").string()), job.tasks);
}

}  // namespace lockstep
