#include <nlohmann/json.hpp>

#include "app/profile_listing.hpp"

namespace lockstep {

std::string listing_json(const ProfileListing& listing) {
  using Json = nlohmann::ordered_json;
  Json json{{"kind", listing.kind}, {"name", listing.name}, {"source", listing.source}};
  if (!listing.remark.empty()) json["remark"] = listing.remark;
  json["numbers"] = Json::array();
  for (const ListedNumber& number : listing.numbers) {
    Json row{{"key", number.key},
             {"value", number.value},
             {"origin", number.origin},
             {"provenance", name_of(number.evidence.is)},
             {"source", number.evidence.source}};
    if (number.evidence.error) {
      row["error"] = *number.evidence.error;
    }
    if (number.evidence.machines) {
      row["machines"] = *number.evidence.machines;
    }
    if (!number.evidence.range.empty()) {
      row["range"] = number.evidence.range;
    }
    json["numbers"].push_back(std::move(row));
  }
  for (const ListedKernel& kernel : listing.kernels) {
    json["kernel_models"].push_back({{"work", kernel.work},
                                     {"model", kernel.model},
                                     {"provenance", name_of(kernel.provenance)},
                                     {"band", kernel.band}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
