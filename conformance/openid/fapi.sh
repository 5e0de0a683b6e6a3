# The clients and the plans for FAPI 2.0. setup.sh reads this file, and defines the
# variables and functions that it uses.

# Somebody who has approved no client, and so can refuse on the consent page.
refusing=dora
printf %s "$password" | mandate user add "$refusing" --password-stdin --email dora@example.org

# part FILE OFFSET COUNT prints bytes of a file in base64url.
part() {
	dd if="$1" bs=1 skip="$2" count="$3" 2>/dev/null | openssl base64 -A | tr '+/' '-_' | tr -d '='
}

# The first client of a plan has an RSA key, with which the suite also tries RS256. The second one has an EC key.
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$folder/fapi-1.key" 2>/dev/null
openssl rsa -in "$folder/fapi-1.key" -traditional -outform DER -out "$folder/fapi-1.der" 2>/dev/null
# RFC 8017 A.1.2: after the version follow the numbers of the key. Some have a first byte 00 for their sign, which openssl
# does not print.
numbers=$(openssl asn1parse -inform DER -in "$folder/fapi-1.der" | tr -s ':=' ' ' |
	awk '/INTEGER/ { sign = $7 - length($NF) / 2; print $1 + $5 + sign, $7 - sign }' | sed 1d)
{
	read -r n
	read -r e
	read -r d
	read -r p
	read -r q
	read -r dp
	read -r dq
	read -r qi
} <<END
$numbers
END
der=$folder/fapi-1.der
public1="\"kty\": \"RSA\", \"n\": \"$(part "$der" $n)\", \"e\": \"$(part "$der" $e)\", \"alg\": \"PS256\""
private1="\"d\": \"$(part "$der" $d)\", \"p\": \"$(part "$der" $p)\", \"q\": \"$(part "$der" $q)\""
private1="$private1, \"dp\": \"$(part "$der" $dp)\", \"dq\": \"$(part "$der" $dq)\", \"qi\": \"$(part "$der" $qi)\""

openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$folder/fapi-2.key" 2>/dev/null
der=$folder/fapi-2.der
openssl ec -in "$folder/fapi-2.key" -outform DER -out "$der" 2>/dev/null
# RFC 5915 §3: in DER, the private key is at byte 7, and the point at 57 and 89.
public2="\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"$(part "$der" 57 32)\", \"y\": \"$(part "$der" 89 32)\", \"alg\": \"ES256\""
private2="\"d\": \"$(part "$der" 7 32)\""

# keys NUMBER PUBLIC PRIVATE writes the key of a client, and a certificate for it.
keys() {
	file=$folder/fapi-$1
	openssl req -x509 -key "$file.key" -days 90 -subj "/CN=Conformance suite $1" -out "$file.crt"
	public="$2, \"kid\": \"suite-$1\", \"use\": \"sig\""
	printf '{%s, %s}' "$public" "$3" >"$file.jwk"
	printf '{"keys": [{%s, "x5c": ["%s"]}]}' "$public" "$(openssl x509 -in "$file.crt" -outform DER | openssl base64 -A)" >"$file.jwks"
	rm "$file.der"
}
keys 1 "$public1" "$private1"
keys 2 "$public2" "$private2"

# fapi_client ID NUMBER REDIRECT_URI FLAG... registers a client with a key.
fapi_client() {
	id=$1
	number=$2
	back=$3
	shift 3
	mandate application add --name "Conformance suite: $id" --client-id "$id" --grant authorization_code --grant client_credentials \
		--redirect-uri "$back" --jwks "$folder/fapi-$number.jwks" "$@"
}

# pem FILE prints a PEM as the inside of a string of JSON.
pem() {
	awk '{ printf "%s\\n", $0 }' "$1"
}

# steps USERNAME BUTTON prints what the suite's browser does to answer a request.
steps() {
	cat <<-END
		{"task": "Sign in", "optional": true, "match": "$base/login*",
		 "commands": [["text", "id", "username", "$1"], ["text", "id", "password", "$password"], ["click", "class", "primary"]]},
		{"task": "Decide", "optional": true, "match": "$base/o/authorize*", "commands": [["click", "xpath", "$2"]]},
		{"task": "Back at the suite", "match": "*/test/a/$alias/callback*", "commands": [["wait", "id", "submission_complete", 10]]}
	END
}

# fapi_plan FILE ID SCOPE METADATA RESOURCE writes one configuration of the suite.
fapi_plan() {
	module=fapi2-security-profile-final
	allow=$(steps "$username" "//button[@value='approve']")
	error="{\"match\": \"$base/o/authorize*\", \"tasks\": [{\"task\": \"See the error page\", \"match\": \"$base/o/authorize*\", \"commands\": [[\"wait\", \"xpath\", \"//main\", 10, \"invalid_request_uri\", \"update-image-placeholder\"]]}]}"
	cat >"$folder/$1.json" <<-END
		{
		"alias": "$alias",
		"description": "Mandate, $1",
		"server": {"discoveryUrl": "$base$4"},
		"client": {"client_id": "$2-1", "scope": "$3", "jwks": {"keys": [$(cat "$folder/fapi-1.jwk")]}},
		"client2": {"client_id": "$2-2", "scope": "$3", "jwks": {"keys": [$(cat "$folder/fapi-2.jwk")]}},
		"mtls": {"cert": "$(pem "$folder/fapi-1.crt")", "key": "$(pem "$folder/fapi-1.key")"},
		"mtls2": {"cert": "$(pem "$folder/fapi-2.crt")", "key": "$(pem "$folder/fapi-2.key")"},
		"resource": {"resourceUrl": "$5/resource"},
		"browser": [{"match": "$base/o/authorize*", "tasks": [$allow]}],
		"override": {
		"$module-user-rejects-authentication": {"browser": [{"match": "$base/o/authorize*", "tasks": [$(steps "$refusing" "//button[@value='deny']")]}]},
		"$module-par-attempt-reuse-request_uri": {"browser": [{"match": "$base/o/authorize*", "match-limit": 1, "tasks": [$allow]}, $error]},
		"$module-par-attempt-to-use-expired-request_uri": {"browser": [$error]},
		"$module-par-attempt-to-use-request_uri-for-different-client": {"browser": [$error]},
		"$module-par-ensure-reused-request-uri-prior-to-auth-completion-succeeds": {"browser": [
		{"match": "$base/o/authorize*", "match-limit": 1, "tasks": [{"task": "See the login page", "match": "$base/login*", "commands": [["wait", "id", "username", 10]]}]},
		{"match": "$base/o/authorize*", "tasks": [$allow]}]}
		}
		}
	END
}

for profile in fapi2 fapi2-message-signing; do
	for authentication in key mtls; do
		for binding in dpop mtls; do
			name=$profile-$authentication-$binding
			case $authentication in
			key) method=private_key_jwt ;;
			mtls) method=self_signed_tls_client_auth ;;
			esac
			case $binding in
			dpop) constraint=dpop at_resource=$base ;;
			mtls) constraint=certificate at_resource=$mutual ;;
			esac
			fapi_client "$name-1" 1 "$at/callback" --profile "$profile" --auth-method "$method" --sender-constraint "$constraint"
			fapi_client "$name-2" 2 "$at/callback?dummy1=lorem&dummy2=ipsum" --profile "$profile" --auth-method "$method" --sender-constraint "$constraint"
			fapi_plan "$name" "$name" "openid email read" /o/.well-known/openid-configuration "$at_resource"
			fapi_plan "$profile-oauth-$authentication-$binding" "$name" read /.well-known/oauth-authorization-server/o "$at_resource"
		done
	done
done
