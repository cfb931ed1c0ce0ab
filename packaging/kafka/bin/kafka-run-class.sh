#!/bin/sh
# Runs one main class on the archive's libraries. Every other script here is one line that calls this one.
# usage: kafka-run-class.sh [--profile tool|load|connect|server] CLASS [ARGUMENT...]
# environment: JAVA_HOME CLASSPATH KAFKA_HEAP_OPTS KAFKA_JVM_PERFORMANCE_OPTS KAFKA_LOG4J_OPTS KAFKA_JMX_OPTS KAFKA_OPTS
set -efu

home=$(dirname "$(dirname "$(readlink -f "$0")")")
profile=tool
if [ "${1-}" = --profile ] && [ $# -ge 2 ]; then
  profile=$2
  shift 2
fi
if [ "${1---help}" = --help ]; then
  echo "usage: ${0##*/} [--profile tool|load|connect|server] CLASS [ARGUMENT...]" >&2
  exit 2
fi

long_running="-XX:+UseG1GC -XX:+ExitOnOutOfMemoryError"
case $profile in
  tool) heap=-Xmx256m log=tools-log4j flags="-XX:+UseSerialGC -XX:TieredStopAtLevel=1" ;; # starts fast, ends soon
  load) heap=-Xmx512m log=tools-log4j flags=$long_running ;;                              # measures: the full compiler
  connect) heap="-Xms256m -Xmx2g" log=connect-log4j flags=$long_running ;;
  server) heap="-Xms1g -Xmx1g" log=log4j flags=$long_running ;;
  *)
    echo "${0##*/}: no profile named '$profile'; there are tool, load, connect and server" >&2
    exit 2
    ;;
esac

java=${JAVA_HOME:+$JAVA_HOME/bin/}java
if ! command -v "$java" >/dev/null; then
  echo "${0##*/}: $java was not found: install a Java runtime (17 is tested) or set JAVA_HOME to one" >&2
  exit 127
fi

# The options go behind the class and its arguments, then those move behind the options: so both keep their order,
# and a later option (KAFKA_OPTS) wins over an earlier one.
count=$#
for option in ${KAFKA_HEAP_OPTS-$heap} ${KAFKA_JVM_PERFORMANCE_OPTS-$flags} -Djava.awt.headless=true; do
  set -- "$@" "$option"
done
if [ -z "${KAFKA_LOG4J_OPTS-}" ]; then
  set -- "$@" "-Dlog4j.configuration=file:$home/config/$log.properties"
fi
for option in ${KAFKA_LOG4J_OPTS-} ${KAFKA_JMX_OPTS-} ${KAFKA_OPTS-}; do
  set -- "$@" "$option"
done
set -- "$@" -cp "${CLASSPATH:+$CLASSPATH:}$home/libs/*"
while [ "$count" -gt 0 ]; do
  set -- "$@" "$1"
  shift
  count=$((count - 1))
done
exec "$java" "$@"
