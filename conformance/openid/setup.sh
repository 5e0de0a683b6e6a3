#!/bin/sh
# Makes a folder with everything that the OpenID Foundation's conformance suite
# needs of Mandate: the server, its configuration, a person and the clients, TLS,
# one configuration of the suite for each plan, and the results that the suite's
# driver expects. README.md says how to go on.
set -eu

usage() {
	cat >&2 <<-'END'
	usage: setup.sh [-s SUITE] [-a ALIAS] [-l LISTEN] [-c CERTIFICATE -k KEY] [-o FOLDER] BASE_URL

	  BASE_URL        where the suite reaches Mandate, as https://mandate.example:9443;
	                  http://127.0.0.1:8000 is for a rehearsal without TLS and suite
	  -s SUITE        where Mandate's browsers reach the suite (https://localhost.emobix.co.uk:8443)
	  -a ALIAS        the alias of the plans, part of every address of the suite (mandate)
	  -l LISTEN       where Mandate listens behind nginx (127.0.0.1:8000)
	  -c CERTIFICATE  in PEM, with its key in -k KEY; else one is made that signs itself
	  -o FOLDER       what is made (openid-conformance)
	END
	exit 2
}

die() {
	echo "setup.sh: $*" >&2
	exit 1
}

suite=https://localhost.emobix.co.uk:8443
alias=mandate
listen=127.0.0.1:8000
certificate=
key=
mutual=
folder=openid-conformance
while getopts s:a:l:c:k:o: option; do
	case $option in
	s) suite=${OPTARG%/} ;;
	a) alias=$OPTARG ;;
	l) listen=$OPTARG ;;
	c) certificate=$(realpath "$OPTARG") ;;
	k) key=$(realpath "$OPTARG") ;;
	o) folder=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -eq 1 ] || usage
base=${1%/}
[ "${certificate:+given}" = "${key:+given}" ] || usage

# What these hold is written into JSON, YAML and nginx's language as it stands.
case $base$suite$alias$listen$certificate$key in
*[!A-Za-z0-9.:/_~-]*) die "an argument has a character that is not in A-Z a-z 0-9 . : / _ ~ -" ;;
esac
authority=${base#*://}
authority=${authority%%/*}
case $base in
https://*) ;;
http://*) listen=$authority ;;
*) usage ;;
esac

here=$(dirname "$(realpath "$0")")
umask 077
mkdir -p "$folder"
folder=$(realpath "$folder")
# The suite's driver reads no other characters in the path of a plan.
case $folder in
*[!A-Za-z0-9./_-]*) die "the path of $folder has a character that is not in A-Z a-z 0-9 . / _ -" ;;
esac
[ ! -e "$folder/mandate.db" ] || die "$folder is in use: remove it, or choose another one with -o"

(cd "$here/../.." && go build -o "$folder/mandate" ./cmd/mandate)

host() {
	echo "$1" | sed 's|^[a-z]*://||; s|[:/].*||'
}

if [ "${base#https:}" != "$base" ]; then
	if [ -z "$certificate" ]; then
		certificate=$folder/tls.crt
		key=$folder/tls.key
		names=
		for name in "$(host "$base")" "$(host "$suite")"; do
			case $name in
			*[!0-9.]*) names=$names,DNS:$name ;;
			*) names=$names,IP:$name ;;
			esac
		done
		openssl req -x509 -newkey rsa:2048 -nodes -days 90 -subj "/CN=$(host "$base")" -addext "subjectAltName=${names#,}" \
			-keyout "$key" -out "$certificate" 2>"$folder/openssl.log" || die "openssl made no certificate: $(cat "$folder/openssl.log")"
		rm "$folder/openssl.log"
	fi
	port=${authority##*:}
	[ "$port" != "$authority" ] || port=443
	mkdir -p "$folder/temp"
	# Clients with a certificate use the next port.
	mutual=https://$(host "$base"):$((port + 1))
	sed "s|@PORT@|$port|; s|@MUTUAL_PORT@|$((port + 1))|; s|@LISTEN@|$listen|; s|@CERTIFICATE@|$certificate|; s|@KEY@|$key|; s|@USER@|$(id -un)|; s|@GROUP@|$(id -gn)|" \
		"$here/nginx.conf" >"$folder/nginx.conf"
	printf 'MTLS_BASE_URL: "%s"\nMTLS_CERTIFICATE_HEADER: X-Client-Cert\n' "$mutual" >"$folder/mandate.yaml"
fi
sed "s|@BASE@|$base|; s|@LISTEN@|$listen|; s|@FOLDER@|$folder|" "$here/mandate.yaml" >>"$folder/mandate.yaml"

random() {
	od -An -N 24 -tx1 /dev/urandom | tr -d ' \n'
}

mandate() {
	"$folder/mandate" --config "$folder/mandate.yaml" "$@" >/dev/null
}

# Somebody with a value for every claim of OIDC Core §5.1.
username=carol
password=$(random)
mandate migrate >/dev/null
printf %s "$password" | mandate user add "$username" --password-stdin \
	--email carol@example.org --email-verified --first-name Carol --middle-name Margaret --last-name Meier --nickname Caro \
	--gender female --birthdate 1984-02-29 --zoneinfo Europe/Zurich --locale en-GB \
	--profile https://example.org/carol --picture https://example.org/carol.png --website https://carol.example.org/ \
	--phone-number +41443334455 --phone-number-verified \
	--address "Seestrasse 1, 8002 Zurich, Switzerland" --street-address "Seestrasse 1" --locality Zurich --region ZH \
	--postal-code 8002 --country Switzerland

# client ID SECRET FLAG... registers a client whose answers go to the suite.
at=$suite/test/a/$alias
client() {
	id=$1
	secret=$2
	shift 2
	printf %s "$secret" | mandate application add --name "Conformance suite: $id" --client-id "$id" --client-secret-stdin \
		--grant authorization_code --redirect-uri "$at/callback" "$@"
}

first=$(random)
second=$(random)
post=$(random)
backchannel=$(random)
client suite-first "$first" --post-logout-redirect-uri "$at/post_logout_redirect"
client suite-second "$second"
client suite-post "$post"
# Apart, since the other plans take a call at the back-channel address for a mistake.
client suite-backchannel "$backchannel" --post-logout-redirect-uri "$at/post_logout_redirect" \
	--backchannel-logout-uri "$at/backchannel_logout"

# plan FILE DESCRIPTION CLIENT SECRET writes one configuration of the suite.
plan() {
	sed "s|@BASE@|$base|g; s|@ALIAS@|$alias|g; s|@USERNAME@|$username|g; s|@PASSWORD@|$password|g
		s|@DESCRIPTION@|$2|; s|@CLIENT_ID@|$3|; s|@CLIENT_SECRET@|$4|
		s|@SECOND_SECRET@|$second|; s|@POST_SECRET@|$post|" "$here/plan.json" >"$folder/$1.json"
}

# registering FILE DESCRIPTION writes the same for a plan that registers its clients itself.
registering() {
	plan "$1" "$2" none none
	sed "/\"client_secret_post\": {/d
		s|\"\(client2*\)\": {.*}|\"\1\": {\"client_name\": \"Conformance suite\", \"initial_access_token\": \"$token\"}|" \
		"$folder/$1.json" >"$folder/$1.tmp"
	mv "$folder/$1.tmp" "$folder/$1.json"
}
token=$("$folder/mandate" --config "$folder/mandate.yaml" registration-token add --uses 1000 --expires 30d --json |
	sed -n 's/.*"token": *"\([^"]*\)".*/\1/p')
[ -n "$token" ] || die "mandate registration-token add printed no token"

plan basic "Mandate, Basic OP" suite-first "$first"
plan config "Mandate, Config OP" suite-first "$first"
plan formpost "Mandate, Form Post OP" suite-first "$first"
plan rp-initiated-logout "Mandate, RP-Initiated Logout OP" suite-first "$first"
plan backchannel-logout "Mandate, Back-Channel Logout OP" suite-backchannel "$backchannel"
registering dynamic "Mandate, Dynamic OP"
registering 3rd-party-login "Mandate, 3rd Party-Init OP"

# The plans for FAPI 2.0, whose addresses begin with https.
if [ -n "$mutual" ]; then
	. "$here/fapi.sh"
fi

# The suite skips unsigned request objects, because the metadata does not have the algorithm none.
cat >"$folder/expected-skips.json" <<'END'
[
  {
    "test-name": "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported",
    "variant": "*",
    "configuration-filename": "*"
  },
  {
    "test-name": "oidcc-ensure-request-object-with-redirect-uri",
    "variant": "*",
    "configuration-filename": "*"
  }
]
END
cat >"$folder/expected-skips-dynamic.json" <<'END'
[
  {
    "test-name": "oidcc-idtoken-unsigned",
    "variant": "*",
    "configuration-filename": "*"
  },
  {
    "test-name": "oidcc-request-uri-unsigned",
    "variant": "*",
    "configuration-filename": "*"
  },
  {
    "test-name": "oidcc-ensure-request-object-with-redirect-uri",
    "variant": "*",
    "configuration-filename": "*"
  }
]
END
# The suite warns of sid in ID tokens, which it does not know there (OIDC Back-Channel Logout §2.1).
cat >"$folder/expected-warnings.json" <<'END'
[
  {
    "test-name": "fapi2-security-profile-final-test-claims-parameter-identity-claims",
    "variant": "*",
    "configuration-filename": "*",
    "current-block": "",
    "condition": "CheckForUnexpectedClaimsInIdToken",
    "expected-result": "warning"
  }
]
END
# The suite warns of claims of a scope in ID tokens. Confidential applications of the operator have them by default
# (OIDC Core §2, §5.4).
claims='  {
    "test-name": "oidcc-scope-email",
    "variant": "*",
    "configuration-filename": "*",
    "current-block": "Verify authorization endpoint response",
    "condition": "EnsureIdTokenDoesNotContainEmailForScopeEmail",
    "expected-result": "warning"
  },
  {
    "test-name": "oidcc-alternate-happy-flow",
    "variant": "*",
    "configuration-filename": "*",
    "current-block": "Verify authorization endpoint response",
    "condition": "EnsureIdTokenDoesNotContainEmailForScopeEmail",
    "expected-result": "warning"
  }'
printf '[\n%s\n]\n' "$claims" >"$folder/expected-warnings-claims.json"
# The driver does not wait for a rotation of the keys.
cat >"$folder/expected-failures.json" <<END
[
$claims,
  {
    "test-name": "oidcc-server-rotate-keys",
    "variant": "*",
    "configuration-filename": "*",
    "current-block": "",
    "condition": "VerifyNewJwksHasNewSigningKey",
    "expected-result": "failure"
  }
]
END
# fails MODULE BLOCK CONDITION adds a failure that the driver expects in the Dynamic OP plan.
failures=
fails() {
	failures="$failures${failures:+,}
  {
    \"test-name\": \"$1\",
    \"variant\": \"*\",
    \"configuration-filename\": \"*\",
    \"current-block\": \"$2\",
    \"condition\": \"$3\",
    \"expected-result\": \"failure\"
  }"
}
fails oidcc-server-rotate-keys "" VerifyNewJwksHasNewSigningKey
# A dynamic provider has the implicit flow (OIDC Core §15.2), which Mandate leaves out (RFC 9700 §2.1.2).
fails oidcc-discovery-endpoint-verification "" OIDCCCheckDiscEndpointResponseTypesSupportedDynamic
fails oidcc-discovery-endpoint-verification "" OIDCCCheckDiscEndpointGrantTypesSupportedDynamic
# aud of the suite's assertions is the address of the token endpoint, and not the issuer (RFC 10070 §4).
for module in idtoken-rs256 userinfo-rs256 redirect-uri-query-OK server registration-jwks-uri \
	refresh-token-rp-key-rotation refresh-token; do
	fails oidcc-$module "Verify authorization endpoint response" CheckTokenEndpointHttpStatus200
done
# The terms are of another host than the redirect URI (RFC 7591 §5).
fails oidcc-registration-tos-uri "" WebRunner
fails oidcc-registration-tos-uri "" oidcc-registration-tos-uri
# REQUEST_OBJECTS_BY_REFERENCE is off by default.
fails oidcc-request-uri-unsigned "" CheckDiscEndpointRequestUriParameterSupported
fails oidcc-request-uri-signed-rs256 "" CheckDiscEndpointRequestUriParameterSupported
fails oidcc-request-uri-signed-rs256 "Verify authorization endpoint response" CheckIfAuthorizationEndpointError
printf '[%s\n]\n' "$failures" >"$folder/expected-failures-dynamic.json"

echo "Start Mandate:  $folder/mandate serve --config $folder/mandate.yaml"
if [ -e "$folder/nginx.conf" ]; then
	echo "and its TLS:    nginx -p $folder -c $folder/nginx.conf -g 'daemon off;'"
fi
echo "The plans:      $folder/{basic,config,formpost,rp-initiated-logout,backchannel-logout,dynamic,3rd-party-login}.json"
if [ -n "$mutual" ]; then
	echo "                $folder/fapi2-*.json"
fi
