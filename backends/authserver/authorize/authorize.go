// Package authorize is the authorization endpoint (RFC 6749 section 3.1, OAuth 2.1) but
// for its pages: it checks what a client asks for, decides what the person must be asked,
// and answers the client. What happens between the pages is carried by the browser, in a
// transaction that is good in that browser alone, for ten minutes.
package authorize

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/consent"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// decisions is the metric of what people decide.
const decisions = "consent_decisions_total"

// life is that of a transaction.
const life = 10 * time.Minute

// Codes issues authorization codes.
type Codes interface {
	IssueCode(ctx context.Context, g tokens.Grant) (code string, err error)
}

// Authorize is the endpoint.
type Authorize struct {
	*kernel.Server
	Clients  *clients.Clients
	Catalog  *resources.Catalog
	Consents *consent.Consents
	Tokens   Codes
	// Own are the scopes of this server itself, such as openid.
	Own []resources.Scope
	// DPoP binds codes to the keys that dpop_jkt names (RFC 9449 section 10).
	DPoP bool
	// Hinted is whom an ID token is about that this server made, and for which client; empty:
	// it is none. Default: none is looked at.
	Hinted func(ctx context.Context, token string) (subject, client string, err error)
	// SecondFactor: who signs in with a password gets nothing without one.
	SecondFactor bool
}

// Seal makes of a request the transaction that a browser carries. visit is the secret of
// the browser.
func (s *Authorize) Seal(r *Request, visit string) string {
	raw, err := json.Marshal(r)
	if err != nil {
		panic(err) // texts and numbers
	}
	return s.Signer("authorize").Sign(raw, visit)
}

// Open is the request of a transaction. Who has redirected the browser may have changed
// since, so the client is looked at again. The error is a *RefusalError where the client is to be
// told.
func (s *Authorize) Open(ctx context.Context, transaction, visit string) (*Request, *clients.Client, error) {
	raw, ok := s.Signer("authorize").Open(transaction, visit)
	r := new(Request)
	if !ok || visit == "" || json.Unmarshal(raw, r) != nil {
		return nil, nil, page("this sign-in does not belong to this browser; go back to the application and begin there")
	}
	if s.Now().Sub(time.UnixMicro(r.At)) >= life {
		return nil, nil, page("this sign-in was begun more than ten minutes ago; go back to the application and begin there")
	}
	redirect := ""
	if r.RedirectGiven {
		redirect = r.Redirect
	}
	was := r.Redirect
	client, err := s.client(ctx, r, redirect, s.Clients.Find)
	if err != nil {
		return nil, nil, err
	}
	if r.Redirect != was {
		return nil, nil, page("the application has changed since this sign-in was begun; go back to it and begin there")
	}
	if err := s.Within(r, client); err != nil {
		return nil, nil, s.refusal(r, err)
	}
	return r, client, nil
}

// Within refuses a request for more than the client may ask for by now.
func (s *Authorize) Within(r *Request, client *clients.Client) error {
	return resources.Within(r.Scope, s.Clients.Ceiling(client))
}

// Step is what is next for a request.
type Step int

// The steps.
const (
	// SignIn: the person must sign in, or once more.
	SignIn Step = iota
	// Prove: the person must prove, or set up, a second factor.
	Prove
	// Consent: the person must be asked.
	Consent
	// Done: the answer is Location.
	Done
)

// Next is what a request needs of a person who is signed in (nil: nobody is). location
// is where Done leads. The error is a *RefusalError.
func (s *Authorize) Next(ctx context.Context, r *Request, by *login.Session) (step Step, location string, err error) {
	signedIn, err := s.SignedIn(r, by)
	if err != nil || !signedIn {
		return SignIn, "", err
	}
	switch {
	case r.Two && len(by.Methods) == 0:
		return 0, "", s.refusal(r, kernel.Refuse(unmetAuthentication, "the person signs in at another server, which does not tell of a second factor"))
	case !s.Needs(r, by):
	case r.Silent && r.Two:
		return 0, "", s.refusal(r, kernel.Refuse(unmetAuthentication, "the person has not proved a second factor"))
	case r.Silent:
		return 0, "", s.refusal(r, kernel.Refuse(interactionRequired, "a second factor is needed"))
	default:
		return Prove, "", nil
	}
	if r.Ask {
		return Consent, "", nil
	}
	client, needs, err := s.needs(ctx, r)
	if err != nil {
		return 0, "", s.refusal(r, err)
	}
	ids, covered, err := s.Consents.Covers(ctx, by.User.ID, client, needs)
	switch {
	case err != nil:
		return 0, "", s.refusal(r, err)
	case !covered && client.FirstParty():
		// A grant like any other, for what is exchanged later and for who revokes it.
		if ids, err = s.Consents.Approve(ctx, by.User.ID, client, needs, needs); err != nil {
			return 0, "", s.refusal(r, err)
		}
		s.Audit(ctx, kernel.Event{Action: "consent.granted", Actor: by.User.ID, Client: r.Client, Detail: []string{"scope", strings.Join(r.Scope, " "), "by", "first_party"}})
		fallthrough
	case covered:
		location, err = s.issue(ctx, r, s.grant(r, by, r.Scope, ids))
		return Done, location, err
	case r.Silent:
		return 0, "", s.refusal(r, kernel.Refuse(consentRequired, "the person has not granted this yet"))
	}
	return Consent, "", nil
}

// Needs reports whether who is signed in has to prove a second factor for a request, which they have
// not proved yet.
func (s *Authorize) Needs(r *Request, by *login.Session) bool {
	return (s.SecondFactor || r.Two) && !by.Two()
}

// SignedIn reports whether who is signed in (nil: nobody) is as a request asks for; false: they
// have to sign in. The error is a *RefusalError where that is not to be asked, or leads to
// another than the client means.
func (s *Authorize) SignedIn(r *Request, by *login.Session) (bool, error) {
	if by == nil || by.AuthTime.UnixMicro() < r.SignedInSince {
		if r.Silent {
			return false, s.refusal(r, kernel.Refuse(loginRequired, "nobody is signed in"))
		}
		return false, nil
	}
	if r.Subject == "" || r.Subject == by.User.ID {
		return true, nil
	}
	if r.Silent || by.AuthTime.UnixMicro() >= r.At {
		return false, s.refusal(r, kernel.Refuse(loginRequired, "somebody else is signed in than id_token_hint is about"))
	}
	return false, nil
}

// needs are what must be granted for a request.
func (s *Authorize) needs(ctx context.Context, r *Request) (*clients.Client, []consent.Need, error) {
	client, err := s.Clients.Find(ctx, r.Client)
	if err != nil {
		return nil, nil, err
	}
	list, err := s.resources(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	return client, s.divide(list, r.Scope), nil
}

// divide is the scopes of a request by the resource that declares them. What is of this
// server, and all where no resource is named, is of none.
func (s *Authorize) divide(list []*resources.Resource, scope []string) []consent.Need {
	needs := make([]consent.Need, 0, len(list)+1)
	for _, one := range list {
		need := consent.Need{Resource: one.ID}
		for _, word := range scope {
			if slices.ContainsFunc(one.Scopes, func(s resources.Scope) bool { return s.Name == word }) {
				need.Scope = append(need.Scope, word)
			}
		}
		needs = append(needs, need)
	}
	rest := consent.Need{}
	for _, word := range scope {
		if len(list) == 0 || s.own(word) {
			rest.Scope = append(rest.Scope, word)
		}
	}
	if len(list) == 0 || len(rest.Scope) > 0 {
		needs = append(needs, rest)
	}
	return needs
}

// Allow stores what a person approves of a request, and returns where that leads. The
// same may be sent twice: each time it is a new code, of which the client gets one.
func (s *Authorize) Allow(ctx context.Context, r *Request, client *clients.Client, by *login.Session, approved []string, address string) (location string, err error) {
	g, err := s.Grant(ctx, r, client, by, approved, address)
	if _, told := apierror.From(err); err != nil && !told {
		return "", s.refusal(r, err)
	}
	if err != nil {
		return "", err
	}
	return s.issue(ctx, r, g)
}

// Grant stores what a person approves of a request.
func (s *Authorize) Grant(ctx context.Context, r *Request, client *clients.Client, by *login.Session, approved []string, address string) (g tokens.Grant, err error) {
	for _, word := range approved {
		if !slices.Contains(r.Scope, word) {
			return g, page("the form approves what was not asked for")
		}
	}
	if len(approved) == 0 && len(r.Scope) > 0 {
		return g, page("nothing was chosen that the application may do; go back and choose something, or deny")
	}
	approved = slices.DeleteFunc(slices.Clone(r.Scope), func(word string) bool { return !slices.Contains(approved, word) })
	list, err := s.resources(ctx, r)
	if err != nil {
		return g, err
	}
	asked := s.divide(list, r.Scope)
	granted := slices.Clone(asked)
	for i := range granted { // one of which nothing was approved takes back what was granted before
		granted[i].Scope = slices.DeleteFunc(slices.Clone(asked[i].Scope), func(word string) bool { return !slices.Contains(approved, word) })
	}
	ids, err := s.Consents.Approve(ctx, by.User.ID, client, asked, granted)
	if err != nil {
		return g, err
	}
	s.Count(decisions, "granted")
	s.Audit(ctx, kernel.Event{Action: "consent.granted", Actor: by.User.ID, Client: r.Client, Address: address, Detail: []string{"scope", strings.Join(approved, " ")}})
	return s.grant(r, by, approved, ids), nil
}

// Deny tells the client that the person does not want it.
func (s *Authorize) Deny(ctx context.Context, r *Request, by *login.Session, address string) (location string) {
	s.Denied(ctx, r, by, address)
	return s.Location(&RefusalError{r, kernel.Refuse(kernel.AccessDenied, "the person has denied the request")})
}

// Denied writes down that the person does not want it.
func (s *Authorize) Denied(ctx context.Context, r *Request, by *login.Session, address string) {
	s.Count(decisions, "denied")
	s.Audit(ctx, kernel.Event{Action: "consent.denied", Actor: by.User.ID, Client: r.Client, Address: address})
}

// grant is what a request gets.
func (s *Authorize) grant(r *Request, by *login.Session, scope, consents []string) tokens.Grant {
	return tokens.Grant{
		Client: r.Client, User: by.User.ID, Scope: scope, Resources: r.Resources, Consents: consents,
		RedirectURI: r.Redirect, RedirectGiven: r.RedirectGiven, Challenge: r.Challenge, Nonce: r.Nonce, JKT: r.JKT,
		AuthTime: by.AuthTime, Methods: by.Methods, Session: by.ID,
	}
}

// issue makes a code.
func (s *Authorize) issue(ctx context.Context, r *Request, g tokens.Grant) (location string, err error) {
	code, err := s.Tokens.IssueCode(ctx, g)
	if err != nil {
		return "", s.refusal(r, err)
	}
	return s.answer(r, "code", code), nil
}

// Location is where a refusal leads: back to the client.
func (s *Authorize) Location(refusal *RefusalError) string {
	return s.answer(refusal.Request, "error", refusal.Reason.Code, "error_description", refusal.Reason.Message)
}

// answer is the redirect URI with what the client is told. The parameters that it has
// stay, and it always says who answers (RFC 9207).
func (s *Authorize) answer(r *Request, pairs ...string) string {
	pairs = append(pairs, "iss", s.Issuer)
	if len(r.State) > 0 {
		pairs = append(pairs, "state", string(r.State))
	}
	var b strings.Builder
	b.WriteString(r.Redirect)
	glue := byte('?')
	if strings.Contains(r.Redirect, "?") {
		glue = '&'
	}
	for i := 0; i < len(pairs); i += 2 {
		b.WriteByte(glue)
		b.WriteString(pairs[i] + "=" + url.QueryEscape(pairs[i+1]))
		glue = '&'
	}
	return b.String()
}
