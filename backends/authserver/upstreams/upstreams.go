// Package upstreams implements sign-in at the OpenID providers of the list upstreams, in addition to the provider of
// the section oidc. It selects the provider, maps the provider's users to users of this server, and connects and
// disconnects their accounts.
package upstreams

import (
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Upstream is an OpenID provider.
type Upstream struct {
	// Slug is the name of the provider in URLs. It is empty for the provider of the section oidc.
	Slug string
	// Name is the display name.
	Name string
	// ClientID identifies this server at the provider. Redirect is the redirect URI that is registered there.
	ClientID, Redirect string
	Provider           *oidclogin.Provider
	// Hidden omits the button on the sign-in page. Domains are mail domains: a person with an address in one of them is
	// sent to this provider.
	Hidden  bool
	Domains []string
	// Registers creates users for unknown people whose mail address is in one of RegistrationDomains. If
	// RegistrationDomains is empty, any address will do.
	Registers           bool
	RegistrationDomains []string
}

// Issuer returns the issuer identifier of the provider, the iss claim of its tokens.
func (u *Upstream) Issuer() string { return u.Provider.Issuer() }

// Options configure the providers. All fields but List and Ways are required.
type Options struct {
	Users *users.Users
	List  []*Upstream
	// Ways are functions that report whether a user can sign in without any provider of the list, for example with a
	// password. They are called before the last connection of a user is removed.
	Ways []func(c store.Conn, user string) (bool, error)
	// Lasts is the maximum time between the redirect to a provider and the redirect back.
	Lasts time.Duration
}

// Upstreams manages the configured providers and the connected accounts. It is safe for concurrent use.
type Upstreams struct {
	*kernel.Server
	Options
}

// New returns the providers of the options.
func New(s *kernel.Server, o Options) *Upstreams { return &Upstreams{s, o} }

// Find returns the provider with a slug, or nil.
func (s *Upstreams) Find(slug string) *Upstream {
	return s.first(func(u *Upstream) bool { return u.Slug == slug })
}

// At returns the provider with an issuer, or nil.
func (s *Upstreams) At(issuer string) *Upstream {
	return s.first(func(u *Upstream) bool { return u.Issuer() == issuer })
}

// OfAddress returns the provider for the domain of a mail address, or nil.
func (s *Upstreams) OfAddress(email string) *Upstream {
	domain := domainOf(email)
	return s.first(func(u *Upstream) bool { return domain != "" && slices.Contains(u.Domains, domain) })
}

// ByAddress reports whether a mail address can select a provider: whether any provider has mail domains.
func (s *Upstreams) ByAddress() bool {
	return s.first(func(u *Upstream) bool { return len(u.Domains) > 0 }) != nil
}

// Shown returns the providers that are not hidden.
func (s *Upstreams) Shown() []*Upstream {
	return slices.DeleteFunc(slices.Clone(s.List), func(u *Upstream) bool { return u.Hidden })
}

func (s *Upstreams) first(match func(u *Upstream) bool) *Upstream {
	if i := slices.IndexFunc(s.List, match); i >= 0 {
		return s.List[i]
	}
	return nil
}

// domainOf returns the normalized domain of a mail address, or "" if the text is not an address.
func domainOf(email string) string {
	email, err := mailaddress.Parse(email)
	if err != nil {
		return ""
	}
	_, domain, _ := strings.Cut(mailaddress.Key(email), "@")
	return domain
}
