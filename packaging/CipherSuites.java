import java.security.Security;
import java.util.TreeSet;
import javax.net.ssl.SSLContext;

/** Prints the release of this Java and every name that it takes for a cipher suite, one on a line.
 *  What java.security disables is taken all the same, and so is TLS_ for the SSL_ of a name: engines say so. */
public class CipherSuites {
    public static void main(String[] arguments) throws Exception {
        Security.setProperty("jdk.tls.disabledAlgorithms", "");
        var context = SSLContext.getDefault();
        var names = new TreeSet<String>();
        for (var name : context.getSupportedSSLParameters().getCipherSuites()) {
            names.add(name);
            var other = name.replaceFirst("^SSL_", "TLS_");
            try {
                context.createSSLEngine().setEnabledCipherSuites(new String[] {other});
                names.add(other);
            } catch (IllegalArgumentException none) {
                continue; // no name of it
            }
        }
        System.out.println(Runtime.version().feature());
        names.forEach(System.out::println);
    }
}
