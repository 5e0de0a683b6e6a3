package servertest

import "encoding/json"

// initialToken makes an initial access token, with which checks register clients.
func (s *Server) initialToken() (string, error) {
	out, err := s.CLI("", "registration-token", "add", "--json", "--uses", "10000", "--may", "authorization_code,client_credentials")
	var made struct{ Token string }
	if err == nil {
		err = json.Unmarshal([]byte(out), &made)
	}
	return made.Token, err
}
