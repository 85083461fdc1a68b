#pragma once

#include <cstdint>
#include <memory>

#include "app/view/static_files.hpp"

namespace lockstep {

/// An HTTP server on 127.0.0.1 for one folder, read only. A request whose Host is another name is refused, so
/// that no page of the web can read the folder through a name that leads here.
class LoopbackServer {
 public:
  /// @param port 0: any that is free
  /// @throws InputError where the port cannot be had
  LoopbackServer(StaticFiles files, std::uint16_t port);
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;

  /// Serves until the process ends.
  [[noreturn]] void serve();

 private:
  struct Socket;
  std::shared_ptr<const StaticFiles> files_;
  std::unique_ptr<Socket> socket_;
};

}  // namespace lockstep
