import jakarta.servlet.DispatcherType;
import java.util.List;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.oauth2.core.OAuth2AuthenticatedPrincipal;
import org.springframework.security.oauth2.server.resource.introspection.*;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.*;

@SpringBootConfiguration
@EnableAutoConfiguration
@RestController
public class Orders {
    static final String ENDPOINT = "https://auth.example.org/o/introspect/";

    @Bean
    OpaqueTokenIntrospector introspector() {
        OpaqueTokenIntrospector ask = SpringOpaqueTokenIntrospector.withIntrospectionUri(ENDPOINT)
            .clientId(System.getenv("CLIENT_ID")).clientSecret(System.getenv("CLIENT_SECRET")).build();
        return sent -> {
            OAuth2AuthenticatedPrincipal token = ask.introspect(sent);
            if (!"Bearer".equals(token.getAttribute("token_type")) || token.getAttribute("cnf") != null) {
                throw new BadOpaqueTokenException("This is no bearer token.");
            }
            return token;
        };
    }

    @Bean
    SecurityFilterChain rules(HttpSecurity http) throws Exception {
        http.authorizeHttpRequests(requests -> requests
            .dispatcherTypeMatchers(DispatcherType.ERROR).permitAll() // otherwise each error becomes 401
            .requestMatchers("/orders").hasAuthority("SCOPE_read").anyRequest().denyAll());
        return http.oauth2ResourceServer(server -> server.opaqueToken(Customizer.withDefaults())).build();
    }

    @GetMapping("/orders")
    Map<String, Object> orders(@AuthenticationPrincipal OAuth2AuthenticatedPrincipal token) {
        return Map.of("orders", List.of(), "of", token.getAttribute("sub"));
    }

    public static void main(String[] args) {
        SpringApplication.run(Orders.class, args);
    }
}
