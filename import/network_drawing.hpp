#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/draft.hpp"

namespace lockstep::importing {

/// Switches and cables between them and nodes, as a file lists them.
struct Network {
  struct Cable {
    std::string from, to;  ///< names of switches
    int count = 1;
    std::string link;
    SourceLocation at;
  };
  struct Port {
    std::string host, leaf;
    std::string link;  ///< "": the node's own
    SourceLocation at;
  };
  std::map<std::string, SourceLocation> switches;
  std::vector<std::string> hosts;  ///< nodes, in the order of the file
  std::vector<Port> ports;         ///< the k-th of a host is its NIC k; host_has_ports false: all its NICs
  std::vector<Cable> cables;       ///< each pair once
  bool host_has_ports = true;
};

/// Draws it: switches with nodes are leaves, those above them spines, and those above spines alone cores.
/// Nodes are numbered in the order of hosts.
void draw(const Network& network, const std::string& origin, Draft& draft);

}  // namespace lockstep::importing
