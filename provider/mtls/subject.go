package mtls

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// The members of client metadata of which one names the subject of a client's certificate (RFC
// 8705 §2.1.2).
const (
	SubjectDN = "tls_client_auth_subject_dn"
	SANDNS    = "tls_client_auth_san_dns"
	SANURI    = "tls_client_auth_san_uri"
	SANIP     = "tls_client_auth_san_ip"
	SANEmail  = "tls_client_auth_san_email"
)

// SubjectMembers lists the members that name a subject.
func SubjectMembers() []string { return []string{SubjectDN, SANDNS, SANURI, SANIP, SANEmail} }

// Subject is what a client's certificate must contain.
type Subject struct{ Member, Value string }

// Check returns an error that says what to change, if no certificate can have this subject.
func (s Subject) Check() error {
	if len(s.Value) > 1024 {
		return errors.New("is longer than 1024 bytes")
	}
	switch s.Member {
	case SubjectDN:
		_, err := parseName(s.Value)
		return err
	case SANDNS:
		// A wildcard would accept the certificates of other parties too.
		if s.Value == "" || strings.ContainsAny(s.Value, "*/: ") || !ascii(s.Value) {
			return errors.New("must be a host name without a wildcard, in its ASCII form")
		}
	case SANURI:
		u, err := url.Parse(s.Value)
		if err != nil || u.Scheme == "" || !ascii(s.Value) {
			return errors.New("must be an absolute URI")
		}
	case SANIP:
		at, err := netip.ParseAddr(s.Value)
		if err != nil || at.Zone() != "" {
			return errors.New("must be an IPv4 or IPv6 address")
		}
	case SANEmail:
		name, host, found := strings.Cut(s.Value, "@")
		if !found || name == "" || host == "" || strings.ContainsAny(s.Value, " <>") || strings.Contains(host, "@") ||
			!ascii(s.Value) {
			return errors.New("must be an email address")
		}
	default:
		return fmt.Errorf("%.40q is not a member that names a subject: use one of %s", s.Member,
			strings.Join(SubjectMembers(), ", "))
	}
	return nil
}

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Matches reports whether the certificate has the subject (RFC 8705 §2.1.2). The caller has
// verified the certificate: anybody can make one with any subject.
func (s Subject) Matches(c *Certificate) bool {
	if s.Check() != nil {
		return false
	}
	switch s.Member {
	case SubjectDN:
		want, err := parseName(s.Value)
		return err == nil && want.equal(c.RawSubject)
	case SANDNS:
		return slices.ContainsFunc(c.DNSNames, func(one string) bool { return strings.EqualFold(one, s.Value) })
	case SANURI:
		return slices.ContainsFunc(c.URIs, func(one *url.URL) bool { return one.String() == s.Value })
	case SANIP:
		want, err := netip.ParseAddr(s.Value)
		if err != nil {
			return false
		}
		// RFC 8705 §2.1.2: the addresses are compared as bytes, not as text.
		for _, raw := range c.IPAddresses {
			if one, ok := netip.AddrFromSlice(raw); ok && one.Unmap() == want.Unmap() {
				return true
			}
		}
	case SANEmail:
		// RFC 5280 §7.5: the case counts before the @, and does not count after it.
		name, host, _ := strings.Cut(s.Value, "@")
		return slices.ContainsFunc(c.EmailAddresses, func(one string) bool {
			n, h, found := strings.Cut(one, "@")
			return found && n == name && strings.EqualFold(h, host)
		})
	}
	return false
}

// Subjects lists what the certificate has of the members that name a subject, each in the form of
// a registration without the beginning that they share.
func (c *Certificate) Subjects() []string {
	// The parsed Subject has lost the order of the names and those that occur twice.
	var name pkix.RDNSequence
	_, err := asn1.Unmarshal(c.RawSubject, &name)
	all := []string{"subject_dn=" + name.String()}
	if err != nil {
		all = nil
	}
	for _, one := range c.DNSNames {
		all = append(all, "san_dns="+one)
	}
	for _, one := range c.URIs {
		all = append(all, "san_uri="+one.String())
	}
	for _, one := range c.IPAddresses {
		all = append(all, "san_ip="+one.String())
	}
	for _, one := range c.EmailAddresses {
		all = append(all, "san_email="+one)
	}
	return all
}
