package app

import (
	"log/slog"
	"strings"

	"mandate/app/config"
	"mandate/provider"
	"mandate/provider/checkup"
)

// Findings is what the settings alone tell about the way to the server.
func Findings(c *config.Config) []checkup.Finding {
	return []checkup.Finding{proxyFinding(c), baseFinding(c), hostsFinding(c)}
}

func proxyFinding(c *config.Config) checkup.Finding {
	if strings.HasPrefix(c.BaseURL, "https://") && c.TLSCertificateFile == "" && len(c.TrustedProxies) == 0 {
		return checkup.Finding{
			Check:  "proxy",
			Weight: checkup.Doubtful,
			About:  c.BaseURL,
			Text: "A proxy does TLS, and TRUSTED_PROXIES is empty: everybody has the address of the proxy, so the limits on " +
				"guesses count all people together.",
			Remedy: "Set TRUSTED_PROXIES to the address of the proxy, and let it send X-Forwarded-For.",
		}
	}
	return checkup.Finding{Check: "proxy", Weight: checkup.Fine, Text: "The settings for a proxy fit BASE_URL."}
}

// baseFinding looks for a BASE_URL that somebody has copied from an issuer.
func baseFinding(c *config.Config) checkup.Finding {
	if strings.HasSuffix(c.BaseURL, "/o") {
		return checkup.Finding{Check: "base-path", Weight: checkup.Doubtful, About: c.BaseURL,
			Text:   "BASE_URL ends in /o, and the server adds /o itself: the issuer is " + c.BaseURL + "/o.",
			Remedy: "Remove /o from BASE_URL, unless the proxy has the server below this path."}
	}
	return checkup.Finding{Check: "base-path", Weight: checkup.Fine, Text: "The issuer is " + c.BaseURL + "/o."}
}

// hostsFinding looks for a BASE_URL that means another machine on each machine.
func hostsFinding(c *config.Config) checkup.Finding {
	if text, remedy := provider.OnlyHere(c.BaseURL); text != "" {
		return checkup.Finding{
			Check:  "other-hosts",
			Weight: checkup.Doubtful,
			About:  c.BaseURL,
			Text:   text,
			Remedy: remedy,
		}
	}
	return checkup.Finding{
		Check:  "other-hosts",
		Weight: checkup.Fine,
		Text:   "BASE_URL does not mean this machine alone.",
	}
}

// Check reads the files that the settings name, and checks what needs them. It returns what an operator should change,
// although a server would start.
func Check(c *config.Config, log *slog.Logger) (warnings []string, err error) {
	base := c.BaseURL
	if c.Upstream != "" {
		base = "" // for a resource server it is another server
		_, _, err = newProxy(c, log)
	}
	if err == nil {
		_, err = certificateOf(c, base, log)
	}
	if err == nil {
		_, err = clientAuthorities(c)
	}
	if err == nil {
		_, err = brandOf(c)
	}
	if f := baseFinding(c); f.Weight != checkup.Fine && base != "" {
		warnings = append(warnings, f.Text+" "+f.Remedy)
	}
	return warnings, err
}
