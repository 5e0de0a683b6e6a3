import static java.nio.charset.StandardCharsets.UTF_8;

import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.nimbusds.oauth2.sdk.AuthorizationCodeGrant;
import com.nimbusds.oauth2.sdk.AuthorizationGrant;
import com.nimbusds.oauth2.sdk.AuthorizationRequest;
import com.nimbusds.oauth2.sdk.AuthorizationResponse;
import com.nimbusds.oauth2.sdk.ClientCredentialsGrant;
import com.nimbusds.oauth2.sdk.ErrorObject;
import com.nimbusds.oauth2.sdk.PushedAuthorizationRequest;
import com.nimbusds.oauth2.sdk.PushedAuthorizationResponse;
import com.nimbusds.oauth2.sdk.RefreshTokenGrant;
import com.nimbusds.oauth2.sdk.ResponseMode;
import com.nimbusds.oauth2.sdk.ResponseType;
import com.nimbusds.oauth2.sdk.Scope;
import com.nimbusds.oauth2.sdk.TokenRequest;
import com.nimbusds.oauth2.sdk.TokenResponse;
import com.nimbusds.oauth2.sdk.auth.JWTAuthenticationClaimsSet;
import com.nimbusds.oauth2.sdk.auth.PrivateKeyJWT;
import com.nimbusds.oauth2.sdk.dpop.DPoPProofFactory;
import com.nimbusds.oauth2.sdk.dpop.DefaultDPoPProofFactory;
import com.nimbusds.oauth2.sdk.http.HTTPRequest;
import com.nimbusds.oauth2.sdk.http.HTTPResponse;
import com.nimbusds.oauth2.sdk.id.Audience;
import com.nimbusds.oauth2.sdk.id.ClientID;
import com.nimbusds.oauth2.sdk.id.State;
import com.nimbusds.oauth2.sdk.jarm.JARMValidator;
import com.nimbusds.oauth2.sdk.pkce.CodeChallengeMethod;
import com.nimbusds.oauth2.sdk.pkce.CodeVerifier;
import com.nimbusds.oauth2.sdk.token.DPoPAccessToken;
import com.nimbusds.oauth2.sdk.token.RefreshToken;
import com.nimbusds.oauth2.sdk.util.JSONObjectUtils;
import com.nimbusds.openid.connect.sdk.AuthenticationRequest;
import com.nimbusds.openid.connect.sdk.Nonce;
import com.nimbusds.openid.connect.sdk.OIDCTokenResponse;
import com.nimbusds.openid.connect.sdk.OIDCTokenResponseParser;
import com.nimbusds.openid.connect.sdk.UserInfoRequest;
import com.nimbusds.openid.connect.sdk.UserInfoResponse;
import com.nimbusds.openid.connect.sdk.op.OIDCProviderMetadata;
import com.nimbusds.openid.connect.sdk.validators.IDTokenValidator;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.Date;
import java.util.HashMap;
import java.util.Map;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;
import net.minidev.json.JSONArray;
import net.minidev.json.JSONObject;

/**
 * A client written with the OAuth 2.0 SDK of Nimbus. It authenticates by private_key_jwt, pushes its requests, and has tokens
 * that are bound to a key.
 *
 * <p>Each line of standard input is one step, a JSON object, and is answered by one line, a JSON object too. The steps, their
 * parameters and their answers are those of testdata/node/client.mjs: authorize with "object", callback, refresh,
 * client_credentials, userinfo and get, all with "oidc", "jwk", "kid", "dpop" and "tls", and some with "jarm" and "algorithm", that of what the server signs.
 */
final class Client {
    /** The key of the proofs of a client, and the last nonce of each server. */
    private record Proofs(DPoPProofFactory factory, Map<String, Nonce> nonces) {}

    /** A request as the SDK makes it. */
    private interface Request {
        HTTPRequest make() throws Exception;
    }

    /** The server has refused a request. */
    private static final class Refused extends Exception {
        final transient ErrorObject error;

        Refused(ErrorObject error) {
            super(error.getDescription());
            this.error = error;
        }
    }

    private static final Map<String, Proofs> ALL = new HashMap<>();

    private final JSONObject input;
    private final JSONArray requests = new JSONArray();
    private final SSLSocketFactory sockets;
    private final OIDCProviderMetadata server;
    private final ClientID id;
    private final ECKey key;
    private final Proofs proofs;

    private Client(JSONObject input) throws Exception {
        this.input = input;
        id = new ClientID(text("client_id"));
        key = ECKey.parse(JSONObjectUtils.getJSONObject(input, "jwk"));
        sockets = trusting(JSONObjectUtils.getJSONObject(input, "tls").getAsString("ca"));
        if (!ALL.containsKey(text("dpop"))) {
            var factory = new DefaultDPoPProofFactory(new ECKeyGenerator(Curve.P_256).generate(), JWSAlgorithm.ES256);
            ALL.put(text("dpop"), new Proofs(factory, new HashMap<>()));
        }
        proofs = ALL.get(text("dpop"));
        server = OIDCProviderMetadata.parse(read(URI.create(text("issuer") + "/.well-known/openid-configuration")));
    }

    private String text(String name) {
        return input.getAsString(name);
    }

    private static SSLSocketFactory trusting(String certificate) throws Exception {
        var store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        var file = new ByteArrayInputStream(certificate.getBytes(UTF_8));
        store.setCertificateEntry("server", CertificateFactory.getInstance("X.509").generateCertificate(file));
        var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        var context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context.getSocketFactory();
    }

    private JSONObject read(URI address) throws Exception {
        return new HTTPRequest(HTTPRequest.Method.GET, address).send(null, sockets).getBodyAsJSONObject();
    }

    /**
     * Sends a request with a proof. The SDK repeats nothing, so this repeats what was refused for want of a nonce. The request is
     * made anew, because its client assertion works once.
     */
    private HTTPResponse send(DPoPAccessToken token, Request made) throws Exception {
        HTTPResponse response = null;
        for (int tries = 0; tries < 2; tries++) {
            var request = made.make();
            var address = request.getURI();
            // The authorization server and the API have nonces of their own, also at one host.
            var from = address.getAuthority() + (address.getPath().startsWith("/o/") ? " server" : " API");
            var method = request.getMethod().name();
            request.setDPoP(proofs.factory.createDPoPJWT(method, address, token, proofs.nonces.get(from)));
            response = request.send(null, sockets);
            requests.add(method + " " + address.getPath() + " " + response.getStatusCode());
            if (response.getDPoPNonce() != null) {
                proofs.nonces.put(from, response.getDPoPNonce());
            }
            if (!wantsNonce(response)) {
                break;
            }
        }
        return response;
    }

    /** RFC 9449 §8 and §9: the error is in the body, or in a challenge, which need not be the first. */
    private static boolean wantsNonce(HTTPResponse response) throws Exception {
        if (response.getStatusCode() == 400) {
            return "use_dpop_nonce".equals(response.getBodyAsJSONObject().getAsString("error"));
        }
        var challenges = response.getHeaderValues("WWW-Authenticate");
        return challenges != null && challenges.stream().anyMatch(one -> one.contains("error=\"use_dpop_nonce\""));
    }

    private PrivateKeyJWT assertion() throws Exception {
        var claims = new JWTAuthenticationClaimsSet(id, new Audience(server.getIssuer()));
        return new PrivateKeyJWT(claims, JWSAlgorithm.ES256, key.toECPrivateKey(), text("kid"), null);
    }

    private JSONObject authorize() throws Exception {
        var verifier = new CodeVerifier();
        var state = new State();
        var builder = new AuthenticationRequest.Builder(
                        ResponseType.CODE, Scope.parse(text("scope")), id, URI.create(text("redirect_uri")))
                .state(state)
                .nonce(new Nonce(JSONObjectUtils.getJSONObject(input, "parameters").getAsString("nonce")))
                .codeChallenge(verifier, CodeChallengeMethod.S256);
        if (input.containsKey("jarm")) {
            builder.responseMode(ResponseMode.JWT);
        }
        AuthorizationRequest request = builder.build();
        if (input.containsKey("object")) {
            var header = new JWSHeader.Builder(JWSAlgorithm.ES256).keyID(text("kid")).type(new JOSEObjectType("oauth-authz-req+jwt"));
            var claims = new JWTClaimsSet.Builder(request.toJWTClaimsSet()).issuer(id.getValue()).audience(server.getIssuer().getValue());
            var object = new SignedJWT(header.build(), timed(claims));
            object.sign(new ECDSASigner(key));
            request = new AuthorizationRequest.Builder(object, id).build();
        }
        var pushed = request;
        var response = PushedAuthorizationResponse.parse(send(
                null,
                () -> new PushedAuthorizationRequest(server.getPushedAuthorizationRequestEndpointURI(), assertion(), pushed)
                        .toHTTPRequest()));
        if (!response.indicatesSuccess()) {
            throw new Refused(response.toErrorResponse().getErrorObject());
        }
        var opened = new AuthorizationRequest.Builder(response.toSuccessResponse().getRequestURI(), id)
                .endpointURI(server.getAuthorizationEndpointURI());
        var answer = new JSONObject();
        answer.put("url", opened.build().toURI().toString());
        answer.put("code_verifier", verifier.getValue());
        answer.put("state", state.getValue());
        return answer;
    }

    private static JWTClaimsSet timed(JWTClaimsSet.Builder claims) {
        var now = System.currentTimeMillis();
        return claims.notBeforeTime(new Date(now)).expirationTime(new Date(now + 60_000)).build();
    }

    private JSONObject callback() throws Exception {
        var keys = JWKSet.parse(read(server.getJWKSetURI()).toJSONString());
        var expected = input.containsKey("algorithm") ? JWSAlgorithm.parse(text("algorithm")) : JWSAlgorithm.RS256;
        var address = URI.create(text("url"));
        var response = input.containsKey("jarm")
                ? AuthorizationResponse.parse(address, new JARMValidator(server.getIssuer(), id, expected, keys))
                : AuthorizationResponse.parse(address);
        if (!response.indicatesSuccess()) {
            throw new Refused(response.toErrorResponse().getErrorObject());
        }
        if (!response.getState().getValue().equals(text("state")) || !response.getIssuer().equals(server.getIssuer())) {
            throw new IllegalStateException("the response is for another request, or from another server");
        }
        var grant = new AuthorizationCodeGrant(
                response.toSuccessResponse().getAuthorizationCode(),
                URI.create(text("redirect_uri")),
                new CodeVerifier(text("code_verifier")));
        var answer = token(grant, null);
        var signed = OIDCTokenResponse.parse(answer).getOIDCTokens().getIDToken();
        new IDTokenValidator(server.getIssuer(), id, expected, keys).validate(signed, new Nonce(text("nonce")));
        return answer;
    }

    private JSONObject token(AuthorizationGrant grant, Scope scope) throws Exception {
        TokenResponse response = OIDCTokenResponseParser.parse(
                send(null, () -> new TokenRequest(server.getTokenEndpointURI(), assertion(), grant, scope).toHTTPRequest()));
        if (!response.indicatesSuccess()) {
            throw new Refused(response.toErrorResponse().getErrorObject());
        }
        var issued = response.toSuccessResponse();
        if (issued.getTokens().getDPoPAccessToken() == null) {
            throw new IllegalStateException("the access token is not bound to the key");
        }
        return issued.toJSONObject();
    }

    private JSONObject userinfo() throws Exception {
        var token = new DPoPAccessToken(text("token"));
        var response = UserInfoResponse.parse(
                send(token, () -> new UserInfoRequest(server.getUserInfoEndpointURI(), token).toHTTPRequest()));
        if (!response.indicatesSuccess()) {
            throw new Refused(response.toErrorResponse().getErrorObject());
        }
        var about = response.toSuccessResponse().getUserInfo();
        if (!about.getSubject().getValue().equals(text("subject"))) {
            throw new IllegalStateException("UserInfo is about somebody else");
        }
        return about.toJSONObject();
    }

    private JSONObject get() throws Exception {
        var token = new DPoPAccessToken(text("token"));
        var response = send(token, () -> {
            var request = new HTTPRequest(HTTPRequest.Method.GET, URI.create(text("url")));
            request.setAuthorization(token.toAuthorizationHeader());
            return request;
        });
        var answer = new JSONObject();
        answer.put("status", response.getStatusCode());
        answer.put("body", response.getBody());
        return answer;
    }

    private JSONObject answer() throws Exception {
        var answer = switch (text("step")) {
            case "authorize" -> authorize();
            case "callback" -> callback();
            case "refresh" -> token(new RefreshTokenGrant(new RefreshToken(text("refresh_token"))), null);
            case "client_credentials" -> token(new ClientCredentialsGrant(), Scope.parse(text("scope")));
            case "userinfo" -> userinfo();
            case "get" -> get();
            default -> throw new IllegalArgumentException("unknown step " + text("step"));
        };
        answer.put("requests", requests);
        return answer;
    }

    public static void main(String[] arguments) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            JSONObject answer;
            try {
                answer = new Client(JSONObjectUtils.parse(line)).answer();
            } catch (Refused refused) {
                answer = new JSONObject();
                answer.put("error", refused.error.getCode());
                answer.put("error_description", refused.error.getDescription());
            } catch (Exception wrong) { // what the SDK does not accept
                answer = new JSONObject();
                answer.put("error", wrong.getClass().getSimpleName());
                answer.put("message", wrong.getMessage());
            }
            System.out.println(answer.toJSONString());
        }
    }
}
