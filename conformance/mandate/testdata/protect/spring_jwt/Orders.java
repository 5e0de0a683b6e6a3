import jakarta.servlet.DispatcherType;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.Authentication;
import org.springframework.security.oauth2.core.DelegatingOAuth2TokenValidator;
import org.springframework.security.oauth2.jwt.*;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.*;

@SpringBootConfiguration
@EnableAutoConfiguration
@RestController
public class Orders {
    static final String ISSUER = "https://auth.example.org/o";
    static final String API = "https://orders.example.org"; // the URI of the resource

    @Bean
    JwtDecoder decoder() {
        NimbusJwtDecoder decoder = NimbusJwtDecoder
            .withJwkSetUri(ISSUER + "/.well-known/jwks.json").validateType(false).build();
        decoder.setJwtValidator(new DelegatingOAuth2TokenValidator<>(
            new JwtTypeValidator("at+jwt"), new JwtIssuerValidator(ISSUER), new JwtTimestampValidator(),
            new JwtClaimValidator<Object>("exp", Objects::nonNull),
            new JwtClaimValidator<Object>("cnf", Objects::isNull),
            new JwtClaimValidator<List<String>>("aud", aud -> aud != null && aud.contains(API))));
        return decoder;
    }

    @Bean
    SecurityFilterChain rules(HttpSecurity http) throws Exception {
        http.authorizeHttpRequests(requests -> requests
            .dispatcherTypeMatchers(DispatcherType.ERROR).permitAll() // otherwise each error becomes 401
            .requestMatchers("/orders").hasAuthority("SCOPE_read").anyRequest().denyAll());
        return http.oauth2ResourceServer(server -> server.jwt(Customizer.withDefaults())).build();
    }

    @GetMapping("/orders")
    Map<String, Object> orders(Authentication token) {
        return Map.of("orders", List.of(), "of", token.getName());
    }

    public static void main(String[] args) {
        SpringApplication.run(Orders.class, args);
    }
}
