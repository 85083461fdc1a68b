#pragma once

#include "import/draft.hpp"
#include "import/source_file.hpp"

namespace lockstep::importing {

/// The output of ibnetdiscover.
[[nodiscard]] bool is_ibnetdiscover(const SourceFile& file);

/// Draws the machine that it describes.
/// @throws InputError with the line that cannot be read
void read_ibnetdiscover(const SourceFile& file, Draft& draft);

}  // namespace lockstep::importing
