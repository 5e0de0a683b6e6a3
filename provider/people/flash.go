package people

import (
	"strconv"
	"strings"

	"mandate/provider/oauth"
	"mandate/storage"
)

const flashLife = 300 // seconds

// SealForPage seals a text that one page shows once, in this session only.
func (p *People) SealForPage(s *storage.SignedIn, page, text string) string {
	return p.flashes.Seal([]byte(strconv.FormatInt(oauth.Now(), 10)+" "+text), s.Session.ID+" "+page)
}

// OpenForPage returns the text that SealForPage sealed for this session and page, or "" if it is
// older than five minutes or was sealed for another page.
func (p *People) OpenForPage(s *storage.SignedIn, page, sealed string) string {
	text, err := p.flashes.Open(sealed, s.Session.ID+" "+page)
	if err != nil {
		return ""
	}
	made, shown, _ := strings.Cut(string(text), " ")
	at, err := strconv.ParseInt(made, 10, 64)
	if err != nil || oauth.Now()-at > flashLife {
		return ""
	}
	return shown
}
