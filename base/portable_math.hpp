#pragma once

/// @file
/// Elementary functions from IEEE-754 additions, multiplications, divisions and square roots only: the same
/// bits on every machine, which the C library's do not promise. Relative error below 1e-14; not fast.

namespace lockstep {

/// Natural logarithm of a positive, finite, normal number.
double portable_log(double x);

/// e to the power of x, |x| < 700.
double portable_exp(double x);

/// The standard normal variate that is exceeded with probability 1 - p; 0 < p < 1.
/// Source: M. J. Wichura, Algorithm AS 241 (PPND16), Applied Statistics 37 (1988) 477-484; about 1e-16.
double normal_quantile(double p);

}  // namespace lockstep
