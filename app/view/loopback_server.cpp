#include "app/view/loopback_server.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace lockstep {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

struct LoopbackServer::Socket {
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
};

namespace {

/// Browsers open connections that they may never use.
void give_up_after(tcp::socket& socket, int seconds) {
  const timeval limit{seconds, 0};
  (void)setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  (void)setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

FileAnswer answer_to(const http::request<http::empty_body>& request, const StaticFiles& files,
                     std::uint16_t port) {
  const std::string host{request[http::field::host]};
  if (host != fmt::format("127.0.0.1:{}", port) && host != fmt::format("localhost:{}", port)) {
    return {403, "text/plain; charset=utf-8", "this server answers on 127.0.0.1 only\n"};
  }
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    return {405, "text/plain; charset=utf-8", "files can be read only\n"};
  }
  return files.answer(std::string{request.target()});
}

/// Answers one request of a connection.
void answer(tcp::socket socket, const StaticFiles& files, std::uint16_t port) {
  constexpr int kPatience = 20;
  give_up_after(socket, kPatience);
  boost::system::error_code failed;
  boost::beast::flat_buffer buffer;
  http::request<http::empty_body> request;
  http::read(socket, buffer, request, failed);
  if (failed) {
    return;
  }
  FileAnswer found = answer_to(request, files, port);
  http::response<http::string_body> response{http::int_to_status(static_cast<unsigned>(found.status)), 11};
  response.set(http::field::content_type, found.type);
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.keep_alive(false);
  const std::size_t size = found.body.size();
  if (request.method() != http::verb::head) {
    response.body() = std::move(found.body);
  }
  response.content_length(size);
  http::write(socket, response, failed);
  socket.shutdown(tcp::socket::shutdown_send, failed);
}

}  // namespace

LoopbackServer::LoopbackServer(StaticFiles files, std::uint16_t port)
    : files_{std::make_shared<const StaticFiles>(std::move(files))}, socket_{std::make_unique<Socket>()} {
  const tcp::endpoint here{asio::ip::address_v4::loopback(), port};
  boost::system::error_code failed;
  socket_->acceptor.open(here.protocol());
  socket_->acceptor.set_option(tcp::acceptor::reuse_address{true});
  socket_->acceptor.bind(here, failed);
  if (failed) {
    throw InputError{{fmt::format("127.0.0.1:{}", port)},
                     "cannot be served: " + failed.message() + "; leave --port out for a free one"};
  }
  socket_->acceptor.listen();
}

LoopbackServer::~LoopbackServer() = default;

std::uint16_t LoopbackServer::port() const {
  return socket_->acceptor.local_endpoint().port();
}

void LoopbackServer::serve() {
  const std::uint16_t port = this->port();
  while (true) {
    boost::system::error_code failed;
    tcp::socket socket = socket_->acceptor.accept(failed);
    if (failed) {
      continue;
    }
    std::thread{[socket = std::move(socket), files = files_, port]() mutable {
      try {
        answer(std::move(socket), *files, port);
      } catch (const std::exception&) {  // a file that has gone meanwhile: the browser sees a lost connection
        return;
      }
    }}.detach();
  }
}

}  // namespace lockstep
