package policy

import "mandate/storage"

// Whether the refresh tokens of an application are rotated. Empty: as the server is set.
const (
	RotationOn  = "on"
	RotationOff = "off"
)

// Rotations lists the values.
func Rotations() []string { return []string{RotationOn, RotationOff} }

// RotatesRefresh reports whether a refresh token of an application is replaced when it is used.
// bound says that the token is bound to a key or a certificate of the client, and server what the
// operator has set for confidential applications.
func RotatesRefresh(a storage.Application, bound, server bool) bool {
	switch {
	// RFC 9700 §2.2.2, §4.14.2: the refresh tokens of a public client are rotated, or bound to its
	// key. No setting changes this.
	case a.ClientType == Public && !bound:
		return true
	// FAPI 2.0 Security Profile §5.3.2.1: no rotation.
	case HasProfile(a):
		return false
	case a.RefreshRotation != "":
		return a.RefreshRotation == RotationOn
	// A bound token that was copied is useful to nobody else, so rotation adds nothing.
	case a.ClientType == Public:
		return false
	}
	// Whoever uses a refresh token of a confidential application authenticates as it.
	return server
}
