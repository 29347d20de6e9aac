package tokens

import "slices"

// The authentication context classes (acr, OpenID Connect Core section 2) of this server: how many
// factors a person has proved when they signed in.
const (
	OneFactor  = "1"
	TwoFactors = "2"
)

// Classes lists them, for discovery.
func Classes() []string { return []string{OneFactor, TwoFactors} }

// ClassOf returns the class of a sign-in by the methods of amr (RFC 8176). It is empty where the
// methods are not known, as of a sign-in at another server.
func ClassOf(methods []string) string {
	switch {
	case len(methods) == 0:
		return ""
	case slices.Contains(methods, "mfa"):
		return TwoFactors
	}
	return OneFactor
}
