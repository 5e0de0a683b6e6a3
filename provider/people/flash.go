package people

import (
	"strconv"
	"strings"
	"time"

	"mandate/provider/oauth"
	"mandate/storage"
)

const flashLife = 300 // seconds

// DraftLife is how long a form is kept while its person signs in again.
const DraftLife = 15 * time.Minute

// SealForPage seals a text that one page shows once, in this session only.
func (p *People) SealForPage(s *storage.SignedIn, page, text string) string {
	return p.sealNow(text, s.Session.ID+" "+page)
}

// sealNow seals a text with the time.
func (p *People) sealNow(text, context string) string {
	return p.flashes.Seal([]byte(strconv.FormatInt(oauth.Now(), 10)+" "+text), context)
}

// OpenForPage returns the text that SealForPage sealed for this session and page, or "" if it is
// older than five minutes or was sealed for another page.
func (p *People) OpenForPage(s *storage.SignedIn, page, sealed string) string {
	return p.openYoung(sealed, s.Session.ID+" "+page, flashLife)
}

// openYoung returns a text of sealNow, or "" if it is older than life, in seconds.
func (p *People) openYoung(sealed, context string, life int64) string {
	text, err := p.flashes.Open(sealed, context)
	if err != nil {
		return ""
	}
	made, shown, _ := strings.Cut(string(text), " ")
	at, err := strconv.ParseInt(made, 10, 64)
	if err != nil || oauth.Now()-at > life {
		return ""
	}
	return shown
}

// SealDraft seals a form that a person has sent, while they sign in again. A sign-in begins another session, so
// the form is bound to the person and to where: the page and the browser.
func (p *People) SealDraft(s *storage.SignedIn, where, text string) string {
	return p.sealNow(string(squeeze([]byte(text))), "draft "+s.User.ID+" "+where)
}

// OpenDraft returns the form that SealDraft sealed for this person and place. It returns "" if it is older than
// DraftLife, or was sealed for another one.
func (p *People) OpenDraft(s *storage.SignedIn, where, sealed string) string {
	text, err := unsqueeze([]byte(p.openYoung(sealed, "draft "+s.User.ID+" "+where, oauth.Seconds(DraftLife))))
	if err != nil {
		return ""
	}
	return string(text)
}
