package clients

import (
	"slices"

	"mandate/provider/clientauth"
	"mandate/provider/mtls"
	"mandate/provider/oauth"
)

const subjectForm = "write it as san_dns=client.example, or with subject_dn, san_uri, san_ip or san_email in place " +
	"of san_dns"

// checkCertificate checks the subject of the certificate of a client that authenticates by a method. was is the subject
// before the change.
func (p *Clients) checkCertificate(found *oauth.Invalid, said, was string, method clientauth.Method) {
	const field = "certificate_subject"
	subject, needed := clientauth.StoredSubject(said), method.Needs == clientauth.Subject
	switch {
	case needed && subject == "":
		found.Add(field, "%s needs the subject of the certificate: %s.", method.Name, subjectForm)
	case !needed && subject != "":
		found.Add(
			field, "Only an application with %s has the subject of a certificate.", oauth.OneOf(clientauth.SubjectMethods()),
		)
	case !needed, subject == was: // it may be older than the present settings
	case !p.Offers(method.Name):
		found.Add(
			field,
			"This server accepts no certificates: its operator can name the authorities that issue them with "+
				"MTLS_CLIENT_AUTHORITIES_FILE.",
		)
	default:
		named := clientauth.CertificateSubject(subject)
		if !slices.Contains(mtls.SubjectMembers(), named.Member) {
			found.Add(field, "This names no subject: %s.", subjectForm)
			return
		}
		err := named.Check()
		if err != nil {
			found.Add(field, "The value %s.", err)
		}
	}
}
