#include "ops/kernels/tile_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <vector>

namespace lockstep {
namespace {

constexpr double kTilesOfAnSm = 8;  // gone through; few rows: behind whole waves of heads

double heads_to_schedule(const RaggedTiles& tiles, double sms) {
  const double enough = kTilesOfAnSm * sms;
  if (tiles.rows > kTilesOfAnSm) {
    return std::min(tiles.heads, std::ceil(enough / tiles.rows));
  }
  const double waves = std::floor((tiles.heads * tiles.rows - enough) / (tiles.rows * sms));
  return tiles.heads - std::max(0.0, waves) * sms;
}

}  // namespace

double ragged_share(const RaggedTiles& tiles, int sms) {
  const double heads = heads_to_schedule(tiles, sms);
  std::priority_queue<double, std::vector<double>, std::greater<>> free{
      std::greater<>{}, std::vector<double>(static_cast<std::size_t>(sms), 0.0)};
  const double more = std::min(tiles.more, 2 * tiles.columns / tiles.rows);
  double last = 0;
  for (double head = 0; head < heads; ++head) {
    for (double row = 0; row < tiles.rows; ++row) {
      const double columns = tiles.columns + (row - (tiles.rows - 1) / 2) * more;
      const double end = free.top() + columns + tiles.once;
      free.pop();
      free.push(end);
      last = std::max(last, end);
    }
  }
  const double of_a_head = tiles.rows * (tiles.columns + tiles.once) / sms;
  return 1 + (last - heads * of_a_head) / (tiles.heads * of_a_head);
}

}  // namespace lockstep
