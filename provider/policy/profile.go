package policy

import (
	"slices"

	"mandate/storage"
)

// The profiles of an application. A profile is a set of requirements that the application
// switches on together. A saved application satisfies them: each change of it is checked. What no
// field says is checked at each request: PKCE, the parameter redirect_uri of a pushed request, the
// lifetime of the code, and the algorithm and audience of a client assertion.
const (
	ProfileFAPI     = "fapi2"                 // FAPI 2.0 Security Profile
	ProfileMessages = "fapi2-message-signing" // FAPI 2.0 Message Signing, which includes the other
)

// Profiles lists the profiles.
func Profiles() []string { return []string{ProfileFAPI, ProfileMessages} }

// HasProfile reports whether an application has a profile. Each includes the FAPI 2.0 Security
// Profile.
func HasProfile(a storage.Application) bool { return a.Profile != "" }

// SignsMessages reports whether an application has the profile FAPI 2.0 Message Signing.
func SignsMessages(a storage.Application) bool { return a.Profile == ProfileMessages }

// FAPIAlgorithms lists the signature algorithms of an application with a profile.
//
// FAPI 2.0 Security Profile §5.4.1: PS256, ES256, and EdDSA with the curve Ed25519.
func FAPIAlgorithms() []string { return []string{"PS256", "ES256", "EdDSA", "Ed25519"} }

// Algorithms returns those of the signature algorithms that an application may use.
func Algorithms(a storage.Application, all []string) []string {
	if !HasProfile(a) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !slices.Contains(FAPIAlgorithms(), name) })
}

// FAPICodeLifetime is the longest lifetime of a code for an application with a profile, in seconds.
//
// FAPI 2.0 Security Profile §5.3.2.1: at most 60 seconds.
const FAPICodeLifetime = 60
