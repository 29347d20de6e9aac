package openid

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Back-channel logout (OpenID Connect Back-Channel Logout 1.0) notifies clients that a session has ended, for whatever
// reason. It applies to a client that has registered a backchannel_logout_uri and received an ID token in the session.
// A row links the client to the session. When the session is deleted, the database sets the session of the row to NULL.
// Rows without a session are the pending notifications.

// LogoutTimeout is the time in which a client must answer a logout token.
const LogoutTimeout = 10 * time.Second

const (
	logoutEvent   = "http://schemas.openid.net/event/backchannel-logout"
	logoutLife    = 2 * time.Minute  // the life of a logout token
	logoutLease   = 30 * time.Second // how long a node reserves a notification; longer than an attempt can take
	logoutEvery   = 2 * time.Second  // the interval between two runs
	maxLogouts    = 200              // the maximum number of notifications in one run
	logoutsAtOnce = 8                // the maximum number of concurrent requests
	// maxAttempts is the maximum number of times that a logout token is sent to a client that does not answer. With the
	// pauses of jobs.Backoff, that takes about a day.
	maxAttempts = 30
)

// sid returns the claim sid of a session. It identifies the session to clients and reveals nothing else.
func (s *OpenID) sid(session int64) string {
	return s.Signer("sid").Sign(nil, strconv.FormatInt(session, 10))
}

// recordSession records that a client received an ID token in a session, and returns the claim sid. For a client that
// need not be notified of the session's end, and for an ended session, it records nothing and returns "". If a user
// signs in again in the same browser, the session is a new one, but the client keeps the sid that it knows.
func (s *OpenID) recordSession(ctx context.Context, client string, session int64) (sid string, err error) {
	if session == 0 {
		return "", nil
	}
	c, err := s.Clients.Find(ctx, client)
	if errors.Is(err, clients.ErrUnknown) || err == nil && c.Metadata.BackchannelLogout == "" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	err = s.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		return c.Row(`INSERT INTO authserver_session_clients (session_id, client_id, user_id, sid, began_at)
			SELECT s.id, CAST(? AS TEXT), s.user_id, CAST(? AS TEXT), s.created_at FROM authserver_sessions s WHERE s.id = ?
			ON CONFLICT (session_id, client_id) DO UPDATE SET began_at = excluded.began_at RETURNING sid`,
			client, s.sid(session), session).Scan(&sid)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return sid, err
}

// Jobs returns the background jobs.
func (s *OpenID) Jobs() []jobs.Job {
	return []jobs.Job{{Name: "logouts", Every: logoutEvery, Run: s.TellLogouts}}
}

// TellLogouts sends logout tokens for ended sessions. It returns the number of tokens that clients have accepted.
func (s *OpenID) TellLogouts(ctx context.Context) (int, error) {
	now := s.Micros()
	ids, err := kernel.Read(ctx, s.Server, func(c store.Conn) ([]int64, error) {
		return store.List(c, func(r store.Row) (id int64, err error) { return id, r.Scan(&id) },
			"SELECT id FROM authserver_session_clients WHERE session_id IS NULL AND due_at <= ? AND leased_until <= ? ORDER BY due_at, id LIMIT ?",
			now, now, maxLogouts)
	})
	if err != nil {
		return 0, err
	}
	var mu sync.Mutex // protects accepted and errs
	var accepted int
	var errs []error
	slots := make(chan struct{}, logoutsAtOnce) // has an element for each running request
	var running sync.WaitGroup
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			done, err := s.sendLogout(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			if done {
				accepted++
			}
			if err != nil {
				errs = append(errs, err)
			}
		})
	}
	running.Wait()
	return accepted, errors.Join(errs...)
}

// notification is an ended session of which a client must be notified.
type notification struct {
	id                int64 // of the row
	began             int64 // when the session began, in microseconds since 1970
	attempts          int64 // including the current attempt
	client, user, sid string
}

// sendLogout sends a logout token for one session to one client. The result done reports whether the client has
// accepted the token.
func (s *OpenID) sendLogout(ctx context.Context, id int64) (done bool, err error) {
	e := notification{id: id}
	now := s.Now()
	err = s.Write(ctx, func(c store.Conn) error {
		return c.Row(`UPDATE authserver_session_clients SET leased_until = ?, attempts = attempts + 1
			WHERE id = ? AND due_at <= ? AND leased_until <= ? RETURNING client_id, user_id, sid, began_at, attempts`,
			now.Add(logoutLease).UnixMicro(), id, now.UnixMicro(), now.UnixMicro()).Scan(&e.client, &e.user, &e.sid, &e.began,
			&e.attempts)
	})
	if errors.Is(err, sql.ErrNoRows) { // another node is sending it
		return false, nil
	}
	if err != nil {
		return false, err
	}
	settleCtx, cancel := jobs.Settling(ctx) // the outcome is recorded even if the server is stopping
	defer cancel()
	client, err := s.Clients.Find(ctx, e.client)
	switch {
	case errors.Is(err, clients.ErrUnknown), err == nil && client.Metadata.BackchannelLogout == "":
		return false, s.forget(settleCtx, e)
	case err != nil:
		return false, err
	case e.attempts == 1 && s.SessionLife > 0 && now.Sub(time.UnixMicro(e.began)) >= s.SessionLife:
		// The session has expired, which is not a logout: the client's own session may last longer. Only the first
		// attempt checks this, since the session may have expired between the attempts.
		return false, s.forget(settleCtx, e)
	}
	err = s.post(ctx, client.Metadata.BackchannelLogout, e)
	if err == nil {
		s.Audit(ctx, kernel.Event{Action: "client.logout_told", Actor: e.user, Client: e.client})
		return true, s.forget(settleCtx, e)
	}
	final := errors.Is(err, errRefused) || e.attempts >= maxAttempts
	s.Logger().Warn("a client could not be notified of a logout", zap.String("client", e.client),
		zap.Bool("again", !final), zap.Error(err))
	if final {
		s.Audit(ctx, kernel.Event{
			Action: "client.logout_failed", Actor: e.user, Client: e.client,
			Detail: []string{"reason", err.Error()},
		})
		return false, s.forget(settleCtx, e)
	}
	return false, s.postpone(settleCtx, e)
}

// postpone schedules the next attempt for a session, and delays all other notifications of the client a little.
// Otherwise a client that does not answer would occupy the workers.
func (s *OpenID) postpone(ctx context.Context, e notification) error {
	return s.Write(ctx, func(c store.Conn) error {
		now := s.Now()
		_, err := c.Exec("UPDATE authserver_session_clients SET leased_until = 0, due_at = ? WHERE id = ?",
			now.Add(jobs.Backoff(e.attempts)).UnixMicro(), e.id)
		if err != nil {
			return err
		}
		_, err = c.Exec("UPDATE authserver_session_clients SET due_at = ? WHERE client_id = ? AND session_id IS NULL AND due_at <= ? AND leased_until <= ?",
			now.Add(jobs.Backoff(1)).UnixMicro(), e.client, now.UnixMicro(), now.UnixMicro())
		return err
	})
}

// forget deletes a notification.
func (s *OpenID) forget(ctx context.Context, e notification) error {
	return s.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("DELETE FROM authserver_session_clients WHERE id = ?", e.id)
		return err
	})
}

// errRefused means that the client has refused a logout token for good, so that sending it again would not help.
var errRefused = errors.New("the client rejected the logout token")

// post sends a logout token to a client (section 2.5).
func (s *OpenID) post(ctx context.Context, logoutURI string, e notification) error {
	token, err := s.logoutToken(ctx, e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, LogoutTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, logoutURI,
		strings.NewReader(url.Values{"logout_token": {token}}.Encode()))
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := s.HTTP.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 1<<10) // so that the connection can be reused
	switch status := response.StatusCode; {
	case status >= 200 && status <= 299:
		return nil
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status >= 500:
		return fmt.Errorf("the client responded with status %d", status)
	default:
		return fmt.Errorf("%w: status %d", errRefused, status)
	}
}

// logoutClaims are the claims of a logout token (section 2.4).
type logoutClaims struct {
	Issuer   string         `json:"iss"`
	Subject  string         `json:"sub"`
	Audience string         `json:"aud"`
	IssuedAt int64          `json:"iat"`
	Expires  int64          `json:"exp"`
	ID       string         `json:"jti"`
	Session  string         `json:"sid"`
	Events   map[string]any `json:"events"`
}

// logoutToken returns the signed logout token for a session.
func (s *OpenID) logoutToken(ctx context.Context, e notification) (string, error) {
	now := s.Now()
	raw, err := json.Marshal(logoutClaims{
		Issuer: s.Issuer, Subject: e.user, Audience: e.client, IssuedAt: now.Unix(), Expires: now.Add(logoutLife).Unix(),
		ID: kernel.NewID(), Session: e.sid, Events: map[string]any{logoutEvent: struct{}{}},
	})
	if err != nil {
		return "", err
	}
	return s.Keys.Sign(ctx, keys.LogoutToken, raw)
}
