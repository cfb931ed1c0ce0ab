"""Wrong inventories: options of JVMs."""

from __future__ import annotations

from model.mistakes.base import BROKERS, SERVERS, Mistake, kafka, zookeeper

JMX = "-Dcom.sun.management.jmxremote"
OPTIONS = f"{BROKERS}/kafka_java_options"

MISTAKES: tuple[Mistake, ...] = (
    Mistake("HEAP_NOTATION", f"{BROKERS}/kafka_heap", "512m or 6g", variables=kafka(kafka_heap="2 GB")),
    Mistake(
        "BUFFERS_SMALL",
        f"{BROKERS}/kafka_java_options",
        "as much as the heap",
        variables=kafka(kafka_java_options=["-XX:MaxDirectMemorySize=1m"]),
    ),
    Mistake("HEAP_SMALL", f"{SERVERS}/zookeeper_heap", "512m or 6g", variables=zookeeper(zookeeper_heap="2048")),
    Mistake("OPTION_HEAP", OPTIONS, "set kafka_heap", variables=kafka(kafka_java_options=["-Xmx8g"])),
    Mistake("OPTION_COLLECTOR", OPTIONS, "kafka_gc_options", variables=kafka(kafka_java_options=["-XX:+UseZGC"])),
    Mistake(
        "OPTION_IDLE",
        f"{BROKERS}/kafka_gc_options",
        "remove it",
        variables=kafka(kafka_gc_options=["-XX:+UseZGC", "-XX:MaxGCPauseMillis=20", "-XX:G1HeapRegionSize=16m"]),
    ),
    Mistake(
        "OPTION_CLASS_PATH",
        OPTIONS,
        "remove it, and list the jars in kafka_class_path",
        variables=kafka(kafka_java_options=["-cp /opt/plugins/quota.jar"]),
    ),
    Mistake(
        "JMX_OPEN",
        OPTIONS,
        "host=127.0.0.1",
        variables=kafka(kafka_java_options=[f"{JMX}.port=9999", f"{JMX}.authenticate=false"]),
        inventory="stretch3",
    ),
    Mistake(
        "DEBUGGER_OPEN",
        f"{SERVERS}/zookeeper_java_options",
        "remove it",
        variables=zookeeper(zookeeper_java_options=["-agentlib:jdwp=transport=dt_socket,server=y,address=*:5005"]),
        inventory="stretch3",
    ),
    Mistake(
        "OPTION_SECRET",
        OPTIONS,
        "put the secret into a file",
        variables=kafka(kafka_java_options=["-Djavax.net.ssl.keyStorePassword=Guoph0Eeshi7"]),
        inventory="stretch3",
    ),
    Mistake(
        "JVM_PATH",
        OPTIONS,
        "use a folder below /var/lib/kafka",
        variables=kafka(kafka_java_options=["-Djava.io.tmpdir=/opt/kafka/tmp"]),
        inventory="stretch3",
    ),
    Mistake(
        "OPTION_UNKNOWN",
        f"{BROKERS}/kafka_gc_options",
        "the flag of an older Java release",
        variables=kafka(kafka_gc_options=["-XX:+UseConcMarkSweepGC"]),
    ),
    Mistake("OPTION_GONE", OPTIONS, "remove it", variables=kafka(kafka_java_options=["-XX:-UseBiasedLocking"])),
    Mistake(
        "OPTION_LOCKED",
        OPTIONS,
        "put -XX:+UnlockExperimentalVMOptions",
        variables=kafka(kafka_java_options=["-XX:G1NewSizePercent=10"]),
    ),
    Mistake(
        "OPTION_FORM",
        f"{SERVERS}/zookeeper_gc_options",
        "-XX:MaxGCPauseMillis=<number>",
        variables=zookeeper(zookeeper_gc_options=["-XX:+UseG1GC", "-XX:MaxGCPauseMillis=50ms"]),
    ),
    Mistake(
        "JAVA_NO_HOME",
        "group spark/java_executable",
        "java in its runtime",
        variables={"spark": {"java_executable": "/usr/local/bin/java21"}},
    ),
    Mistake(
        "JAVA_OLD",
        f"{BROKERS}/kafka_java_executable",
        "Java 17 or 21",
        variables=kafka(kafka_java_executable="/usr/lib/jvm/java-8-openjdk-amd64/bin/java"),
    ),
    Mistake(
        "JAVA_PACKAGE",
        f"{BROKERS}/java_package",
        "openjdk-17-jre-headless",
        variables=kafka(java_package="openjdk-8-jre-headless"),
    ),
)
