#include "traces/replay/rebucket.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

#include "traces/replay/bucket_plan.hpp"
#include "traces/replay/bucket_rewrite.hpp"
#include "traces/replay/recorded_buckets.hpp"

namespace lockstep::replay {
namespace {

/// Time of a transfer by its bytes: through what was recorded.
class TransferLine {
 public:
  void add(double bytes, double seconds) {
    ++count_;
    bytes_ += bytes;
    seconds_ += seconds;
    squares_ += bytes * bytes;
    products_ += bytes * seconds;
  }
  [[nodiscard]] Seconds at(double bytes) const {
    const double spread = count_ * squares_ - bytes_ * bytes_;
    const double slope = spread > 0 ? (count_ * products_ - bytes_ * seconds_) / spread : 0;
    const double latency = (seconds_ - slope * bytes_) / count_;
    return slope > 0 && latency >= 0 ? Seconds{latency + slope * bytes} : Seconds{seconds_ / bytes_ * bytes};
  }

 private:
  double count_ = 0, bytes_ = 0, seconds_ = 0, squares_ = 0, products_ = 0;
};

/// A bucket of all members of a group.
struct SharedBucket {
  std::vector<RecordedBucket> of_member;
  bool begins_series = false;
};

struct GroupBuckets {
  std::vector<std::uint32_t> members;  // traces
  std::vector<SharedBucket> buckets;
};

/// Members that show other gradients than the first: then the bucket cannot be cut.
void make_alike(SharedBucket& bucket) {
  const std::size_t gradients = bucket.of_member.front().gradients.size();
  const bool alike = std::ranges::all_of(
      bucket.of_member, [&](const RecordedBucket& one) { return one.gradients.size() == gradients; });
  for (RecordedBucket& one : bucket.of_member) {
    if (!alike) {
      one.gradients = {one.gradients.back()};
      one.gradients.front().weight = 1;
    }
  }
}

class Rebucketing {
 public:
  Rebucketing(const Replay& replay, const BucketEdit& edit) : replay_{replay}, edit_{edit} {
    made_.job = replay.job;
    for (std::size_t i = 0; i < replay.ranks.size(); ++i) {
      programs_.push_back(*replay.job.programs[i]);
      made_.subjects.push_back(replay.programs[i].subjects);
      buckets_.push_back(find_buckets(replay.ranks[i], replay.programs[i], programs_.back()));
    }
    rewrites_.resize(programs_.size());
  }

  Rebucketed run() && {
    std::vector<GroupBuckets> groups;
    for (std::uint32_t group = 0; group < replay_.job.groups.size(); ++group) {
      if (replay_.job.groups[group].ranks.front() < programs_.size()) {  // else a copy of one before
        groups.push_back(shared(group));
      }
    }
    std::ranges::for_each(groups, [this](const GroupBuckets& group) { learn(group); });
    std::ranges::for_each(groups, [this](const GroupBuckets& group) { rewrite(group); });
    if (made_.recorded == 0) {
      throw std::invalid_argument{
          "no all-reduce of gradients was recorded with its partners: ranges of autograd's AccumulateGrad "
          "with all-reduces in them are looked for; of one trace of many ranks say 'ranks' and 'cluster'"};
    }
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      rewrites_[i].apply(programs_[i], made_.subjects[i]);
      made_.job.programs[i] = std::make_shared<const Program>(std::move(programs_[i]));
    }
    return std::move(made_);
  }

 private:
  /// Finds the buckets that the members of a group share: their k-th calls are one collective.
  GroupBuckets shared(std::uint32_t number) const {
    GroupBuckets group;
    std::map<std::uint32_t, SharedBucket> by_place;  // among the calls of the group
    for (const std::uint32_t rank : replay_.job.groups[number].ranks) {
      if (rank >= programs_.size()) {
        continue;
      }
      group.members.push_back(rank);
      const auto places = places_in(rank, number);
      for (const RecordedBucket& bucket : buckets_[rank]) {
        if (const auto place = places.find(bucket.call); place != places.end()) {
          SharedBucket& common = by_place[place->second];
          common.of_member.push_back(bucket);
          common.begins_series = common.begins_series || bucket.begins_series;
        }
      }
    }
    bool begins = true;
    for (auto& [place, bucket] : by_place) {
      begins = begins || bucket.begins_series;
      if (bucket.of_member.size() == group.members.size()) {
        bucket.begins_series = std::exchange(begins, false);
        make_alike(bucket);
        group.buckets.push_back(std::move(bucket));
      }
    }
    return group;
  }

  /// The place of each call of the rank among the group's.
  [[nodiscard]] std::map<std::uint32_t, std::uint32_t> places_in(std::uint32_t rank,
                                                                 std::uint32_t group) const {
    std::map<std::uint32_t, std::uint32_t> places;
    const auto& calls = programs_[rank].collectives;
    for (std::uint32_t call = 0; call < calls.size(); ++call) {
      if (replay_.job.ranks[rank].groups[calls[call].group] == group) {
        places.emplace(call, static_cast<std::uint32_t>(places.size()));
      }
    }
    return places;
  }

  /// The call of the group's first member.
  [[nodiscard]] const CollectiveCall& call_of(const GroupBuckets& group, const SharedBucket& bucket) const {
    return programs_[group.members.front()].collectives[bucket.of_member.front().call];
  }

  void learn(const GroupBuckets& group) {
    for (const SharedBucket& bucket : group.buckets) {
      const CollectiveCall& call = call_of(group, bucket);
      if (!(call.size > Bytes{0})) {
        throw std::invalid_argument{
            "the traces do not say the sizes of their all-reduces: give 'execution_traces', or the machine "
            "('cluster'), on which the time tells the size"};
      }
      if (call.recorded) {
        line_.add(call.size.in_base_units(), call.recorded->in_base_units());
      }
    }
  }

  void rewrite(const GroupBuckets& group) {
    const auto& buckets = group.buckets;
    for (std::size_t first = 0; first < buckets.size();) {
      std::size_t last = first + 1;
      while (last < buckets.size() && !buckets[last].begins_series) {
        ++last;
      }
      rewrite(group, std::span{buckets}.subspan(first, last - first));
      first = last;
    }
  }

  void rewrite(const GroupBuckets& group, std::span<const SharedBucket> series) {
    std::vector<PlannedGradient> gradients;
    for (std::size_t i = 0; i < series.size(); ++i) {
      const auto& own = series[i].of_member.front().gradients;
      double weights = 0;
      for (const RecordedGradient& gradient : own) {
        weights += gradient.weight;
      }
      const double bytes = call_of(group, series[i]).size.in_base_units();
      for (const RecordedGradient& gradient : own) {
        gradients.push_back({i, bytes * gradient.weight / weights});
      }
      made_.bytes += bytes;
    }
    const std::vector<PlannedBucket> plan = plan_buckets(gradients, edit_);
    made_.recorded += series.size();
    made_.made += plan.size();
    for (std::size_t member = 0; member < group.members.size(); ++member) {
      std::vector<RecordedBucket> recorded;
      for (const SharedBucket& bucket : series) {
        recorded.push_back(bucket.of_member[member]);
      }
      rewrite(group.members[member], recorded, plan);
    }
  }

  void rewrite(std::uint32_t rank, std::span<const RecordedBucket> recorded,
               std::span<const PlannedBucket> plan) {
    std::vector<CollectiveCall> calls;
    for (const PlannedBucket& bucket : plan) {
      CollectiveCall call = programs_[rank].collectives[recorded.front().call];
      call.size = Bytes{bucket.bytes};
      call.send_bytes.clear();
      if (call.recorded) {
        call.recorded = line_.at(bucket.bytes);
      }
      calls.push_back(std::move(call));
    }
    rewrites_[rank].replace(programs_[rank], {recorded, plan, calls});
  }

  const Replay& replay_;
  const BucketEdit& edit_;
  Rebucketed made_;
  std::vector<Program> programs_;                     // by trace
  std::vector<std::vector<RecordedBucket>> buckets_;  // by trace
  std::vector<BucketRewrite> rewrites_;               // by trace
  TransferLine line_;
};

}  // namespace

Rebucketed rebucketed(const Replay& replay, const BucketEdit& edit) {
  return Rebucketing{replay, edit}.run();
}

}  // namespace lockstep::replay
