#pragma once

#include <span>
#include <string_view>

#include "import/draft.hpp"
#include "import/source_file.hpp"

namespace lockstep::importing {

/// A kind of file that becomes part of a scenario.
struct Recogniser {
  std::string_view name;                  ///< for `lockstep list importers`: `deepspeed`
  std::string_view title;                 ///< what the file is
  bool (*recognises)(const SourceFile&);  ///< by its content
  void (*read)(const SourceFile&, Draft&);
};

/// The table of them; the first that recognises a file reads it.
[[nodiscard]] std::span<const Recogniser> recognisers();

/// The kind of a file, null for none.
[[nodiscard]] const Recogniser* recogniser_of(const SourceFile& file);

}  // namespace lockstep::importing
