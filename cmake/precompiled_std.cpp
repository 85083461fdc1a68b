/// @file
/// The target that owns the precompiled headers of all libraries; empty.
