#!/usr/bin/env bash
# Installs the Debian package into a Debian 12 that has nothing else, and uses it there as five kinds of users would.
# Needs root, debootstrap and a way to a mirror of Debian; leaves nothing behind.
#
# Usage: packaging/try_package.sh PACKAGE.deb [MIRROR]
set -euo pipefail
package=$(realpath "${1:?usage: packaging/try_package.sh PACKAGE.deb [MIRROR]}")
mirror=${2:-http://deb.debian.org/debian}
tree=$(mktemp -d)

leave() {
  umount "$tree/proc" 2>/dev/null || true
  rm -rf --one-file-system "$tree"
}
trap leave EXIT

debootstrap --variant=minbase bookworm "$tree" "$mirror" >/dev/null
mount -t proc proc "$tree/proc"
cp /etc/resolv.conf "$tree/etc/"
cp "$package" "$tree/root/lockstep.deb"

chroot "$tree" /bin/bash -euo pipefail <<'USERS'
cd /root
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -qq -o APT::Sandbox::User=root -o Dpkg::Use-Pty=0)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends ./lockstep.deb >/dev/null
echo "installed with $(dpkg-query -W -f '${Installed-Size}' lockstep) KiB: $(lockstep --version)"

lockstep run dlrm_nvswitch -o answer >/dev/null            # sizing: an answer, a page, a timeline
test -s answer/report.html -a -s answer/timeline.json.gz
lockstep plan llama3_8b_fsdp -o plan >/dev/null            # the best plan
lockstep search dlrm_nvswitch -o shards >/dev/null         # sharding
lockstep topology dgx1v --svg machine.svg >/dev/null       # a machine
lockstep generate dlrm_nvswitch -o benchmark >/dev/null    # a small program
cp -r /usr/share/lockstep/scenarios/gpt2_8xa100 mine       # one's own scenario
(cd mine && lockstep run scenario.yaml -q >/dev/null)
lockstep validate mpt_fsdp_h100 --every 20 >/dev/null      # shipped measurements
test -s /usr/share/bash-completion/completions/lockstep
echo "eight journeys passed"
USERS
