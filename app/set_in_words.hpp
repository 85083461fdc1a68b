#pragma once

#include <string>

namespace lockstep {

/// `--set host=./my_host.yaml`: how a command takes a file that was just written, from the folder in which it
/// was. A name without folder or .yaml is one of configs/; with `./` it is a file.
[[nodiscard]] std::string set_in_words(const std::string& key, const std::string& file);

}  // namespace lockstep
