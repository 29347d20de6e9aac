package connections

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// renewEarly is the time before the expiry of an access token at which the token is renewed.
	renewEarly = 30 * time.Second
	// leaseLasts is how long other processes wait for the process that renews a credential. It is longer than a request
	// to the provider takes.
	leaseLasts = 20 * time.Second
	// leasePoll is the interval at which waiting processes check for the renewed credential.
	leasePoll = 50 * time.Millisecond
	// storeTries is how long storing a renewed credential is attempted, and storePoll the interval between the attempts.
	storeTries, storePoll = 10 * time.Minute, 200 * time.Millisecond
)

// Exchange returns the provider's token for a resource and scopes of this server: from the user's connection, or from
// the service account if the provider has one for all users. If the user has no connection, or too few scopes were
// granted, the error is a *kernel.ConsentError.
func (x *Connections) Exchange(
	ctx context.Context, user string, r *resources.Resource, scope []string,
) (answer tokens.Answer, err error) {
	p, err := x.options.Brokers.Find(ctx, r.Provider)
	if errors.Is(err, brokers.ErrUnknown) {
		return answer, kernel.Refuse(kernel.InvalidTarget, "the resource %s has no provider here", r.Slug)
	}
	if err != nil {
		return answer, err
	}
	var credential brokers.Credential
	switch p.Protocol {
	case brokers.ServiceAccount:
		credential, err = x.serviceAccountToken(ctx, p, upstream(r, scope))
	default:
		credential, err = x.userCredential(ctx, user, p, r, scope)
	}
	if err != nil {
		return answer, x.unusable(p, err)
	}
	x.Count("upstream_token_issued_total", p.Slug)
	answer.AccessToken = credential.Access
	if credential.Expires != 0 {
		answer.ExpiresIn = time.UnixMicro(credential.Expires).Sub(x.Now())
	}
	return answer, nil
}

// unusable converts the error of a request to a provider to the error for the client.
func (x *Connections) unusable(p *brokers.Provider, err error) error {
	if wrong, ok := errors.AsType[*brokers.ConfigError](err); ok {
		return x.misconfigured(p, wrong)
	}
	if failed, ok := errors.AsType[*brokers.UpstreamError](err); ok {
		return errors.Join(kernel.Refuse(kernel.Unavailable,
			"the provider %s does not issue tokens at the moment, try again shortly", p.Slug), failed)
	}
	return err
}

// consentError returns the error for a client whose user must first connect the provider. The cause is one of the
// causes of a kernel.ConsentError. The error contains the URL of the page on which the user connects the provider.
func (x *Connections) consentError(
	ctx context.Context, cause string, p *brokers.Provider, r *resources.Resource,
) error {
	consentURL := x.Issuer + Path + url.PathEscape(p.Slug)
	if p.Protocol == brokers.APIKey {
		if c, err := x.options.Brokers.APIKey(p); err == nil && c.IssuanceInstructionsURL != "" {
			consentURL = c.IssuanceInstructionsURL
		}
	} else if _, err := x.resource(ctx, p, ""); err != nil { // several resources use the provider
		consentURL += "?" + url.Values{"resource": {r.Slug}}.Encode()
	}
	return kernel.RequireConsent(cause, consentURL,
		"the user has not connected %s, or not with all requested scopes; send the user to consent_url", p.Slug)
}

// userCredential returns a user's credential at a provider. If the access token is about to expire, userCredential
// renews it first. If the provider has not granted the whole scope, the error is a *kernel.ConsentError.
func (x *Connections) userCredential(
	ctx context.Context, user string, p *brokers.Provider, r *resources.Resource, scope []string,
) (credential brokers.Credential, err error) {
	connection, err := x.find(ctx, user, p.ID)
	if errors.Is(err, errNone) || err == nil && connection.Revoked {
		return credential, x.consentError(ctx, kernel.ConsentMissing, p, r)
	}
	if err != nil {
		return credential, err
	}
	// An API key has no scopes.
	lacksScope := func() bool {
		return p.Protocol == brokers.OAuth && !containsAll(upstream(r, scope), connection.Scope)
	}
	if lacksScope() {
		return credential, x.consentError(ctx, kernel.ScopeInsufficient, p, r)
	}
	if connection, err = x.withValidToken(ctx, p, connection); errors.Is(err, errRevoked) {
		return credential, x.consentError(ctx, kernel.ConsentMissing, p, r)
	}
	if err != nil {
		return credential, err
	}
	if lacksScope() { // the renewal has granted fewer scopes
		return credential, x.consentError(ctx, kernel.ScopeInsufficient, p, r)
	}
	return x.open(ctx, connection)
}

// errRevoked means that the provider has ended a connection.
var errRevoked = errors.New("the provider has ended the connection")

// endsSoon reports whether the access token of a connection must be renewed, since it expires soon.
func (x *Connections) endsSoon(connection *Connection) bool {
	return !connection.ExpiresAt.IsZero() && !x.Now().Add(renewEarly).Before(connection.ExpiresAt)
}

// withValidToken returns the connection with a valid access token. Concurrent callers on all nodes cause a single
// renewal, which is completed even if the caller's context ends.
func (x *Connections) withValidToken(
	ctx context.Context, p *brokers.Provider, connection *Connection,
) (*Connection, error) {
	if !x.endsSoon(connection) {
		return connection, nil
	}
	done := x.renewing.DoChan(connection.ID, func() (any, error) {
		x.running.Add(1) // closing the server waits for the renewal
		defer x.running.Done()
		return x.waitOrRenew(context.WithoutCancel(ctx), p, connection.User)
	})
	select {
	case result := <-done:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.(*Connection), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// waitOrRenew returns the connection with a renewed credential. It waits while another process renews the credential.
// If no process does, waitOrRenew takes the lease and renews the credential itself.
func (x *Connections) waitOrRenew(ctx context.Context, p *brokers.Provider, user string) (*Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*leaseLasts)
	defer cancel()
	for {
		connection, err := x.find(ctx, user, p.ID)
		switch {
		case errors.Is(err, errNone):
			return nil, errRevoked
		case err != nil:
			return nil, err
		case connection.Revoked:
			return nil, errRevoked
		case !x.endsSoon(connection):
			return connection, nil
		}
		lease, err := x.lease(ctx, connection)
		if err != nil {
			return nil, err
		}
		if lease != "" {
			return x.renew(ctx, p, connection, lease)
		}
		select {
		case <-time.After(leasePoll):
		case <-ctx.Done():
			return nil, &brokers.UpstreamError{Slug: p.Slug, Code: kernel.Unavailable}
		}
	}
}

// lease returns a new lease on a connection, which permits only this process to use the refresh token. It returns "" if
// another process has the lease, or if the connection has changed since it was read.
func (x *Connections) lease(ctx context.Context, connection *Connection) (lease string, err error) {
	now := x.Now()
	lease = x.holder + "." + kernel.NewID()
	var n int64
	err = x.Write(store.ReadCommitted(ctx), func(c store.Conn) (err error) {
		n, err = c.Exec("UPDATE authserver_connections SET lease = ?, lease_until = ? WHERE id = ? AND version = ? AND lease_until <= ? AND revoked_at = 0",
			lease, now.Add(leaseLasts).UnixMicro(), connection.ID, connection.version, now.UnixMicro())
		return err
	})
	if err != nil || n == 0 {
		return "", err
	}
	return lease, nil
}

// renew exchanges the refresh token of a connection. It stores the new credential before it returns, since the previous
// one may no longer be valid.
func (x *Connections) renew(
	ctx context.Context, p *brokers.Provider, connection *Connection, lease string,
) (*Connection, error) {
	granted, err := x.requestRenewal(ctx, p, connection)
	if errors.Is(err, errNoRefresh) {
		if x.Now().Before(connection.ExpiresAt) { // still valid, if not for long
			x.release(ctx, connection, lease)
			return connection, nil
		}
		return nil, x.recordRevoked(ctx, p, connection, lease, "no_refresh_token")
	}
	if brokers.Gone(err) {
		return nil, x.recordRevoked(ctx, p, connection, lease, "invalid_grant")
	}
	if err != nil {
		x.Count("upstream_token_refresh_total", p.Slug+" failure")
		x.release(ctx, connection, lease)
		return nil, err
	}
	if granted.Scope == nil {
		granted.Scope = connection.Scope
	}
	return x.storeRenewed(context.WithoutCancel(ctx), p, connection, granted)
}

// errNoRefresh means that the provider has issued no refresh token for a connection.
var errNoRefresh = errors.New("the connection has no refresh token")

// requestRenewal requests new tokens from the provider of a connection, with the refresh token of the connection.
func (x *Connections) requestRenewal(
	ctx context.Context, p *brokers.Provider, connection *Connection,
) (granted brokers.Granted, err error) {
	config, err := x.options.Brokers.OAuth(ctx, p)
	if err != nil {
		return granted, err
	}
	credential, err := x.open(ctx, connection)
	if err != nil {
		return granted, err
	}
	if credential.Refresh == "" {
		return granted, errNoRefresh
	}
	return x.options.Brokers.Renew(ctx, config, credential.Refresh)
}

// storeRenewed stores a renewed credential and returns the connection with that credential. It repeats failed attempts
// for a long time, since the previous credential may no longer be valid.
func (x *Connections) storeRenewed(
	ctx context.Context, p *brokers.Provider, connection *Connection, granted brokers.Granted,
) (*Connection, error) {
	began, last := time.Now(), false
	for attempt := 1; ; attempt++ {
		renewed, err := x.replaceCredential(ctx, connection, granted)
		switch {
		case errors.Is(err, errReplaced):
			current, err := x.find(ctx, connection.User, connection.Provider)
			if errors.Is(err, errNone) || err == nil && current.Revoked {
				return nil, errRevoked
			}
			return current, err
		case err == nil:
			x.Count("upstream_token_refresh_total", p.Slug+" success")
			x.Audit(ctx, kernel.Event{
				Action: "upstream.token.refreshed", Actor: connection.User, Detail: []string{"provider", p.Slug},
			})
			return renewed, nil
		case last || time.Since(began) > storeTries:
			x.Logger().Error("a renewed credential could not be stored; the user may have to connect the provider again",
				zap.String("provider", p.Slug), zap.String("connection", connection.ID), zap.Error(err))
			return nil, err
		case attempt == 1:
			x.Logger().Error("a renewed credential cannot be stored yet; further attempts follow",
				zap.String("provider", p.Slug), zap.String("connection", connection.ID), zap.Error(err))
		}
		select {
		case <-time.After(storePoll):
		case <-x.ended: // one more attempt before the database is closed
			last = true
		}
	}
}

// errReplaced means that a connection was made again, or removed, since it was read.
var errReplaced = errors.New("the connection has been replaced")

// replaceCredential stores a renewed credential of a connection and returns the connection with that credential. The
// error is errReplaced if the stored connection has another version.
func (x *Connections) replaceCredential(
	ctx context.Context, connection *Connection, granted brokers.Granted,
) (*Connection, error) {
	sealed, err := x.seal(ctx, connection.User, connection.Provider, granted.Credential)
	if err != nil {
		return nil, err
	}
	err = x.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		n, err := c.Exec("UPDATE authserver_connections SET credential = ?, scope = ?, expires_at = ?, updated_at = ?, version = version + 1, lease = '', lease_until = 0"+
			" WHERE id = ? AND version = ?",
			sealed, strings.Join(granted.Scope, " "), granted.Expires, x.Micros(), connection.ID, connection.version)
		if err == nil && n == 0 {
			err = errReplaced
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	renewed := *connection
	renewed.credential, renewed.Scope, renewed.ExpiresAt = sealed, granted.Scope, time.Time{}
	renewed.version++
	if granted.Expires != 0 {
		renewed.ExpiresAt = time.UnixMicro(granted.Expires)
	}
	return &renewed, nil
}

// release releases a lease, so that another process can renew the credential.
func (x *Connections) release(ctx context.Context, connection *Connection, lease string) {
	err := x.Write(store.ReadCommitted(context.WithoutCancel(ctx)), func(c store.Conn) error {
		_, err := c.Exec("UPDATE authserver_connections SET lease = '', lease_until = 0 WHERE id = ? AND lease = ?",
			connection.ID, lease)
		return err
	})
	if err != nil {
		x.Logger().Warn("the lease on a connection could not be released; it expires within seconds", zap.Error(err))
	}
}

// recordRevoked records that the provider has ended a connection, with the reason, and returns errRevoked. The caller
// must have the lease.
func (x *Connections) recordRevoked(
	ctx context.Context, p *brokers.Provider, connection *Connection, lease, reason string,
) error {
	var n int64
	err := x.Write(store.ReadCommitted(ctx), func(c store.Conn) (err error) {
		n, err = c.Exec("UPDATE authserver_connections SET revoked_at = ?, updated_at = ?, lease = '', lease_until = 0 WHERE id = ? AND version = ? AND lease = ?",
			x.Micros(), x.Micros(), connection.ID, connection.version, lease)
		return err
	})
	if err != nil {
		return err
	}
	x.Count("upstream_token_refresh_total", p.Slug+" revoked")
	if n > 0 {
		x.Audit(ctx, kernel.Event{
			Action: "broker_grant.revoked", Actor: connection.User,
			Detail: []string{"provider", p.Slug, "reason", reason},
		})
	}
	return errRevoked
}

// maxAccounts is the maximum number of service accounts' tokens in the cache.
const maxAccounts = 10_000

// serviceAccountToken returns a service account's token. All users share the token until it expires.
func (x *Connections) serviceAccountToken(
	ctx context.Context, p *brokers.Provider, scope []string,
) (credential brokers.Credential, err error) {
	// The key contains the time of the last change, so that a changed provider gets new tokens.
	key := p.ID + " " + p.UpdatedAt.String() + " " + strings.Join(scope, " ")
	x.accounts.Lock()
	known, ok := x.tokens[key]
	x.accounts.Unlock()
	if ok && x.Now().Add(renewEarly).UnixMicro() < known.Expires {
		return known.Credential, nil
	}
	done := x.asserted.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseLasts)
		defer cancel()
		config, err := x.options.Brokers.ServiceAccount(p)
		if err != nil {
			return nil, err
		}
		granted, err := x.options.Brokers.Assert(ctx, config, scope)
		if err != nil {
			return nil, err
		}
		x.accounts.Lock()
		defer x.accounts.Unlock()
		if len(x.tokens) >= maxAccounts {
			clear(x.tokens)
		}
		x.tokens[key] = granted
		return granted, nil
	})
	select {
	case result := <-done:
		if result.Err != nil {
			return credential, result.Err
		}
		return result.Val.(brokers.Granted).Credential, nil
	case <-ctx.Done():
		return credential, ctx.Err()
	}
}
