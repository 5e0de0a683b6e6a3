package config

import (
	"mandate/provider/keys"
)

// checkOpenID: without OIDC_ENABLED, the scope openid would look as if OpenID Connect were
// enabled, and there would be no ID token.
func (l *loader) checkOpenID() {
	const enabled, scopes = providerBlock + "OIDC_ENABLED", providerBlock + "SCOPES"
	l.checkKeys()
	if l.ok(enabled, scopes) && !l.c.Provider.OpenID && has(l.c.Provider.Scopes, scopeOpenID) {
		l.wrong("contains the scope openid, which needs OIDC_ENABLED: true; set that, or remove the scope", scopes)
	}
}

func (l *loader) checkKeys() {
	const active, inactive = providerBlock + "OIDC_RSA_PRIVATE_KEY", providerBlock + "OIDC_RSA_PRIVATE_KEYS_INACTIVE"
	if key := l.c.Provider.Keys.RSAPrivateKey; l.ok(active) && key != "" {
		err := keys.CheckRSAKey(key)
		if err != nil {
			l.wrong(err.Error(), active)
		}
	}
	if !l.ok(inactive) {
		return
	}
	for i, key := range l.c.Provider.Keys.RSAInactiveKeys {
		err := keys.CheckRSAKey(key)
		if err != nil {
			l.element(inactive, i, err.Error())
		}
	}
}
