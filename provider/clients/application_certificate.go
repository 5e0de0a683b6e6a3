package clients

import (
	"slices"

	"mandate/provider/clientauth"
	"mandate/provider/mtls"
	"mandate/provider/oauth"
	"mandate/storage"
)

const subjectForm = "write it as san_dns=client.example, or with subject_dn, san_uri, san_ip or san_email in place " +
	"of san_dns"

// checkCertificate checks the subject of a client's certificate. needed says that the
// application authenticates with one.
func (p *Clients) checkCertificate(found *oauth.Invalid, said Authentication, was storage.Application, needed bool) {
	const field = "certificate_subject"
	subject := clientauth.StoredSubject(said.CertificateSubject)
	switch {
	case needed && subject == "":
		found.Add(field, "tls_client_auth needs the subject of the certificate: %s.", subjectForm)
	case !needed && subject != "":
		found.Add(field, "Only an application with tls_client_auth has the subject of a certificate.")
	case subject == was.CertificateSubject: // it may be older than the present settings
	case !p.Offers(clientauth.MethodCertificate):
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
