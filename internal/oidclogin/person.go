package oidclogin

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// subjectMost limits the length of a subject (OpenID Connect Core 1.0, section 2), and groupsMost the number of
	// groups considered.
	subjectMost, groupsMost = 255, 1000
)

// ahead is how far the provider's clock may be ahead of ours.
const ahead = 10 * time.Second

// algorithms are the accepted signature algorithms of ID tokens.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512,
}

// Person is a person who has signed in at a provider.
type Person struct {
	// Issuer and Subject identify the person. They never change.
	Issuer, Subject string
	// Email is the mail address, or "". Confirmed reports whether the provider has verified that the address is the
	// person's.
	Email     string
	Confirmed bool
	// Names are suggestions for a user name, best first. The service may accept none of them.
	Names []string
	// Username and Name are the values of Options.Claims; each may be empty.
	Username, Name string
	// Groups are the sorted groups of the service to which the person's groups are mapped.
	Groups []string
	// Claimed has the person's groups in the provider's names. It is nil if the provider returns no groups.
	Claimed []string
	// AuthTime is when the provider last authenticated the person. It is zero if the provider does not return that
	// time.
	AuthTime time.Time
	// Ask is the Ask that was passed to Begin, without its Hint.
	Ask
}

// verify verifies the ID token and returns its claims, completed by those of the userinfo endpoint.
func (p *Provider) verify(
	ctx context.Context, k *known, s state, token *oauth2.Token, nonce string,
) (map[string]any, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, refused(errors.New("the answer has no id_token"))
	}
	keys := &keySet{KeySet: k.keys}
	id, err := oidc.NewVerifier(p.o.Issuer, keys, &oidc.Config{
		ClientID: p.o.ClientID, Now: p.o.Now, SupportedSigningAlgs: algorithms,
	}).Verify(ctx, raw)
	if err != nil {
		return nil, failed("the id_token", cmp.Or(keys.err, err))
	}
	if id.IssuedAt.Unix() <= 0 || id.IssuedAt.After(p.o.Now().Add(ahead)) {
		return nil, refused(errors.New("the id_token does not say when it was issued, or will be"))
	}
	claims := make(map[string]any)
	if err := id.Claims(&claims); err != nil {
		return nil, refused(err)
	}
	if azp, ok := claims["azp"]; id.Nonce != nonce || ok && azp != p.o.ClientID ||
		!ok && len(id.Audience) > 1 {
		return nil, refused(errors.New("the id_token is of another sign-in or client"))
	}
	if id.Subject == "" || len(id.Subject) > subjectMost {
		return nil, refused(errors.New("the id_token has no good subject"))
	}
	if authenticated := authTime(claims); s.Again && authenticated.Before(s.began.Add(-leeway)) {
		return nil, refused(errors.New("the provider has not asked the person again"))
	}
	if p.lacks(claims) && k.provider.UserInfoEndpoint() != "" {
		info, err := k.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return nil, failed("userinfo", err)
		}
		if info.Subject != id.Subject { // OpenID Connect Core 1.0, section 5.3.2
			return nil, refused(errors.New("userinfo is of another person"))
		}
		more := make(map[string]any)
		if err := info.Claims(&more); err != nil {
			return nil, refused(err)
		}
		if _, ok := claims["email"]; ok { // an address and its verification must come from the same source
			delete(more, "email_verified")
		}
		maps.Copy(more, claims)
		claims = more
	}
	return claims, nil
}

// lacks reports whether an ID token lacks claims that the userinfo endpoint may have.
func (p *Provider) lacks(claims map[string]any) bool {
	for _, name := range []string{p.o.Claims.email(), p.o.Claims.Username, p.o.Claims.Name} {
		if name != "" && claim(claims, name) == nil {
			return true
		}
	}
	return claim(claims, p.o.GroupsClaim) == nil && (len(p.o.Groups) > 0 || slices.Contains(p.o.Wishes, p.o.GroupsClaim))
}

func authTime(claims map[string]any) time.Time {
	if seconds, ok := claims["auth_time"].(float64); ok && seconds > 0 && seconds < 1<<40 {
		return time.Unix(int64(seconds), 0)
	}
	return time.Time{}
}

func (p *Provider) person(claims map[string]any) *Person {
	text := func(name string) string { value, _ := claims[name].(string); return value }
	person := &Person{Issuer: p.o.Issuer, Subject: text("sub"), AuthTime: authTime(claims)}
	p.setNames(person, claims)
	for _, name := range []string{"preferred_username", "nickname", "name", "given_name"} {
		if value := text(name); value != "" {
			person.Names = append(person.Names, value)
		}
	}
	// Some providers send the mail address as the user name.
	slices.SortStableFunc(person.Names, func(a, b string) int {
		return cmp.Compare(strings.Count(a, "@"), strings.Count(b, "@"))
	})
	var claimed []any
	switch groups := claim(claims, p.o.GroupsClaim).(type) {
	case string:
		claimed = []any{groups}
	case []any:
		claimed, person.Claimed = groups[:min(len(groups), groupsMost)], []string{}
	}
	for _, group := range claimed {
		if name, ok := group.(string); ok {
			person.Claimed = append(person.Claimed, name)
			person.Groups = append(person.Groups, p.o.Groups[name]...)
		}
	}
	slices.Sort(person.Groups)
	person.Groups = slices.Compact(person.Groups)
	return person
}
