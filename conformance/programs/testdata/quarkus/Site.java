package site;

import io.quarkus.security.Authenticated;
import jakarta.inject.Inject;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import java.util.HashMap;
import java.util.Map;
import org.eclipse.microprofile.jwt.JsonWebToken;
import io.quarkus.oidc.IdToken;
import io.quarkus.security.identity.SecurityIdentity;

/** A website with the extension OpenID Connect of Quarkus, as its documentation shows a web-app: only properties. */
@Path("/")
@Authenticated
public class Site {
    @Inject
    @IdToken
    JsonWebToken idToken;

    @Inject
    SecurityIdentity identity;

    @GET
    public Map<String, Object> homepage() {
        Map<String, Object> shown = new HashMap<>();
        shown.put("name", idToken.getClaim("name"));
        shown.put("email", idToken.getClaim("email"));
        shown.put("groups", identity.getRoles());
        return shown;
    }
}
