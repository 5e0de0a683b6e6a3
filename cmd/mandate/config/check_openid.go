package config

import "mandate/provider"

// checkOpenID: OIDC_ENABLED and the scope openid go together. With only one of them
// OpenID Connect would look enabled, and there would be no ID token.
func (l *loader) checkOpenID() {
	const enabled, scopes = providerBlock + "OIDC_ENABLED", providerBlock + "SCOPES"
	l.checkKeys()
	if !l.ok(enabled, scopes) {
		return
	}
	on, listed := l.c.Provider.OpenID, l.c.Provider.Scopes.has(scopeOpenID)
	switch {
	case on && !listed:
		l.wrong("needs the scope openid (OIDC Core §3.1.2.1), which is not in SCOPES; add it there", enabled)
	case !on && listed:
		l.wrong("contains the scope openid, which needs OIDC_ENABLED: true; set that, or remove the scope", scopes)
	}
}

func (l *loader) checkKeys() {
	const active, inactive = providerBlock + "OIDC_RSA_PRIVATE_KEY", providerBlock + "OIDC_RSA_PRIVATE_KEYS_INACTIVE"
	if key := l.c.Provider.OIDCPrivateKey; l.ok(active) && key != "" {
		err := provider.CheckRSAKey(key)
		if err != nil {
			l.wrong(err.Error(), active)
		}
	}
	if !l.ok(inactive) {
		return
	}
	for i, key := range l.c.Provider.OIDCInactiveKeys {
		err := provider.CheckRSAKey(key)
		if err != nil {
			l.element(inactive, i, err.Error())
		}
	}
}
