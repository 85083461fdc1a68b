#include "import/words.hpp"

#include <fmt/format.h>

#include <string>

namespace lockstep::importing {
namespace {

bool fits(const Word& word, std::string_view key) {
  return word.key.ends_with('*') ? key.starts_with(word.key.substr(0, word.key.size() - 1)) : word.key == key;
}

void take(const Word& word, const Setting& setting, Draft& draft) {
  const std::string path{word.text};
  const Source source = source_of(setting);
  const bool on = turns_on(setting.value);
  switch (word.meaning) {
    case Meaning::Number:
      if (setting.value.kind != YamlNode::Kind::Null) {
        draft.set(path, std::to_string(whole_number_of(setting)), source);
      }
      return;
    case Meaning::Switch:
      if (on) {
        draft.set(path, "true", source);
      }
      return;
    case Meaning::Against:
      if (on) {
        draft.set(path, "false", source);
      }
      return;
    case Meaning::NoEffect:
      draft.remark(Remark::Kind::NoEffect, source);
      return;
    case Meaning::NotModelled:
      draft.remark(on ? Remark::Kind::NotModelled : Remark::Kind::NoEffect, source, path);
      return;
  }
}

}  // namespace

void apply(std::span<const Word> words, Settings& settings, Draft& draft) {
  for (const Setting* setting : settings.unused()) {
    bool is_known = false;
    for (const Word& word : words) {
      if (fits(word, setting->key)) {
        take(word, *setting, draft);
        is_known = true;
        break;
      }
    }
    if (!is_known) {
      draft.remark(Remark::Kind::Unknown, source_of(*setting));
    }
  }
}

}  // namespace lockstep::importing
