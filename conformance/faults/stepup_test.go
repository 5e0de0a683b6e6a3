package faults

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"mandate/conformance/wire"
)

// stepUpFaults are faults of step-up authentication (RFC 9470).
func stepUpFaults() []fault {
	// plain changes authorization requests without the scope openid.
	plain := func(name string) spoiler {
		return challenges(func(_ *proxy, q *ask, v url.Values) {
			if v.Has(name) && !asksOpenID(v) {
				q.setQuery(name, "")
			}
		})
	}
	// telling changes a member of the answers to introspection about active tokens.
	telling := func(name string, value func(was any) any) spoiler {
		return answering(func(a *wire.Answer) {
			edit(a, func(object map[string]any) {
				if object["active"] == true && object[name] != nil {
					put(name, value(object[name]))(object)
				}
			})
		})
	}
	always := func(value any) func(any) any { return func(any) any { return value } }
	return []fault{
		{name: "max_age needs the scope openid", at: authorizePath, spoil: plain("max_age"), fails: "RFC9470/4/max-age"},
		{name: "each plain request needs a login", at: authorizePath, spoil: challenges(func(_ *proxy, q *ask, v url.Values) {
			if q.method == http.MethodGet && !asksOpenID(v) && !v.Has("prompt") {
				q.setQuery("prompt", "login")
			}
		}), blocks: "RFC9470/4/max-age"},
		{name: "acr_values needs the scope openid", at: authorizePath, spoil: plain("acr_values"), fails: "RFC9470/5/unmet"},
		{name: "an unmet acr_values is reported as access_denied", at: authorizePath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				a := p.real(q)
				if at := a.Header.Get("Location"); a.Status/100 == 3 {
					a.Header.Set("Location", strings.Replace(at, "error=unmet_authentication_requirements", "error=access_denied", 1))
				}
				return a
			}, fails: "RFC9470/5/unmet"},
		{name: "every acr_values is unmet without the scope openid", at: authorizePath,
			spoil: refusingAsk(func(v url.Values) bool { return v.Has("acr_values") && !asksOpenID(v) },
				"unmet_authentication_requirements"),
			fails: "RFC9470/5/one-met", blocks: "RFC9470/5/told", passes: "RFC9470/5/unmet"},
		{name: "introspection does not tell auth_time", at: introspectPath, spoil: telling("auth_time", always(nil)),
			fails: "RFC9470/5/told", skips: "RFC9470/6.2/auth-time"},
		{name: "introspection does not tell acr", at: introspectPath, spoil: telling("acr", always(nil)),
			fails: "RFC9470/5/told", skips: "RFC9470/6.2/acr RFC9470/5/one-met"},
		{name: "auth_time is a date", at: introspectPath, spoil: telling("auth_time", always("2026-11-23T12:00:00Z")),
			fails: "RFC9470/6.2/auth-time"},
		{name: "auth_time is in milliseconds", at: introspectPath,
			spoil: telling("auth_time", func(was any) any { return was.(float64) * 1000 }), fails: "RFC9470/6.2/auth-time"},
		{name: "acr is a list", at: introspectPath, spoil: telling("acr", func(was any) any { return []any{was} }),
			fails: "RFC9470/6.2/acr"},
		{name: "auth_time is the time of the question", at: introspectPath,
			spoil: telling("auth_time", func(any) any { return time.Now().UnixMicro() / 1000 }), fails: "RFC9470/6.1/unchanged"},
		{name: "the metadata does not tell the acr values", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if a.Status == http.StatusOK && a.JSON()["issuer"] != nil && a.JSON()["token_endpoint"] != nil {
				edit(a, put("acr_values_supported", nil))
			}
			return a
		}, fails: "RFC9470/7/advertised", skips: "RFC9470/4/max-age RFC9470/5/unmet RFC9470/5/told RFC9470/5/one-met " +
			"RFC9470/6.1/claims"},
	}
}
