// Package device implements the device authorization grant (RFC 8628) without its endpoints and pages. A device without
// a browser shows a user code. The user enters the code in the browser of another device and decides about the request.
// Meanwhile the first device polls for the decision.
package device

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/attempts"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Path is the path, below the issuer, of the page on which users enter the user code.
const Path = "/device"

const (
	life  = 10 * time.Minute // of the device code and the user code
	pause = 5 * time.Second  // the minimum time between two polls
	// letters are the letters of user codes. They form no words and are not mistaken for each other (RFC 8628 section
	// 6.1). Eight of them make 2.5e10 codes.
	letters  = "BCDFGHJKLMNPQRSTVWXZ"
	codeSize = 8
)

// wrongCodes limits the wrong user codes that a user enters (section 5.1), on all nodes together.
var wrongCodes = attempts.Limit{Table: "authserver_attempts", What: "device code", Max: 10, Within: 10 * time.Minute}

// The errors of the token endpoint (section 3.5).
const (
	Pending  = "authorization_pending"
	SlowDown = "slow_down"
	Expired  = "expired_token"
)

// Devices manages the authorization requests of devices.
type Devices struct {
	*kernel.Server
	Authorize *authorize.Authorize
}

// Authorization is the device authorization response (section 3.2).
type Authorization struct {
	DeviceCode string `json:"device_code"`
	UserCode   string `json:"user_code"`
	URI        string `json:"verification_uri"`
	Complete   string `json:"verification_uri_complete"`
	ExpiresIn  int64  `json:"expires_in"` // seconds
	Interval   int64  `json:"interval"`   // seconds
}

// storedRequest is the stored form of a device's request: the scope and the resources.
type storedRequest struct {
	Scope     []string `json:"scope,omitempty"`
	Resources []string `json:"resources,omitempty"` // ids
}

// Begin starts the authorization of a device that requests a scope, and returns the response for the device. The
// targets are the requested resources. Each requested scope must be declared by one of the targets or, without
// targets, by any resource.
func (s *Devices) Begin(
	ctx context.Context, client *clients.Client, scope string, targets []*resources.Resource,
) (Authorization, error) {
	words, err := s.Authorize.Catalog.Scope(ctx, s.Authorize.Clients.Ceiling(client), targets, scope)
	if err != nil {
		return Authorization{}, err
	}
	a := storedRequest{Scope: words}
	for _, resource := range targets {
		a.Resources = append(a.Resources, resource.ID)
	}
	text, err := json.Marshal(a)
	if err != nil {
		return Authorization{}, err
	}
	var device, user string
	for range 3 { // try again if the code is in use
		device, user = secret.New(), newCode()
		err = s.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
			_, err := c.Exec("INSERT INTO authserver_devices (digest, user_code, client_id, asked, pause, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
				secret.Hash(device), user, client.ID, string(text), pause.Microseconds(), s.Now().Add(life).UnixMicro())
			return err
		})
		if !store.IsUniqueViolation(err) {
			break
		}
	}
	if err != nil {
		return Authorization{}, err
	}
	shown, uri := Shown(user), s.Issuer+Path
	return Authorization{
		DeviceCode: device, UserCode: shown, URI: uri, Complete: uri + "?user_code=" + shown,
		ExpiresIn: int64(life.Seconds()), Interval: int64(pause.Seconds()),
	}, nil
}

// newCode returns a random user code.
func newCode() string {
	code := make([]byte, codeSize)
	for i := range code {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			panic(err) // never fails
		}
		code[i] = letters[n.Int64()]
	}
	return string(code)
}

// Shown returns a user code in the form for display, such as WDJB-MJHT.
func Shown(code string) string {
	if len(code) != codeSize {
		return code
	}
	return code[:codeSize/2] + "-" + code[codeSize/2:]
}

// parseCode returns the user code in a text that a user has entered. It removes all characters that do not occur in
// codes, such as hyphens. It returns "" if the text is not a code.
func parseCode(text string) string {
	if len(text) > 64 {
		return ""
	}
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(letters, r) {
			return r
		}
		return -1
	}, strings.ToUpper(text))
	if len(text) != codeSize {
		return ""
	}
	return text
}

// Waiting is the request of a device whose user code a user has entered.
type Waiting struct {
	Code    string // as it is shown
	Client  *clients.Client
	Request *authorize.Request // what the device asks for
}

// errCode returns the error for an unknown user code.
func errCode() error {
	return apierror.New(http.StatusUnprocessableEntity, "unknown_code",
		"no device waits with this code; compare it with what the device shows")
}

// Find returns the request with the user code that a user has entered. The error has status 422 if there is no such
// request, and 429 if the user has entered too many wrong codes.
func (s *Devices) Find(ctx context.Context, session *login.Session, text string) (*Waiting, error) {
	code, now, wrongTries := parseCode(text), s.Now(), wrongCodes.Of(session.User.ID)
	var wait time.Duration
	var client, request string
	err := s.Write(store.Hastily(store.ReadCommitted(ctx)), func(c store.Conn) error {
		client, request = "", ""
		var q store.Questions
		// Each try is counted first, and given back below if the code is right.
		wrongTries.Ask(&q, now, &wait)
		q.Row(func(r store.Row) error {
			if err := r.Scan(&client, &request); !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			return nil
		}, waitingRow, code, now.UnixMicro())
		if err := c.Ask(&q); err != nil || wait > 0 || client == "" {
			return err
		}
		return wrongTries.GiveBackLater(c)
	})
	switch {
	case err != nil:
		return nil, err
	case wait > 0:
		return nil, &apierror.Error{
			Status: http.StatusTooManyRequests, Code: "too_many_codes", RetryAfter: wait,
			Message: "you have tried too many codes; wait before you try another",
		}
	case client == "":
		return nil, errCode()
	}
	return s.waiting(ctx, code, client, request)
}

// waitingRow is the statement that finds a request about which the user has not decided.
const waitingRow = "SELECT client_id, asked FROM authserver_devices WHERE user_code = ? AND status = 'pending' AND expires_at > ?"

// find returns the request with a user code, without counting wrong codes.
func (s *Devices) find(ctx context.Context, text string) (*Waiting, error) {
	code := parseCode(text)
	var client, request string
	err := s.Read(ctx, func(c store.Conn) error {
		return c.Row(waitingRow, code, s.Micros()).Scan(&client, &request)
	})
	if err != nil {
		return nil, kernel.IfNoRows(err, errCode())
	}
	return s.waiting(ctx, code, client, request)
}

// waiting returns a device's request from its user code, its client and its stored form (JSON). If the client may no
// longer request the scope, waiting returns an error.
func (s *Devices) waiting(ctx context.Context, code, client, request string) (*Waiting, error) {
	var a storedRequest
	if err := json.Unmarshal([]byte(request), &a); err != nil {
		return nil, err
	}
	w := &Waiting{Code: Shown(code), Request: &authorize.Request{
		Client: client, Scope: a.Scope, Resources: a.Resources,
		At: s.Micros(),
	}}
	var err error
	w.Client, err = s.Authorize.Clients.Find(ctx, client)
	switch {
	case errors.Is(err, clients.ErrUnknown):
		return nil, errCode()
	case err != nil:
		return nil, err
	case !w.Client.Active() || s.Authorize.Within(w.Request, w.Client) != nil:
		return nil, errCode()
	}
	return w, nil
}

// Decide records the decision of the user of a session about the request with a user code. If allow is set, it grants
// the device the approved scopes of its request. Otherwise it denies the request. The address is the client address of
// the browser.
func (s *Devices) Decide(
	ctx context.Context, code string, session *login.Session, allow bool, approved []string, address string,
) error {
	w, err := s.find(ctx, code)
	if err != nil {
		return err
	}
	status, granted := "denied", "{}"
	if !allow {
		s.Authorize.Denied(ctx, w.Request, session, address)
	} else {
		g, err := s.Authorize.Grant(ctx, w.Request, w.Client, session, approved, address)
		if err != nil {
			return err
		}
		text, err := json.Marshal(g)
		if err != nil {
			return err
		}
		status, granted = "allowed", string(text)
	}
	return s.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		n, err := c.Exec("UPDATE authserver_devices SET status = ?, user_id = ?, granted = ? WHERE user_code = ? AND status = 'pending' AND expires_at > ?",
			status, session.User.ID, granted, parseCode(code), s.Micros())
		if err == nil && n == 0 {
			err = errCode()
		}
		return err
	})
}

// EndUser deletes a user's grants to devices that have not received their tokens yet, in a transaction of the caller.
func EndUser(c store.Conn, user string) error {
	_, err := c.Exec("DELETE FROM authserver_devices WHERE user_id = ?", user)
	return err
}

// Poll returns the grant for a device, once the user has approved the request. Before that, and after a denial, it
// returns the error for the device. A grant can be used once: the caller must call useUp in the transaction that stores
// the tokens.
func (s *Devices) Poll(
	ctx context.Context, client *clients.Client, deviceCode string,
) (g tokens.Grant, useUp func(c store.Conn) error, err error) {
	var refusal error // returned after the transaction was committed
	digest := secret.Hash(deviceCode)
	err = s.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		refusal = nil
		var owner, status, user, granted string
		var polledAt, minPause, expiresAt int64
		now := s.Micros()
		err := c.Row("SELECT client_id, status, user_id, granted, polled_at, pause, expires_at FROM authserver_devices WHERE digest = ?"+c.Lock(), digest).
			Scan(&owner, &status, &user, &granted, &polledAt, &minPause, &expiresAt)
		switch {
		case errors.Is(err, sql.ErrNoRows) || err == nil && owner != client.ID:
			refusal = errDevice()
			return nil
		case err != nil:
			return err
		case expiresAt <= now:
			refusal = kernel.Refuse(Expired, "the device code has expired")
			return nil
		case status == "denied":
			refusal = kernel.Refuse(kernel.AccessDenied, "the user has denied the request")
			_, err = c.Exec("DELETE FROM authserver_devices WHERE digest = ?", digest)
			return err
		case status == "allowed":
			g = tokens.Grant{}
			if err := json.Unmarshal([]byte(granted), &g); err != nil {
				return err
			}
			g.Client, g.User = client.ID, user
			return nil
		case now-polledAt < minPause:
			refusal = kernel.Refuse(SlowDown, "the device polls too often; wait five seconds longer between two requests")
			_, err = c.Exec("UPDATE authserver_devices SET polled_at = ?, pause = ? WHERE digest = ?",
				now, minPause+pause.Microseconds(), digest)
			return err
		default:
			refusal = kernel.Refuse(Pending, "the user has not decided about the request yet")
			_, err = c.Exec("UPDATE authserver_devices SET polled_at = ? WHERE digest = ?", now, digest)
			return err
		}
	})
	if err = cmp.Or(err, refusal); err != nil {
		return g, nil, err
	}
	return g, func(c store.Conn) error {
		n, err := c.Exec("DELETE FROM authserver_devices WHERE digest = ? AND status = 'allowed'", digest)
		if err == nil && n == 0 {
			err = errDevice() // fetched by another request, or withdrawn
		}
		return err
	}, nil
}

func errDevice() error { return kernel.Refuse(kernel.InvalidGrant, "the device code is unknown") }

// Jobs returns the background jobs.
func (s *Devices) Jobs() []jobs.Job {
	return []jobs.Job{{Name: "devices", Every: time.Hour, Run: func(ctx context.Context) (int, error) {
		n, err := s.DB.Purge(ctx, 1000, "DELETE FROM authserver_devices WHERE digest IN (SELECT digest FROM authserver_devices WHERE expires_at <= ? LIMIT ?)",
			s.Now().Add(-time.Hour).UnixMicro())
		return int(n), err
	}}}
}
