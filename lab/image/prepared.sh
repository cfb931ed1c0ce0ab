#!/bin/bash
# prepared.sh GROUP...: the lab's image with the archives and environments of these groups (kafka, zookeeper, spark)
# installed, as the roles install them; a lab of it (lab/create.yml -e lab_image=NAME) converges sooner, and site.yml
# finds everything installed, brokers' class data included. Made once for each base image, set of archives and install
# steps. Prints the image's name on the last line. What tests installing starts bare.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
cd "$here/../.."
declare -A archives=([kafka]='kafka_*' [zookeeper]='apache-zookeeper-*' [spark]='spark-* millrace_jobs-*')
declare -A roles=([kafka]=kafka [zookeeper]=zookeeper [spark]=spark_job)

# One at a time on this machine: checkouts with the same archives want one image.
exec 9>/run/millrace-lab-prepared.lock
flock -w 1800 9 || {
  echo "prepared: another process has held /run/millrace-lab-prepared.lock for half an hour: end it, and try again" >&2
  exit 1
}
base=$("$here/build.sh" | tail -n 1)
sources=("$here/prepared.yml" roles/archive/tasks/main.yml plugins/modules/install_archives.py)
for group in "$@"; do
  for pattern in ${archives[$group]}; do
    mapfile -t -O "${#sources[@]}" sources < <(compgen -G ".build/archives/$pattern.sha512")
  done
  sources+=("roles/${roles[$group]}"/{tasks/install,defaults/main}.yml)
  mapfile -t -O "${#sources[@]}" sources < <(find "roles/${roles[$group]}/vars" -name '*.yml' | sort)
done
sources+=(roles/kafka/templates/{class-data.sh,log4j.properties}.j2)
key=$({ echo "$base $*"; cat "${sources[@]}"; } | sha256sum | cut -c1-12)
image=localhost/millrace-lab-prepared:$key

if ! podman image exists "$image"; then
  echo "building $image from $base with $*" >&2
  container=millrace-prepare-$key
  groups=$(printf '"%s",' "$@" | sed 's/,$//')
  remove() { podman rm -f -t 0 --ignore "$container" >/dev/null 9>&-; }
  trap remove EXIT
  # FROM STEP TO: runs one step in a container of an image, and keeps what it made as another.
  make() {
    remove
    podman run -d --name "$container" --network none \
      --ulimit nofile=4096:4096 --ulimit nproc=30000:30000 \
      ${MILLRACE_LAB_CGROUP:+--cgroup-parent "$MILLRACE_LAB_CGROUP"} \
      "$1" sleep infinity >/dev/null 9>&-   # what stays of podman would hold the lock
    ansible-playbook -i inventories/lab lab/image/prepared.yml --tags "$2" \
      -e "lab_container=$container" -e "{\"lab_groups\": [$groups]}" >&2
    podman commit --quiet --change 'CMD ["/sbin/init"]' "$container" "$3" >/dev/null
  }
  case " $* " in
    *" kafka "*) # in two steps: Java wants the jars in the order in which hosts see them
      make "$base" install "$image-installed"
      make "$image-installed" class_data "$image"
      ;;
    *) make "$base" install "$image" ;;
  esac
  # Those of earlier contents, unless something still uses them.
  podman image ls --format '{{.Repository}}:{{.Tag}}' \
    --filter reference=localhost/millrace-lab-prepared --filter until=24h |
    grep -Fxv "$image" | xargs -r -n1 podman image rm >/dev/null 2>&1 || true
fi
echo "$image"
