#include "import/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/yaml_text.hpp"

namespace lockstep::importing {

std::string whole_path(const std::string& shorthand) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kPrefixes{
      {{"T.", "workload.model.transformer."},
       {"E.", "workload.model.encoder_decoder."},
       {"F.", "workload.model.framework."},
       {"M.", "workload.model."},
       {"W.", "workload."},
       {"P.", "parallelism."}}};
  for (const auto& [prefix, whole] : kPrefixes) {
    if (shorthand.starts_with(prefix)) {
      return std::string{whole} + shorthand.substr(prefix.size());
    }
  }
  return shorthand;
}

const DraftKey* Draft::find(const std::string& path) const {
  const auto found = std::ranges::find(keys_, whole_path(path), &DraftKey::path);
  return found == keys_.end() ? nullptr : &*found;
}

std::string Draft::text(const std::string& path) const {
  const DraftKey* key = find(path);
  return key == nullptr ? "" : key->value.scalar;
}

double Draft::number(const std::string& path, double otherwise) const {
  const std::string said = text(path);
  double value = otherwise;
  const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), value);
  return error == std::errc{} ? value : otherwise;
}

void Draft::put(DraftKey key) {
  key.path = whole_path(key.path);
  names_by_place[to_string(key.value.at)] = key.key;
  const auto found = std::ranges::find(keys_, key.path, &DraftKey::path);
  if (found == keys_.end()) {
    keys_.push_back(std::move(key));
    return;
  }
  const std::string before = flow_text(found->value), now = flow_text(key.value);
  if (!found->is_assumed && !key.is_assumed && before != now) {
    remark(Remark::Kind::Conflict, {found->value.at, found->key},
           fmt::format("says {} {}, and {} of {} says {}, which counts", key.path, before, key.key,
                       to_string(key.value.at), now));
  }
  *found = std::move(key);
}

void Draft::set(const std::string& path, YamlNode value, const Source& source) {
  value.at = source.at;
  put({path, std::move(value), source.key, false});
}

void Draft::set(const std::string& path, const std::string& scalar, const Source& source) {
  set(path, yaml_node(YamlNode::Kind::Scalar, source.at, scalar), source);
}

void Draft::assume(const std::string& path, YamlNode value, const std::string& why) {
  value.at = {"assumed: " + why, 0, 0};
  put({path, std::move(value), "", true});
}

void Draft::assume(const std::string& path, const std::string& scalar, const std::string& why) {
  assume(path, yaml_node(YamlNode::Kind::Scalar, {}, scalar), why);
}

void Draft::drop(const std::string& path) {
  std::erase_if(keys_, [whole = whole_path(path)](const DraftKey& key) {
    return key.path == whole || key.path.starts_with(whole + ".");
  });
}

void Draft::remark(Remark::Kind kind, const Source& source, const std::string& why) {
  remarks_.push_back({kind, source.at, source.key, why});
}

}  // namespace lockstep::importing
