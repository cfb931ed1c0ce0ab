import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import kafka.metrics.KafkaCSVMetricsReporter;
import kafka.security.authorizer.AclAuthorizer;
import kafka.security.authorizer.AclAuthorizer$;
import kafka.server.DynamicBrokerConfig$;
import kafka.server.KafkaConfig;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;
import org.apache.kafka.common.metrics.JmxReporter;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.log.remote.storage.RemoteLogManagerConfig;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Prints as JSON the properties that the Kafka on the class path knows, {section: {name: {type, default, valid, ...}}}:
 * what its ConfigDefs define, and what classes read without one; a name that ends with a dot stands for all below it.
 * Where this version lacks a class or a constant, the compiler says which.
 */
public class KafkaDefinitions {
    static final Map<String, Map<String, Map<String, Object>>> SECTIONS = new LinkedHashMap<>();

    public static void main(String[] arguments) throws IOException {
        define("broker", KafkaConfig.configDef().configKeys());
        define("producer", ProducerConfig.configDef().configKeys());
        define("consumer", ConsumerConfig.configDef().configKeys());
        define("admin", AdminClientConfig.configDef().configKeys());
        for (String section : SECTIONS.keySet()) {
            String providers = AbstractConfig.CONFIG_PROVIDERS_CONFIG;
            add(section, "string", providers, providers + ".", CommonClientConfigs.METRICS_CONTEXT_PREFIX);
            add(section, "string", JmxReporter.RECONFIGURABLE_CONFIGS.toArray(String[]::new));
        }
        define("topic", LogConfig.configKeys());
        add("producer", "string", texts(StringSerializer.class, "(key\\.|value\\.)?serializer\\.encoding"));
        add("consumer", "string", texts(StringDeserializer.class, "(key\\.|value\\.)?deserializer\\.encoding"));
        Map<String, Map<String, Object>> broker = SECTIONS.get("broker");
        Map<String, String> modes = DynamicBrokerConfig$.MODULE$.dynamicConfigUpdateModes();
        modes.forEach((name, mode) -> broker.get(name).put("update", mode));
        pluginsOf(broker);
        for (String owner : List.of("server.config.KRaftConfigs", "raft.QuorumConfig")) {
            kraft(broker, "org.apache.kafka." + owner, List.of(arguments).contains("older"));
        }
        new ObjectMapper().writeValue(System.out, SECTIONS);
    }

    /** Older versions, which are only compared, have some of them in no such class: there it is left out. */
    static void kraft(Map<String, Map<String, Object>> broker, String owner, boolean older) {
        try {
            ConfigDef quorum = (ConfigDef) Class.forName(owner).getField("CONFIG_DEF").get(null);
            // What a server that runs with ZooKeeper reads all the same is not KRaft's alone.
            quorum.names().stream().filter(name -> !name.matches("node\\.id|zookeeper\\..*"))
                .forEach(name -> broker.get(name).put("kraft", true));
        } catch (ReflectiveOperationException missing) {
            if (!older) {
                throw new IllegalStateException(owner + " has no CONFIG_DEF any more", missing);
            }
        }
    }

    static void pluginsOf(Map<String, Map<String, Object>> broker) throws IOException {
        add("broker", "string", texts(KafkaCSVMetricsReporter.class, "kafka\\.csv\\.[\\w.]+"));
        add("broker", "string", RemoteLogManagerConfig.DEFAULT_REMOTE_STORAGE_MANAGER_CONFIG_PREFIX);
        add("broker", "string", RemoteLogManagerConfig.DEFAULT_REMOTE_LOG_METADATA_MANAGER_CONFIG_PREFIX);
        add("broker", "string", StandardAuthorizer.SUPER_USERS_CONFIG, AclAuthorizer.SuperUsersProp());
        add("broker", "boolean", StandardAuthorizer.ALLOW_EVERYONE_IF_NO_ACL_IS_FOUND_CONFIG);
        add("broker", "boolean", AclAuthorizer.AllowEveryoneIfNoAclIsFoundProp());
        // AclAuthorizer may have a ZooKeeper of its own: its names, and all of the TLS client's
        // (zkClientConfigFromKafkaConfigAndMap). What is not said of it is the broker's.
        String own = "zookeeper\\.(url|\\w+\\.timeout\\.ms|max\\.in\\.flight\\.requests)";
        var names = new TreeSet<>(List.of(texts(AclAuthorizer$.class, own)));
        broker.keySet().stream().filter(name -> name.matches("zookeeper\\.(ssl\\.|clientCnxn).*")).forEach(names::add);
        for (String name : names) {
            broker.put(AclAuthorizer.configPrefix() + name, broker.getOrDefault(name, Map.of("type", "string")));
        }
    }

    static void define(String section, Map<String, ConfigKey> keys) {
        Map<String, Map<String, Object>> specs = new LinkedHashMap<>();
        for (ConfigKey key : keys.values()) {
            Map<String, Object> spec = new LinkedHashMap<>();
            spec.put("type", key.type.name().toLowerCase());
            if (key.hasDefault() && key.defaultValue != null) {
                spec.put("default", plain(key.defaultValue));
            }
            spec.put("valid", key.validator == null ? "" : key.validator.toString());
            if (key.internalConfig) {
                spec.put("internal", true);
            }
            if (section.equals("broker")) {
                spec.put("update", "read-only");
            } else if (section.equals("topic")) {
                LogConfig.serverConfigName(key.name).ifPresent(server -> spec.put("server", server));
            }
            specs.put(key.name, spec);
        }
        SECTIONS.put(section, specs);
    }

    static Object plain(Object value) {
        if (value instanceof List<?> items) {
            return String.join(",", items.stream().map(item -> plain(item).toString()).toList());
        }
        return value instanceof Class<?> type ? type.getName() : value;
    }

    static void add(String section, String type, String... names) {
        for (String name : names) {
            SECTIONS.get(section).putIfAbsent(name, Map.of("type", type));
        }
    }

    /** The texts of a class that fit a pattern, where it has no public constant: class files hold them as they are. */
    static String[] texts(Class<?> owner, String pattern) throws IOException {
        try (var file = owner.getResourceAsStream("/" + owner.getName().replace('.', '/') + ".class")) {
            String code = new String(file.readAllBytes(), StandardCharsets.ISO_8859_1);
            var found = Pattern.compile(pattern).matcher(code).results().map(MatchResult::group).distinct().toList();
            if (found.isEmpty()) {
                throw new IllegalStateException(owner.getName() + " reads nothing any more that matches " + pattern);
            }
            return found.toArray(String[]::new);
        }
    }
}
