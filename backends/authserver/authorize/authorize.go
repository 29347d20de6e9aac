// Package authorize implements the authorization endpoint (RFC 6749 section 3.1, OAuth 2.1) without its pages. It
// checks authorization requests, decides whether the user must sign in or give consent, and responds to the client. The
// browser carries the request from page to page in a signed transaction, which is valid in that browser only, for ten
// minutes.
package authorize

import (
	"context"
	"encoding/json"
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

// decisions is the name of the metric that counts consent decisions.
const decisions = "consent_decisions_total"

// life is how long a transaction is valid.
const life = 10 * time.Minute

// Codes issues authorization codes.
type Codes interface {
	IssueCode(ctx context.Context, g tokens.Grant) (code string, err error)
}

// Authorize implements the authorization endpoint.
type Authorize struct {
	*kernel.Server
	Clients  *clients.Clients
	Catalog  *resources.Catalog
	Consents *consent.Consents
	Tokens   Codes
	// Own are the scopes that belong to this server and not to a resource, such as openid.
	Own []resources.Scope
	// DPoP enables the binding of codes to the key of dpop_jkt (RFC 9449 section 10).
	DPoP bool
	// Hinted returns the subject and the client of an ID token from id_token_hint. The subject is empty if this server
	// did not issue the token. If Hinted is nil, id_token_hint is ignored.
	Hinted func(ctx context.Context, token string) (subject, client string, err error)
	// SecondFactor requires a second factor of every user who signs in with a password.
	SecondFactor bool
	// FormPost permits clients to request response_mode=form_post.
	FormPost bool
}

// Seal returns the signed transaction that carries a request. visitSecret is a secret that the browser has. The
// transaction is valid only in that browser.
func (s *Authorize) Seal(r *Request, visitSecret string) string {
	raw, err := json.Marshal(r)
	if err != nil {
		panic(err) // texts and numbers can be encoded
	}
	return s.Signer("authorize").Sign(raw, visitSecret)
}

// Open returns the request of a transaction and its client. It reads the client again, since the client may have
// changed in the meantime. A *RefusalError must be sent to the client, and any other error shown to the user.
func (s *Authorize) Open(ctx context.Context, transaction, visitSecret string) (*Request, *clients.Client, error) {
	raw, ok := s.Signer("authorize").Open(transaction, visitSecret)
	r := new(Request)
	if !ok || visitSecret == "" || json.Unmarshal(raw, r) != nil {
		return nil, nil, pageError(
			"this sign-in does not belong to this browser; go back to the application and begin there")
	}
	if s.Now().Sub(time.UnixMicro(r.At)) >= life {
		return nil, nil, pageError(
			"this sign-in was begun more than ten minutes ago; go back to the application and begin there")
	}
	givenRedirect := ""
	if r.RedirectGiven {
		givenRedirect = r.Redirect
	}
	previousRedirect := r.Redirect
	client, err := s.setRedirect(ctx, r, givenRedirect, s.Clients.Find)
	if err != nil {
		return nil, nil, err
	}
	if r.Redirect != previousRedirect {
		return nil, nil, pageError(
			"the application has changed since this sign-in was begun; go back to it and begin there")
	}
	if err := s.Within(r, client); err != nil {
		return nil, nil, s.refusal(r, err)
	}
	return r, client, nil
}

// Within returns an error if the scope of a request exceeds the maximum scope that the client may now request.
func (s *Authorize) Within(r *Request, client *clients.Client) error {
	return resources.Within(r.Scope, s.Clients.Ceiling(client))
}

// Step is the next step in handling a request.
type Step int

// The steps of a request.
const (
	// SignIn means that the user must sign in, or sign in again.
	SignIn Step = iota
	// Prove means that the user must prove or set up a second factor.
	Prove
	// Consent means that the user must be asked for consent.
	Consent
	// Done means that the response can be sent.
	Done
)

// Next returns the next step of a request. The session is that of the signed-in user, or nil. If the step is Done,
// response is the response to the client, and otherwise nil. The error is a *RefusalError.
func (s *Authorize) Next(
	ctx context.Context, r *Request, session *login.Session,
) (step Step, response *Response, err error) {
	signedIn, err := s.SignedIn(r, session)
	if err != nil || !signedIn {
		return SignIn, nil, err
	}
	if r.TwoFactors && len(session.Methods) == 0 {
		return 0, nil, s.refusal(r, kernel.Refuse(unmetAuthentication,
			"the user signs in at another server, which did not report a second factor"))
	}
	if s.NeedsSecondFactor(r, session) {
		switch {
		case !r.Silent:
			return Prove, nil, nil
		case r.TwoFactors:
			return 0, nil, s.refusal(r, kernel.Refuse(unmetAuthentication, "the user has not used a second factor"))
		}
		return 0, nil, s.refusal(r, kernel.Refuse(interactionRequired, "a second factor is required"))
	}
	if r.Ask {
		return Consent, nil, nil
	}
	client, needs, err := s.clientAndNeeds(ctx, r)
	if err != nil {
		return 0, nil, s.refusal(r, err)
	}
	ids, covered, err := s.Consents.Covers(ctx, session.User.ID, client, needs)
	if err == nil && !covered && client.FirstParty() {
		covered = true
		ids, err = s.approveFirstParty(ctx, r, session, client, needs)
	}
	switch {
	case err != nil:
		return 0, nil, s.refusal(r, err)
	case covered:
		response, err = s.issue(ctx, r, s.grant(r, session, r.Scope, ids))
		return Done, response, err
	case r.Silent:
		return 0, nil, s.refusal(r, kernel.Refuse(consentRequired, "the user has not granted the requested scope yet"))
	}
	return Consent, nil, nil
}

// approveFirstParty approves a request of an application of the operator without asking the user, and returns the ids
// of the consents. They are stored like any other, since token exchange and revocation refer to them.
func (s *Authorize) approveFirstParty(
	ctx context.Context, r *Request, session *login.Session, client *clients.Client, needs []consent.Need,
) (ids []string, err error) {
	if ids, err = s.Consents.Approve(ctx, session.User.ID, client, needs, needs); err != nil {
		return nil, err
	}
	s.Audit(ctx, kernel.Event{
		Action: "consent.granted", Actor: session.User.ID, Client: r.Client,
		Detail: []string{"scope", strings.Join(r.Scope, " "), "by", "first_party"},
	})
	return ids, nil
}

// NeedsSecondFactor reports whether a request requires a second factor that the signed-in user has not yet proved.
func (s *Authorize) NeedsSecondFactor(r *Request, session *login.Session) bool {
	return (s.SecondFactor || r.TwoFactors) && !session.HasSecondFactor()
}

// SignedIn reports whether the user is signed in as a request requires. The session is nil if no user is signed in. If
// SignedIn returns false, the user must sign in. It returns a *RefusalError if the request forbids interaction, or if
// the signed-in user is not the user that the client expects.
func (s *Authorize) SignedIn(r *Request, session *login.Session) (bool, error) {
	if session == nil || session.AuthTime.UnixMicro() < r.SignedInSince {
		if r.Silent {
			return false, s.refusal(r, kernel.Refuse(loginRequired, "nobody is signed in"))
		}
		return false, nil
	}
	if r.Subject == "" || r.Subject == session.User.ID {
		return true, nil
	}
	// Another user is signed in. If that user has just signed in for this request, asking again would not help.
	if r.Silent || session.AuthTime.UnixMicro() >= r.At {
		return false, s.refusal(r, kernel.Refuse(loginRequired, "the signed-in user is not the user of id_token_hint"))
	}
	return false, nil
}

// clientAndNeeds returns the client of a request and the consents that the request needs.
func (s *Authorize) clientAndNeeds(ctx context.Context, r *Request) (*clients.Client, []consent.Need, error) {
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

// divide groups the scopes of a request by the resource that declares them. The scopes of this server form a group
// without a resource. Without resources, all scopes form that group.
func (s *Authorize) divide(list []*resources.Resource, scope []string) []consent.Need {
	needs := make([]consent.Need, 0, len(list)+1)
	for _, resource := range list {
		need := consent.Need{Resource: resource.ID}
		for _, name := range scope {
			if slices.ContainsFunc(resource.Scopes, func(s resources.Scope) bool { return s.Name == name }) {
				need.Scope = append(need.Scope, name)
			}
		}
		needs = append(needs, need)
	}
	serverNeed := consent.Need{}
	for _, name := range scope {
		if len(list) == 0 || s.isOwn(name) {
			serverNeed.Scope = append(serverNeed.Scope, name)
		}
	}
	if len(list) == 0 || len(serverNeed.Scope) > 0 {
		needs = append(needs, serverNeed)
	}
	return needs
}

// Allow stores that the user has approved scopes of a request, and returns the response with a new code. The address is
// the IP address of the user, for the audit event. If a form is submitted twice, each submission creates a code, of
// which the client receives one. A *RefusalError must be sent to the client, and any other error shown to the user.
func (s *Authorize) Allow(
	ctx context.Context, r *Request, client *clients.Client, session *login.Session, approved []string, address string,
) (*Response, error) {
	g, err := s.Grant(ctx, r, client, session, approved, address)
	if err != nil {
		if _, ok := apierror.From(err); ok { // shown to the user
			return nil, err
		}
		return nil, s.refusal(r, err)
	}
	return s.issue(ctx, r, g)
}

// Grant stores the approved scopes as the user's consents, and returns the grant for the code. A requested scope that
// is not approved is also removed from earlier consents.
func (s *Authorize) Grant(
	ctx context.Context, r *Request, client *clients.Client, session *login.Session, approved []string, address string,
) (g tokens.Grant, err error) {
	for _, word := range approved {
		if !slices.Contains(r.Scope, word) {
			return g, pageError("the form approves permissions that the application did not request")
		}
	}
	if len(approved) == 0 && len(r.Scope) > 0 {
		return g, pageError("no permission was chosen; go back and choose at least one, or deny the request")
	}
	// The approved scopes are put in the order of the request, and duplicates in the form are dropped.
	approved = slices.DeleteFunc(slices.Clone(r.Scope), func(word string) bool { return !slices.Contains(approved, word) })
	list, err := s.resources(ctx, r)
	if err != nil {
		return g, err
	}
	requested := s.divide(list, r.Scope)
	granted := slices.Clone(requested)
	for i := range granted { // a resource of which nothing was approved loses what was granted before
		granted[i].Scope = slices.DeleteFunc(slices.Clone(requested[i].Scope),
			func(word string) bool { return !slices.Contains(approved, word) })
	}
	ids, err := s.Consents.Approve(ctx, session.User.ID, client, requested, granted)
	if err != nil {
		return g, err
	}
	s.Count(decisions, "granted")
	s.Audit(ctx, kernel.Event{
		Action: "consent.granted", Actor: session.User.ID, Client: r.Client, Address: address,
		Detail: []string{"scope", strings.Join(approved, " ")},
	})
	return s.grant(r, session, approved, ids), nil
}

// Deny records that the user denied a request, and returns the response to the client.
func (s *Authorize) Deny(ctx context.Context, r *Request, session *login.Session, address string) *Response {
	s.Denied(ctx, r, session, address)
	return s.Refused(&RefusalError{r, kernel.Refuse(kernel.AccessDenied, "the user has denied the request")})
}

// Denied records that the user denied a request.
func (s *Authorize) Denied(ctx context.Context, r *Request, session *login.Session, address string) {
	s.Count(decisions, "denied")
	s.Audit(ctx, kernel.Event{Action: "consent.denied", Actor: session.User.ID, Client: r.Client, Address: address})
}

// grant returns the grant for a request, with the scope and the ids of the consents.
func (s *Authorize) grant(r *Request, session *login.Session, scope, consents []string) tokens.Grant {
	return tokens.Grant{
		Client: r.Client, User: session.User.ID, Scope: scope, Resources: r.Resources, Consents: consents,
		RedirectURI: r.Redirect, RedirectGiven: r.RedirectGiven, Challenge: r.Challenge, Nonce: r.Nonce, JKT: r.JKT,
		AuthTime: session.AuthTime, Methods: session.Methods, Session: session.ID,
	}
}

// issue creates the code for a grant and returns the response that contains it.
func (s *Authorize) issue(ctx context.Context, r *Request, g tokens.Grant) (*Response, error) {
	code, err := s.Tokens.IssueCode(ctx, g)
	if err != nil {
		return nil, s.refusal(r, err)
	}
	return s.newResponse(r, "code", code), nil
}
