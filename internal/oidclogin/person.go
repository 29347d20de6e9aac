package oidclogin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// maxSubject limits the length of a subject, in bytes (OpenID Connect Core 1.0, section 2).
	maxSubject = 255
	// maxGroups limits the number of groups that are read.
	maxGroups = 1000
	// maxClockLead is how far the provider's clock may be ahead of ours.
	maxClockLead = 10 * time.Second
)

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
	ctx context.Context, m *metadata, s state, token *oauth2.Token, nonce string,
) (map[string]any, error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, refused(errors.New("the token response has no id_token"))
	}
	keys := &keySet{KeySet: m.keys}
	id, err := oidc.NewVerifier(p.o.Issuer, keys, &oidc.Config{
		ClientID: p.o.ClientID, Now: p.o.Now, SupportedSigningAlgs: algorithms,
	}).Verify(ctx, raw)
	if err != nil {
		return nil, stepError("verifying the id_token", cmp.Or(keys.err, err))
	}
	if id.IssuedAt.Unix() <= 0 || id.IssuedAt.After(p.o.Now().Add(maxClockLead)) {
		return nil, refused(errors.New("the time of issue in the id_token is missing or in the future"))
	}
	claims := make(map[string]any)
	if err := id.Claims(&claims); err != nil {
		return nil, refused(err)
	}
	// OpenID Connect Core 1.0, section 3.1.3.7
	if azp, ok := claims["azp"]; id.Nonce != nonce || ok && azp != p.o.ClientID ||
		!ok && len(id.Audience) > 1 {
		return nil, refused(errors.New("the id_token was issued for another sign-in or client"))
	}
	if id.Subject == "" || len(id.Subject) > maxSubject {
		return nil, refused(fmt.Errorf("the id_token has no subject, or one with more than %d bytes", maxSubject))
	}
	if authenticated := authTime(claims); s.Again && authenticated.Before(s.began.Add(-leeway)) {
		return nil, refused(errors.New("the provider has not authenticated the person again"))
	}
	if p.lacks(claims) && m.provider.UserInfoEndpoint() != "" {
		return withUserInfo(ctx, m, token, id.Subject, claims)
	}
	return claims, nil
}

// withUserInfo returns the claims of an ID token, completed by those of the userinfo endpoint. subject is the subject
// of the ID token.
func withUserInfo(
	ctx context.Context, m *metadata, token *oauth2.Token, subject string, claims map[string]any,
) (map[string]any, error) {
	info, err := m.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, stepError("fetching userinfo", err)
	}
	if info.Subject != subject { // OpenID Connect Core 1.0, section 5.3.2
		return nil, refused(errors.New("userinfo has another subject than the id_token"))
	}
	merged := make(map[string]any)
	if err := info.Claims(&merged); err != nil {
		return nil, refused(err)
	}
	if _, ok := claims["email"]; ok { // an address and its verification must come from the same source
		delete(merged, "email_verified")
	}
	maps.Copy(merged, claims)
	return merged, nil
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

// authTime returns the claim auth_time, or the zero time if it is missing or out of range.
func authTime(claims map[string]any) time.Time {
	if seconds, ok := claims["auth_time"].(float64); ok && seconds > 0 && seconds < 1<<40 {
		return time.Unix(int64(seconds), 0)
	}
	return time.Time{}
}

// person returns the person whom claims describe, without Ask.
func (p *Provider) person(claims map[string]any) *Person {
	textClaim := func(name string) string { value, _ := claims[name].(string); return value }
	person := &Person{Issuer: p.o.Issuer, Subject: textClaim("sub"), AuthTime: authTime(claims)}
	p.setNames(person, claims)
	for _, name := range []string{"preferred_username", "nickname", "name", "given_name"} {
		if value := textClaim(name); value != "" {
			person.Names = append(person.Names, value)
		}
	}
	// Some providers send the mail address as the user name.
	slices.SortStableFunc(person.Names, func(a, b string) int {
		return cmp.Compare(strings.Count(a, "@"), strings.Count(b, "@"))
	})
	var groups []any
	switch value := claim(claims, p.o.GroupsClaim).(type) {
	case string:
		groups = []any{value}
	case []any:
		groups = value[:min(len(value), maxGroups)]
		person.Claimed = []string{} // not nil, even without groups
	}
	for _, group := range groups {
		if name, ok := group.(string); ok {
			person.Claimed = append(person.Claimed, name)
			person.Groups = append(person.Groups, p.o.Groups[name]...)
		}
	}
	slices.Sort(person.Groups)
	person.Groups = slices.Compact(person.Groups)
	return person
}
