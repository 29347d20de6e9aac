package authorize

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
)

// Question is what a person is asked, by a page.
type Question struct {
	// Client is the name of the application.
	Client string
	// SelfDeclared tells that the application has given itself the name: nobody has checked it.
	SelfDeclared bool
	// ClientHost is the host of a client_id that is a URL; empty: it is none.
	ClientHost string
	Target     Target
	// Parts are what it asks for, by resource.
	Parts []Part
}

// Target is where an answer goes.
type Target struct {
	// Host of the redirect URI, with its port; empty: an application on this device,
	// of Scheme.
	Host   string
	Scheme string
	// Loopback: whatever program listens on this device gets the answer.
	Loopback bool
}

// Part is what a client asks for at a resource.
type Part struct {
	Resource string // its name; empty: this server
	Scopes   []resources.Scope
}

// Question is what a person must be asked for a request.
func (s *Authorize) Question(ctx context.Context, r *Request, client *clients.Client) (*Question, error) {
	list, err := s.resources(ctx, r)
	if err != nil {
		return nil, s.refusal(r, err)
	}
	q := &Question{Client: client.Name, SelfDeclared: client.SelfDeclared(), Target: TargetOf(r.Redirect)}
	if q.Client == "" {
		q.Client = client.ID
	}
	if u, err := url.Parse(client.ID); err == nil && client.Source == clients.Document {
		q.ClientHost = u.Host
	}
	named := list
	if len(list) == 0 {
		if named, err = s.Catalog.All(ctx); err != nil {
			return nil, s.refusal(r, err)
		}
	}
	left := slices.Clone(r.Scope)
	for _, one := range named {
		part := Part{Resource: one.DisplayName}
		if part.Resource == "" {
			part.Resource = one.Slug
		}
		for _, scope := range one.Scopes {
			if at := slices.Index(left, scope.Name); at >= 0 {
				part.Scopes = append(part.Scopes, scope)
				left = slices.Delete(left, at, at+1)
			}
		}
		if len(part.Scopes) > 0 || len(list) > 0 {
			q.Parts = append(q.Parts, part)
		}
	}
	own := Part{}
	for _, word := range left {
		scope := resources.Scope{Name: word}
		if at := slices.IndexFunc(s.Own, func(own resources.Scope) bool { return own.Name == word }); at >= 0 {
			scope = s.Own[at]
		}
		own.Scopes = append(own.Scopes, scope)
	}
	if len(own.Scopes) > 0 {
		q.Parts = append([]Part{own}, q.Parts...)
	}
	return q, nil
}

// TargetOf is where a redirect URI leads, as it is and not as it looks.
func TargetOf(redirect string) Target {
	u, err := url.Parse(redirect)
	if err != nil {
		return Target{}
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return Target{Scheme: u.Scheme}
	}
	ip := net.ParseIP(u.Hostname())
	return Target{Host: u.Host, Scheme: u.Scheme, Loopback: strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback()}
}

// Source is the target as a Content-Security-Policy names it, for the form that leads
// there by a redirect.
func (t Target) Source() string {
	if t.Host == "" || strings.HasPrefix(t.Host, "[") { // the policy has no addresses of IPv6
		return t.Scheme + ":"
	}
	return t.Scheme + "://" + t.Host
}
