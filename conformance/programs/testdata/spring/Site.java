package site;

import java.util.HashMap;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** A website with the OAuth 2.0 client of Spring Boot, as its documentation shows it: only properties. */
@SpringBootApplication
@RestController
public class Site {
    public static void main(String[] arguments) {
        SpringApplication.run(Site.class, arguments);
    }

    @GetMapping("/")
    Map<String, Object> homepage(@AuthenticationPrincipal OidcUser user) {
        Map<String, Object> shown = new HashMap<>();
        shown.put("name", user.getFullName());
        shown.put("email", user.getEmail());
        shown.put("groups", user.getClaimAsStringList("groups"));
        return shown;
    }
}
