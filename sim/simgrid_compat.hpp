#pragma once

/// @file
/// The one file that differs between SimGrid 3.32 (Debian 12) and 4.x: what changed its name or signature.

#include <functional>
#include <string>

// version.h does not include what it needs, so the order matters.
// clang-format off
#include <simgrid/s4u.hpp>
#include <simgrid/instr.h>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/version.h>
// clang-format on

namespace lockstep::simgrid_compat {

namespace s4u = simgrid::s4u;

/// Calls @p callback when a communication completes. 3.34 split the signal by kind of activity.
inline void on_comm_completion(const std::function<void(const s4u::Comm&)>& callback) {
#if SIMGRID_VERSION >= 33400
  s4u::Comm::on_completion_cb(callback);
#else
  s4u::Activity::on_completion_cb([callback](const s4u::Activity& activity) {
    if (const auto* comm = dynamic_cast<const s4u::Comm*>(&activity)) {
      callback(*comm);
    }
  });
#endif
}

/// 3.34 merged vetoable_start() into start().
inline void start(s4u::Comm& comm) {
#if SIMGRID_VERSION >= 33400
  comm.start();
#else
  comm.vetoable_start();
#endif
}

inline s4u::Host* add_host(s4u::NetZone* zone, const std::string& name, double speed) {
#if SIMGRID_VERSION >= 40000
  return zone->add_host(name, speed);
#else
  return zone->create_host(name, speed);
#endif
}

inline s4u::Link* add_link(s4u::NetZone* zone, const std::string& name, double bandwidth) {
#if SIMGRID_VERSION >= 40000
  return const_cast<s4u::Link*>(zone->add_link(name, bandwidth));
#else
  return zone->create_link(name, bandwidth);
#endif
}

inline s4u::ActorPtr add_actor(const std::string& name, s4u::Host* host, const std::function<void()>& body) {
#if SIMGRID_VERSION >= 40100
  return host->add_actor(name, body);
#elif SIMGRID_VERSION >= 40000
  return s4u::Engine::get_instance()->add_actor(name, host, body);
#else
  return s4u::Actor::create(name, host, body);
#endif
}

/// Puts @p zone under the root: 4.x creates a root itself, 3.32 makes the first zone without a parent the
/// root.
template <class Zone>
s4u::NetZone* attach([[maybe_unused]] s4u::Engine& engine, Zone* zone) {
#if SIMGRID_VERSION >= 40000
  zone->set_parent(engine.get_netzone_root()->get_impl());
#endif
  return zone->get_iface();
}

inline void set_precision(const std::string& seconds) {
#if SIMGRID_VERSION >= 33400
  s4u::Engine::set_config("precision/timing:" + seconds);
#else
  s4u::Engine::set_config("surf/precision:" + seconds);
#endif
}

/// How closely SimGrid's sharing and its remaining work are known, as parts of a link's bandwidth and in
/// bytes.
inline void set_work_precision(const std::string& part) {
#if SIMGRID_VERSION >= 33400
  s4u::Engine::set_config("precision/work-amount:" + part);
#else
  s4u::Engine::set_config("maxmin/precision:" + part);
#endif
}

}  // namespace lockstep::simgrid_compat
