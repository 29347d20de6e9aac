package tokens

import "slices"

// The authentication context classes (acr, OpenID Connect Core section 2) of this server. A class is the number of
// factors with which the user signed in.
const (
	OneFactor  = "1"
	TwoFactors = "2"
)

// Classes returns the authentication context classes, for discovery.
func Classes() []string { return []string{OneFactor, TwoFactors} }

// ClassOf returns the class of a sign-in with the given authentication methods (amr, RFC 8176). Without methods, such
// as after a sign-in at another server, it returns "".
func ClassOf(methods []string) string {
	switch {
	case len(methods) == 0:
		return ""
	case slices.Contains(methods, "mfa"):
		return TwoFactors
	}
	return OneFactor
}
