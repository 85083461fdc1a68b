/// @file
/// The target that owns the precompiled headers of all tests; empty.
