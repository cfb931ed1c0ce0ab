#!/bin/sh
# Installs the Debian/Ubuntu packages named in packages.txt that are not there yet; says which. Needs root for that
# only.
set -eu
here=$(dirname "$(readlink -f "$0")")
wanted=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$here/packages.txt")

refuse() {
  echo "install-packages: $1" >&2
  exit 1
}

command -v apt-get >/dev/null || {
  refuse "no apt-get here. The lab runs on Debian 12 or Ubuntu 22.04 and newer; elsewhere install by hand: $wanted"
}
missing=
for package in $wanted; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
[ "$(id -u)" = 0 ] || {
  refuse "these packages are missing:$missing. Run as root (the lab needs root for its networks anyway)."
}
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get -q -o Dpkg::Use-Pty=0 update >/dev/null
apt-cache show netavark >/dev/null 2>&1 || {
  reason="so its podman is older than 4 and cannot give a host fixed addresses on two named interfaces"
  refuse "this release has no netavark, $reason. Use Debian 12, Ubuntu 24.04 or newer."
}
case "$missing " in *" postgresql "*)
  # Tests start databases of their own: the package is not to leave one behind that runs and listens.
  apt-get -q -y -o Dpkg::Use-Pty=0 install --no-install-recommends postgresql-common >/dev/null
  sed -i -E 's/^#? *create_main_cluster *=.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf ;;
esac
# shellcheck disable=SC2086  # a list of words on purpose
apt-get -q -y -o Dpkg::Use-Pty=0 install --no-install-recommends $missing >/dev/null
