#include "base/portable_math.hpp"

#include <array>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kLn2 = 0.693147180559945309417;

/// c[0] + c[1] x + ... by Horner's rule.
template <std::size_t N>
double polynomial(const std::array<double, N>& c, double x) {
  double sum = 0;
  for (std::size_t i = N; i-- > 0;) {
    sum = sum * x + c[i];
  }
  return sum;
}

// The coefficients of AS 241, by region: the centre, the tail, the far tail.
constexpr std::array<double, 8> kCentreOver{
    3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
    4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr std::array<double, 8> kCentreUnder{1.0,
                                             4.2313330701600911252e+1,
                                             6.8718700749205790830e+2,
                                             5.3941960214247511077e+3,
                                             2.1213794301586595867e+4,
                                             3.9307895800092710610e+4,
                                             2.8729085735721942674e+4,
                                             5.2264952788528545610e+3};
constexpr std::array<double, 8> kTailOver{1.42343711074968357734e0,  4.63033784615654529590e0,
                                          5.76949722146069140550e0,  3.64784832476320460504e0,
                                          1.27045825245236838258e0,  2.41780725177450611770e-1,
                                          2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr std::array<double, 8> kTailUnder{1.0,
                                           2.05319162663775882187e0,
                                           1.67638483018380384940e0,
                                           6.89767334985100004550e-1,
                                           1.48103976427480074590e-1,
                                           1.51986665636164571966e-2,
                                           5.47593808499534494600e-4,
                                           1.05075007164441684324e-9};
constexpr std::array<double, 8> kFarOver{6.65790464350110377720e0,  5.46378491116411436990e0,
                                         1.78482653991729133580e0,  2.96560571828504891230e-1,
                                         2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                         2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr std::array<double, 8> kFarUnder{1.0,
                                          5.99832206555887937690e-1,
                                          1.36929880922735805310e-1,
                                          1.48753612908506148525e-2,
                                          7.86869131145613259100e-4,
                                          1.84631831751005468180e-5,
                                          1.42151175831644588870e-7,
                                          2.04426310338993978564e-15};

}  // namespace

double portable_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact
  if (mantissa < 0.70710678118654752440) {
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 artanh z with |z| < 0.1716: the 13th term is below 1e-20.
  const double z = (mantissa - 1) / (mantissa + 1);
  double power = z;
  double sum = 0;
  for (int k = 1; k <= 25; k += 2) {
    sum += power / k;
    power *= z * z;
  }
  return 2 * sum + exponent * kLn2;
}

double portable_exp(double x) {
  const double halvings = std::floor(x / kLn2 + 0.5);
  const double rest = x - halvings * kLn2;  // |rest| < 0.35: the 18th term is below 1e-22
  double term = 1;
  double sum = 1;
  for (int k = 1; k <= 18; ++k) {
    term *= rest / k;
    sum += term;
  }
  return std::ldexp(sum, static_cast<int>(halvings));  // exact
}

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kCentreOver, r) / polynomial(kCentreUnder, r);
  }
  const double r = std::sqrt(-portable_log(q < 0 ? p : 1 - p));
  const double size = r <= 5 ? polynomial(kTailOver, r - 1.6) / polynomial(kTailUnder, r - 1.6)
                             : polynomial(kFarOver, r - 5) / polynomial(kFarUnder, r - 5);
  return q < 0 ? -size : size;
}

}  // namespace lockstep
