#include "ops/workload/compiled/residual_stream.hpp"

namespace lockstep {
namespace {

constexpr int kMostReads = 4;  // torch/_inductor/config.py, realize_reads_threshold

}  // namespace

ResidualStream::Traffic ResidualStream::normalised() {
  const int of_result = shape_.is_training && !shape_.spec.dropout ? 1 : 2;
  const double mask = shape_.mask_part(shape_.model);
  const int drawn = added_ - (drops_last_ ? 1 : 0);
  Traffic traffic{tensors_ + shape_.part(shape_.products) * added_ + mask * drawn,
                  shape_.part(shape_.products) + (shape_.is_training ? 1 : 0) + (drops_last_ ? mask : 0)};
  drops_last_ = false;
  if (buffers_ + added_ * of_result > kMostReads) {
    traffic.writes += 1;
    written();
  }
  return traffic;
}

}  // namespace lockstep
