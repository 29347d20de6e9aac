// Package webhook notifies URLs of changes in a service. Administrators set the URLs. A notification is written in the
// same transaction as the change, and later sent in the background by one of the nodes that share the database. It is
// signed, sent only to public addresses, and repeated after growing pauses. The service decides which changes to notify
// and who may set a URL.
package webhook

import (
	"embed"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the schema of the tables <prefix>_webhooks and <prefix>_webhook_deliveries.
func Schema(prefix string) store.Schema { return store.Prefixed(migrations, "webhook", prefix) }

// TestTopic is the topic of test deliveries. No webhook subscribes to it.
const TestTopic = "webhook.test"

// maxAddress limits the URL of a webhook, in bytes.
const maxAddress = 2000

var (
	// ErrMany means that a webhook cannot be added because there are already Options.Max webhooks.
	ErrMany = errors.New("there are too many webhooks")
	// ErrOff means that a disabled webhook cannot be tested.
	ErrOff = errors.New("the webhook is off: switch it on first")
)

// Error is the reason why a webhook is refused.
type Error struct {
	// Field is the field at fault: url or topics.
	Field string
	// Reason is a word for programs: form, unknown or required.
	Reason string
	// Message is the text for people.
	Message string
}

func (e *Error) Error() string { return e.Message }

// Options are the options of a service.
type Options struct {
	DB *store.DB
	// Prefix is the prefix of the tables of Schema.
	Prefix string
	// Headers begins the names of a delivery's headers. X-Board, for example, is followed by -Delivery, -Topic,
	// -Timestamp and -Signature.
	Headers string
	// Agent is the User-Agent.
	Agent string
	// Topics are all topics that a webhook can subscribe to.
	Topics []string
	// Max is the maximum number of webhooks. A change may have to write a row for each.
	Max int
	// Keyring returns the keyring that encrypts secrets in the database, or nil if they are not encrypted. While it
	// returns an error nothing is sent.
	Keyring func() (keyring.Keyring, error)
	// Now returns the time. Default: time.Now.
	Now func() time.Time
}

// Hooks are the webhooks of a service. It is safe for concurrent use. Methods with a Conn run in a transaction of the
// service. Unless noted otherwise they return the errors of the database, including sql.ErrNoRows for a webhook that
// does not exist.
type Hooks struct {
	Options
	hooks, deliveries string // names of the tables
}

// New returns the webhooks of a service. It does not access the database.
func New(o Options) *Hooks {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Hooks{o, o.Prefix + "_webhooks", o.Prefix + "_webhook_deliveries"}
}

// Webhook is a URL that is notified of changes.
type Webhook struct {
	ID             int64
	URL            string
	Topics         []string
	Enabled        bool
	DisabledReason string // empty if an administrator has disabled the webhook
	CreatedBy      string
	CreatedAt      int64 // Unix microseconds, like all times here
	Pending        int64 // number of pending deliveries
}

// List returns all webhooks, oldest first.
func (h *Hooks) List(c store.Conn) ([]Webhook, error) {
	return store.List(c, func(r store.Row) (w Webhook, err error) {
		var topics string
		err = r.Scan(&w.ID, &w.URL, &topics, &w.Enabled, &w.DisabledReason, &w.CreatedBy, &w.CreatedAt, &w.Pending)
		w.Topics = strings.Fields(topics)
		return w, err
	}, "SELECT w.id, w.url, w.topics, w.enabled, w.disabled_reason, w.created_by, w.created_at,"+
		" (SELECT count(*) FROM "+h.deliveries+" d WHERE d.webhook_id = w.id AND d.next_at IS NOT NULL) FROM "+
		h.hooks+" w ORDER BY w.id")
}

// Check checks a URL and topics, and returns them in the form that Add takes: the URL without space around it, and the
// topics sorted and without duplicates. It does not check whether the URL leads to a public address; that is checked at
// each connection. The error is an *Error.
func (h *Hooks) Check(address string, topics []string) (string, []string, error) {
	address = strings.TrimSpace(address)
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil ||
		u.Fragment != "" || len(address) > maxAddress || !text.IsLine(address) {
		return "", nil, &Error{
			"url", "form",
			"the address must be a URL such as https://example.com/hook, without a user and a fragment",
		}
	}
	for _, topic := range topics {
		if !slices.Contains(h.Topics, topic) {
			return "", nil, &Error{"topics", "unknown", "there is no topic " + text.Short(topic, 60)}
		}
	}
	if len(topics) == 0 {
		return "", nil, &Error{"topics", "required", "choose at least one topic"}
	}
	topics = slices.Clone(topics)
	slices.Sort(topics)
	return address, slices.Compact(topics), nil
}

// Add adds a webhook with the results of Check and NewSecret. creator is the user on whose behalf the webhook is
// added. Add returns ErrMany if there are too many webhooks.
func (h *Hooks) Add(c store.Conn, address string, topics []string, sealed, creator string) (id int64, err error) {
	var n int
	if err := c.Row("SELECT count(*) FROM " + h.hooks).Scan(&n); err != nil {
		return 0, err
	}
	if n >= h.Max {
		return 0, ErrMany
	}
	err = c.Row("INSERT INTO "+h.hooks+
		" (url, topics, secret, created_by, created_at) VALUES (?, ?, ?, ?, ?) RETURNING id",
		address, " "+strings.Join(topics, " ")+" ", sealed, creator, h.micros()).Scan(&id)
	return id, err
}

// Address returns the URL of a webhook.
func (h *Hooks) Address(c store.Conn, id int64) (address string, err error) {
	err = c.Row("SELECT url FROM "+h.hooks+" WHERE id = ?", id).Scan(&address)
	return address, err
}

// Lock locks the row of a webhook before a change, and returns the webhook's URL.
func (h *Hooks) Lock(c store.Conn, id int64) (address string, err error) {
	err = c.Row("SELECT url FROM "+h.hooks+" WHERE id = ?"+c.Lock(), id).Scan(&address)
	return address, err
}

// Enable enables or disables a webhook. Deliveries that are pending while the webhook is disabled are sent after it is
// enabled again.
func (h *Hooks) Enable(c store.Conn, id int64, enabled bool) error {
	value := 0
	if enabled {
		value = 1
	}
	_, err := c.Exec("UPDATE "+h.hooks+" SET enabled = ?, disabled_reason = '' WHERE id = ?", value, id)
	return err
}

// SetSecret replaces the secret of a webhook by a sealed secret from NewSecret. The new secret is used from then on.
func (h *Hooks) SetSecret(c store.Conn, id int64, sealed string) error {
	_, err := c.Exec("UPDATE "+h.hooks+" SET secret = ? WHERE id = ?", sealed, id)
	return err
}

// Delete deletes a webhook with its deliveries.
func (h *Hooks) Delete(c store.Conn, id int64) error {
	if _, err := c.Exec("DELETE FROM "+h.deliveries+" WHERE webhook_id = ?", id); err != nil {
		return err
	}
	_, err := c.Exec("DELETE FROM "+h.hooks+" WHERE id = ?", id)
	return err
}

// micros returns the time in Unix microseconds.
func (h *Hooks) micros() int64 { return h.Now().UnixMicro() }
