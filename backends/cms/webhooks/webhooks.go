// Package webhooks manages the webhooks of a site, which receive events about pages. Package internal/webhook delivers
// the events.
package webhooks

import (
	"context"
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/instant"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

const (
	prefix = "cms" // of the tables
	// MaxWebhooks limits the number of webhooks, because a change of a page may have to write a row for each webhook.
	MaxWebhooks = 20
	// maxDeliveries limits how many deliveries of a webhook are listed.
	maxDeliveries = 100
)

// NewHooks returns the hooks of a site, which queue its events for the webhooks.
func NewHooks(s *kernel.Server) *webhook.Hooks {
	return webhook.New(webhook.Options{
		DB: s.DB, Prefix: prefix, Headers: "X-CMS", Agent: "Tollgate-CMS", Topics: content.Topics, Max: MaxWebhooks,
		Keyring: func() (keyring.Keyring, error) { return keyringOf(s) }, Now: func() time.Time { return s.Now() },
	})
}

// keyringOf returns the keyring that encrypts secrets, or nil if the server has none.
func keyringOf(s *kernel.Server) (keyring.Keyring, error) {
	if s.Keyring == nil {
		return nil, nil // a site need not have one
	}
	ring, err := s.Keyring()
	if err != nil {
		return nil, apierror.Unavailable("the keyring", err)
	}
	return ring, nil
}

// Sealed lists the columns of a site's database that hold secrets encrypted by the keyring.
var Sealed = webhook.Sealed(prefix)

// Webhooks manages the webhooks of a site. Its methods return a 403 error for users without the permission
// kernel.PermissionSettings.
type Webhooks struct{ *kernel.Server }

// Webhook is an address that receives the events about all pages, including pages that not everybody may see.
type Webhook struct {
	ID       int64         `json:"id"`
	URL      string        `json:"url"`
	Topics   []string      `json:"topics"`
	Enabled  bool          `json:"enabled"`
	Disabled string        `json:"disabled_reason,omitempty"` // empty if it was disabled by hand
	Created  kernel.Moment `json:"created"`
	By       string        `json:"created_by"` // name of the user
	Pending  int64         `json:"pending"`    // waiting deliveries
	// Secret is the secret with which deliveries are signed. It is only set in the result of Add.
	Secret string `json:"secret,omitempty"`
}

// Delivery is a message to a webhook, with the result of the last attempt.
type Delivery struct {
	ID       int64         `json:"id"`
	Event    string        `json:"event"`
	Topic    string        `json:"topic"`
	State    string        `json:"state"` // pending, delivered or failed
	Attempts int64         `json:"attempts"`
	Answer   string        `json:"answer"` // the answer to the last attempt, or its error
	Created  kernel.Moment `json:"created"`
	Tried    kernel.Moment `json:"tried,omitzero"` // time of the last attempt
	Next     kernel.Moment `json:"next,omitzero"`  // time of the next attempt
}

// permit returns a 403 error unless the user has the permission kernel.PermissionSettings.
func (s Webhooks) permit(u *kernel.User) error {
	if !u.May(kernel.PermissionSettings) {
		return kernel.Forbidden("you may not change the webhooks")
	}
	return nil
}

// List returns all webhooks, oldest first.
func (s Webhooks) List(ctx context.Context, u *kernel.User) (list []*Webhook, err error) {
	if err := s.permit(u); err != nil {
		return nil, err
	}
	err = s.Read(ctx, func(c kernel.Conn) error {
		hooks, err := s.Hooks.List(c)
		for _, w := range hooks {
			list = append(list, &Webhook{
				ID: w.ID, URL: w.URL, Topics: w.Topics, Enabled: w.Enabled, Disabled: w.DisabledReason,
				Created: momentOf(w.CreatedAt), By: w.CreatedBy, Pending: w.Pending,
			})
		}
		return err
	})
	return list, err
}

// momentOf converts a time in microseconds since 1970. 0 means that there is no time.
func momentOf(micros int64) kernel.Moment {
	if micros == 0 {
		return 0
	}
	return instant.Of(time.UnixMicro(micros))
}

// Add creates a webhook that receives events with the given topics at an address, and its secret.
func (s Webhooks) Add(ctx context.Context, u *kernel.User, address string, topics []string) (*Webhook, error) {
	if err := s.permit(u); err != nil {
		return nil, err
	}
	address, topics, err := s.Hooks.Check(address, topics)
	if invalid, ok := errors.AsType[*webhook.Error](err); ok {
		return nil, kernel.Invalid(invalid.Field, invalid.Reason, invalid.Message)
	}
	if err != nil {
		return nil, err
	}
	secret, sealed, err := s.Hooks.NewSecret(ctx, address)
	if err != nil {
		return nil, err
	}
	created := &Webhook{URL: address, Topics: topics, Enabled: true, Created: s.Moment(), By: u.Name, Secret: secret}
	err = s.Write(ctx, func(c kernel.Conn) error {
		created.ID, err = s.Hooks.Add(c, address, topics, sealed, u.Name)
		if errors.Is(err, webhook.ErrMany) {
			return kernel.Conflict("there are %d webhooks already, delete one first", MaxWebhooks)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// Enable enables or disables a webhook. The messages for a disabled webhook wait, and are sent when it is enabled
// again.
func (s Webhooks) Enable(ctx context.Context, u *kernel.User, id int64, enabled bool) error {
	return s.change(ctx, u, id, func(c kernel.Conn) error { return s.Hooks.Enable(c, id, enabled) })
}

// Delete removes a webhook with its deliveries.
func (s Webhooks) Delete(ctx context.Context, u *kernel.User, id int64) error {
	return s.change(ctx, u, id, func(c kernel.Conn) error { return s.Hooks.Delete(c, id) })
}

// Test sends a test message to a webhook.
func (s Webhooks) Test(ctx context.Context, u *kernel.User, id int64) error {
	return s.change(ctx, u, id, func(c kernel.Conn) error {
		err := s.Hooks.Test(c, id)
		if errors.Is(err, webhook.ErrOff) {
			return kernel.Conflict("%s", err)
		}
		return err
	})
}

// Rotate gives a webhook a new secret and returns it. The new secret is used at once.
func (s Webhooks) Rotate(ctx context.Context, u *kernel.User, id int64) (secret string, err error) {
	if err := s.permit(u); err != nil {
		return "", err
	}
	var address, sealed string
	err = s.Read(ctx, func(c kernel.Conn) error {
		address, err = s.Hooks.Address(c, id)
		return kernel.OrNotFound(err, "webhook")
	})
	if err != nil {
		return "", err
	}
	if secret, sealed, err = s.Hooks.NewSecret(ctx, address); err != nil {
		return "", err
	}
	return secret, s.change(ctx, u, id, func(c kernel.Conn) error { return s.Hooks.SetSecret(c, id, sealed) })
}

// Deliveries returns the latest deliveries of a webhook, newest first.
func (s Webhooks) Deliveries(ctx context.Context, u *kernel.User, id int64) (list []*Delivery, err error) {
	if err := s.permit(u); err != nil {
		return nil, err
	}
	err = s.Read(ctx, func(c kernel.Conn) error {
		if _, err := s.Hooks.Address(c, id); err != nil {
			return kernel.OrNotFound(err, "webhook")
		}
		deliveries, err := s.Hooks.Deliveries(c, id, maxDeliveries)
		for _, d := range deliveries {
			list = append(list, &Delivery{
				ID: d.ID, Event: d.Event, Topic: d.Topic, State: d.State, Attempts: d.Attempts, Answer: d.Answer,
				Created: momentOf(d.CreatedAt), Tried: momentOf(d.TriedAt), Next: momentOf(d.NextAt),
			})
		}
		return err
	})
	return list, err
}

// change locks a webhook and calls fn in a transaction. It returns an error if the user has no permission or there is
// no such webhook.
func (s Webhooks) change(ctx context.Context, u *kernel.User, id int64, fn func(c kernel.Conn) error) error {
	if err := s.permit(u); err != nil {
		return err
	}
	return s.Write(ctx, func(c kernel.Conn) error {
		if _, err := s.Hooks.Lock(c, id); err != nil {
			return kernel.OrNotFound(err, "webhook")
		}
		return fn(c)
	})
}

// Jobs returns the jobs that send deliveries and remove old deliveries.
func (s Webhooks) Jobs(sender *webhook.Sender) []jobs.Job {
	return []jobs.Job{
		{
			Name: "webhooks", Every: 2 * time.Second,
			Run: func(ctx context.Context) (int, error) { return s.Hooks.Deliver(ctx, sender) },
		},
		{Name: "deliveries", Every: time.Hour, Run: func(ctx context.Context) (int, error) {
			n, err := s.Hooks.Purge(ctx)
			return int(n), err
		}},
	}
}
