#!/bin/sh
# Builds the lab's image from the packages of this machine's own distribution and package sources, without a container
# registry, once per content hash (this folder + the release). Prints the image's name on the last line.
set -eu
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=/dev/null
. /etc/os-release
key=$(cd "$here" && { echo "$VERSION_CODENAME"; cat packages.txt customize.sh build.sh; } | sha256sum | cut -c1-12)
image=localhost/millrace-lab:$key

if ! podman image exists "$image"; then
  echo "building $image from the $VERSION_CODENAME packages of this machine's sources" >&2
  # shellcheck disable=SC2016  # apt's own placeholders
  sources=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v release="$VERSION_CODENAME" '$2 == release || index($2, release "-") == 1 {print "deb", $1, $2, $3}' | sort -u)
  [ -n "$sources" ] || {
    echo "build: no package source of release $VERSION_CODENAME is configured on this machine; run apt-get update" >&2
    exit 1
  }
  packages=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$here/packages.txt" | paste -sd,)
  tar=$(mktemp --suffix .tar)
  trap 'rm -f "$tar"' EXIT
  # Man pages stay: the Java package's install script needs their folders.
  echo "$sources" | mmdebstrap --quiet --variant=minbase --include="$packages" \
    --aptopt='Acquire::Languages "none"' --aptopt='APT::Install-Recommends "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook="sh $here/customize.sh \"\$1\"" "$VERSION_CODENAME" "$tar" - >&2
  podman import --quiet --change 'CMD ["/sbin/init"]' "$tar" "$image" >/dev/null
  # Images of earlier contents are dead weight of half a gigabyte each; one that a container still uses stays.
  podman image ls --format '{{.Repository}}:{{.Tag}}' --filter reference='localhost/millrace-lab' |
    grep -Fxv "$image" | xargs -r -n1 podman image rm >/dev/null 2>&1 || true
fi
echo "$image"
