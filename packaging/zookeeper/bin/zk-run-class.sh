#!/bin/sh
# Runs one main class on the archive's libraries. Every other script here is one line that calls this one.
# usage: zk-run-class.sh CLASS [ARGUMENT...]
# environment: JAVA_HOME CLASSPATH ZK_CLIENT_HEAP (MB) CLIENT_JVMFLAGS JVMFLAGS
set -efu

home=$(dirname "$(dirname "$(readlink -f "$0")")")
if [ "${1---help}" = --help ]; then
  echo "usage: ${0##*/} CLASS [ARGUMENT...]" >&2
  exit 2
fi

java=${JAVA_HOME:+$JAVA_HOME/bin/}java
if ! command -v "$java" >/dev/null; then
  echo "${0##*/}: $java was not found: install a Java runtime (17 is tested) or set JAVA_HOME to one" >&2
  exit 127
fi

# The options go behind the class and its arguments, then those move behind the options: so both keep their order,
# and a later option (JVMFLAGS) wins over an earlier one.
count=$#
set -- "$@" "-Xmx${ZK_CLIENT_HEAP:-256}m" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.awt.headless=true \
  "-Dlogback.configurationFile=$home/conf/logback-tools.xml"
for option in ${CLIENT_JVMFLAGS-} ${JVMFLAGS-}; do
  set -- "$@" "$option"
done
set -- "$@" -cp "${CLASSPATH:+$CLASSPATH:}$home/conf:$home/lib/*"
while [ "$count" -gt 0 ]; do
  set -- "$@" "$1"
  shift
  count=$((count - 1))
done
exec "$java" "$@"
