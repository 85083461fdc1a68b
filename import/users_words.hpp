#pragma once

#include "base/error.hpp"
#include "import/draft.hpp"

namespace lockstep::importing {

/// Says what is wrong with a draft's scenario in the words of the files that it was read from: keys of the
/// scenario get the names that they have there, Megatron-LM's arguments where these are in a command line.
/// @param document the name of the scenario, which no user has; a problem there is placed at the first key
/// read
[[nodiscard]] InputError in_users_words(const InputError& problems, const Draft& draft,
                                        const std::string& document);

}  // namespace lockstep::importing
