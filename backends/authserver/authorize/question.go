package authorize

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
)

// Question is the content of a consent page.
type Question struct {
	// Client is the name of the client.
	Client string
	// SelfDeclared is set if the client chose its name itself and nobody has verified it.
	SelfDeclared bool
	// ClientHost is the host of a client_id that is a URL, and otherwise empty.
	ClientHost string
	Target     Target
	// Parts are the requested permissions, by resource.
	Parts []Part
}

// Target is the application that receives a response, as its redirect URI identifies it.
type Target struct {
	// Host is the host of the redirect URI, with its port. It is empty for a redirect URI with a private-use scheme,
	// which leads to an application on the user's device; see Scheme.
	Host   string
	Scheme string
	// Loopback is set if any program that listens on the user's device can receive the response.
	Loopback bool
}

// Part is the set of permissions that a client requests at one resource.
type Part struct {
	Resource string // the name of the resource; empty for this server
	Scopes   []resources.Scope
}

// Question returns the content of the consent page for a request.
func (s *Authorize) Question(ctx context.Context, r *Request, client *clients.Client) (*Question, error) {
	list, err := s.resources(ctx, r)
	if err != nil {
		return nil, s.refusal(r, err)
	}
	q := &Question{
		Client: cmp.Or(client.Name, client.ID), SelfDeclared: client.SelfDeclared(), Target: TargetOf(r.Redirect),
	}
	if u, err := url.Parse(client.ID); err == nil && client.Source == clients.Document {
		q.ClientHost = u.Host
	}
	candidates := list // resources that may declare the scopes
	if len(list) == 0 {
		if candidates, err = s.Catalog.All(ctx); err != nil {
			return nil, s.refusal(r, err)
		}
	}
	remaining := slices.Clone(r.Scope) // the scopes that no resource has declared so far
	for _, resource := range candidates {
		part := Part{Resource: cmp.Or(resource.DisplayName, resource.Slug)}
		for _, scope := range resource.Scopes {
			if index := slices.Index(remaining, scope.Name); index >= 0 {
				part.Scopes = append(part.Scopes, scope)
				remaining = slices.Delete(remaining, index, index+1)
			}
		}
		isRequested := len(list) > 0
		if len(part.Scopes) > 0 || isRequested {
			q.Parts = append(q.Parts, part)
		}
	}
	serverPart := Part{}
	for _, name := range remaining {
		scope := resources.Scope{Name: name}
		if index := slices.IndexFunc(s.Own, func(scope resources.Scope) bool { return scope.Name == name }); index >= 0 {
			scope = s.Own[index]
		}
		serverPart.Scopes = append(serverPart.Scopes, scope)
	}
	if len(serverPart.Scopes) > 0 {
		q.Parts = append([]Part{serverPart}, q.Parts...)
	}
	return q, nil
}

// TargetOf returns the target of a redirect URI.
func TargetOf(redirect string) Target {
	u, err := url.Parse(redirect)
	if err != nil {
		return Target{}
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return Target{Scheme: u.Scheme}
	}
	ip := net.ParseIP(u.Hostname())
	return Target{
		Host: u.Host, Scheme: u.Scheme,
		Loopback: strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback(),
	}
}

// Source returns the target in the form in which a Content-Security-Policy lists it, to permit that the response to a
// form redirects to the target.
func (t Target) Source() string {
	if t.Host == "" || strings.HasPrefix(t.Host, "[") { // source expressions have no IPv6 addresses
		return t.Scheme + ":"
	}
	return t.Scheme + "://" + t.Host
}
