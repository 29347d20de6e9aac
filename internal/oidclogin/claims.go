package oidclogin

import (
	"cmp"
	"strings"
)

// Claims says which claims describe a person. A name with dots, such as realm_access.roles, is first looked up as it
// is, and then as a path through nested objects.
type Claims struct {
	// Username is the claim with the user name at the provider. Name is the claim with the full name. Default: neither is
	// read.
	Username, Name string
	// Email is the claim with the mail address. Default: email, the only claim to which email_verified applies.
	Email string
}

const emailClaim = "email"

// email returns the name of the claim with the mail address.
func (c *Claims) email() string { return cmp.Or(c.Email, emailClaim) }

// setNames sets the names and the mail address of a person from claims.
func (p *Provider) setNames(person *Person, claims map[string]any) {
	textClaim := func(name string) string {
		if name == "" {
			return ""
		}
		value, _ := claim(claims, name).(string)
		return value
	}
	person.Username = textClaim(p.o.Claims.Username)
	person.Name = textClaim(p.o.Claims.Name)
	person.Email = textClaim(p.o.Claims.email())
	if p.o.Claims.email() == emailClaim {
		switch confirmed := claims["email_verified"].(type) {
		case bool:
			person.Confirmed = confirmed
		case string: // as some providers write it
			person.Confirmed = confirmed == "true"
		}
	}
	person.Confirmed = person.Confirmed || p.o.TrustEmail
}

// maxPath is the maximum number of words in the name of a claim.
const maxPath = 10

// claim returns the value of the claim with the given name, or nil if there is no such claim. The name may be a path
// (see Claims).
func claim(claims map[string]any, name string) any {
	if value, ok := claims[name]; ok {
		return value
	}
	path := strings.SplitN(name, ".", maxPath)
	for _, word := range path[:len(path)-1] {
		inner, ok := claims[word].(map[string]any)
		if !ok {
			return nil
		}
		claims = inner
	}
	return claims[path[len(path)-1]]
}
