#!/bin/sh
# Installs the Debian/Ubuntu packages named in packages.txt that are not there yet; says which. Needs root for that only.
set -eu
here=$(dirname "$(readlink -f "$0")")
wanted=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$here/packages.txt")

command -v apt-get >/dev/null || {
  echo "install-packages: no apt-get here. The lab runs on Debian 12 or Ubuntu 22.04 and newer; elsewhere install by hand: $wanted" >&2
  exit 1
}
missing=
for package in $wanted; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
[ "$(id -u)" = 0 ] || {
  echo "install-packages: these packages are missing:$missing. Run as root (the lab needs root for its networks anyway)." >&2
  exit 1
}
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get -q -o Dpkg::Use-Pty=0 update >/dev/null
apt-cache show netavark >/dev/null 2>&1 || {
  echo "install-packages: this release has no netavark, so its podman is older than 4 and cannot give a host fixed addresses on two named interfaces. Use Debian 12, Ubuntu 24.04 or newer." >&2
  exit 1
}
# shellcheck disable=SC2086  # a list of words on purpose
apt-get -q -y -o Dpkg::Use-Pty=0 install --no-install-recommends $missing >/dev/null
