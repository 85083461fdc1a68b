#pragma once

/// @file
/// Lines of the output of nccl-tests, as launchers and systems' logs pass them on.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::nccl_tests {

/// Its words, apart at blanks.
[[nodiscard]] std::vector<std::string> words_of(std::string_view line);

/// Removes what launchers and `ts` put before a line: `[1,0]<stdout>:` (Open MPI 4, --tag-output),
/// `[prterun-HOST-PID@1,0]<stdout>: ` (Open MPI 5), `[0] ` (Hydra, -prepend-rank), ` 12: ` (srun --label),
/// `[pod/NAME/CONTAINER] ` (kubectl logs --prefix), `[HOST:PID] `, `HOST PROGRAM[PID]: ` (the system's
/// journal), `2026-11-25T14:00:00.123Z `, `Nov 25 14:00:00 `, `14:00:00 `; several where there are several.
[[nodiscard]] std::string_view without_launcher(std::string_view line);

/// Size, count and type stand beside one another in each row of results, and nowhere else.
[[nodiscard]] bool has_row(const std::vector<std::string>& words);

/// Whether words below a header were a row once: they begin with digits, perhaps in groups (8.589.934.592,
/// 8'589, 8,589, with a blank that is no ASCII), or with a digit in front of a row's type (8G).
/// @param words not empty
[[nodiscard]] bool was_row(const std::vector<std::string>& words);

/// None for a word that is not a number as a whole.
[[nodiscard]] std::optional<double> number_of(const std::string& word);

}  // namespace lockstep::nccl_tests
