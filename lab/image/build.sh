#!/bin/sh
# build.sh [RELEASE [PACKAGE...]]: builds the lab's image of a release (without, or '': this machine's own) of this
# machine's distribution, from its package sources, without a container registry, once per content hash (this folder +
# the release + what is named more, lab_packages of an inventory). Prints the image's name last.
set -eu
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=/dev/null
. /etc/os-release
release=${1:-$VERSION_CODENAME}
[ $# = 0 ] || shift
repository=localhost/millrace-lab-$release${1:+-more}
key=$(cd "$here" && { echo "$release${1:+ $*}"; cat packages.txt customize.sh build.sh; } | sha256sum | cut -c1-12)
image=$repository:$key

# Two labs made at once want one build.
exec 9>"/run/millrace-lab-image.lock"
podman image exists "$image" || flock -w 1800 9 || {
  echo "build: another process has held /run/millrace-lab-image.lock for half an hour: end it, and try again" >&2
  exit 1
}
if ! podman image exists "$image"; then
  echo "building $image from the $release packages of this machine's sources" >&2
  # shellcheck disable=SC2016  # apt's own placeholders
  sources=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v own="$VERSION_CODENAME" -v release="$release" '$2 == own || index($2, own "-") == 1 {
      print "deb", $1, release substr($2, length(own) + 1), $3}' | sort -u)
  [ -n "$sources" ] || {
    echo "build: no package source of release $VERSION_CODENAME is configured on this machine; run apt-get update" >&2
    exit 1
  }
  packages=$({ sed -e 's/#.*//' "$here/packages.txt"; printf '%s\n' "$@"; } | grep '[^[:space:]]' | paste -sd,)
  tar=$(mktemp --suffix .tar)
  trap 'rm -f "$tar"' EXIT
  # A database that is installed makes no data: the role postgresql does. Man pages stay: the Java package's install
  # script needs their folders.
  # shellcheck disable=SC2016  # the hooks' own argument
  echo "$sources" | mmdebstrap --quiet --variant=minbase --include="$packages" \
    --aptopt='Acquire::Languages "none"' --aptopt='APT::Install-Recommends "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --setup-hook='mkdir -p "$1/etc/postgresql-common/createcluster.d"' \
    --setup-hook='echo "create_main_cluster = false" >"$1/etc/postgresql-common/createcluster.d/lab.conf"' \
    --customize-hook="sh $here/customize.sh \"\$1\"" "$release" "$tar" - >&2
  podman import --quiet --change 'CMD ["/sbin/init"]' "$tar" "$image" >/dev/null
  # Images of earlier contents are dead weight of half a gigabyte each. One that a container still uses stays, and one
  # made within a day: another checkout may be about to use it.
  podman image ls --format '{{.Repository}}:{{.Tag}}' \
    --filter reference="$repository" --filter until=24h |
    grep -Fxv "$image" | xargs -r -n1 podman image rm >/dev/null 2>&1 || true
fi
echo "$image"
