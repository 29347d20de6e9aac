// Package webhook tells addresses that administrators have set of what changes in a
// service. What is to be told is written with the change itself, and sent from there
// in the background: signed, to public addresses, again after growing pauses, by one
// node of those that share the database. What there is to tell, and who may set an
// address, is the service's.
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

// Schema is the tables <prefix>_webhooks and <prefix>_webhook_deliveries.
func Schema(prefix string) store.Schema { return store.Prefixed(migrations, "webhook", prefix) }

// Topic is what the deliveries have that somebody asks for to try a webhook.
const Topic = "webhook.test"

// addressMost bounds the address of a webhook, in bytes.
const addressMost = 2000

var (
	// ErrMany refuses one more webhook.
	ErrMany = errors.New("there are too many webhooks")
	// ErrOff refuses to test a webhook that is off.
	ErrOff = errors.New("the webhook is off: switch it on first")
)

// Error is why a webhook is refused.
type Error struct {
	// Field is url or topics: what is wrong.
	Field string
	// Reason is a word for programs: form, unknown or required.
	Reason string
	// Message tells people.
	Message string
}

func (e *Error) Error() string { return e.Message }

// Options are a service's.
type Options struct {
	DB *store.DB
	// Prefix of the tables, which are those of Schema.
	Prefix string
	// Headers is what the names of a delivery's headers begin with, such as X-Board:
	// -Delivery, -Topic, -Timestamp and -Signature follow.
	Headers string
	// Agent is the User-Agent.
	Agent string
	// Topics are all that a webhook can be told of.
	Topics []string
	// Most is how many webhooks there may be: each change may have to write so many
	// rows.
	Most int
	// Keyring encrypts secrets in the database; nil: there is none. While it cannot be
	// used nothing is sent.
	Keyring func() (keyring.Keyring, error)
	// Now is the time. Default: time.Now.
	Now func() time.Time
}

// Hooks are the webhooks of a service. It is safe for concurrent use. What has a
// Conn is for a transaction of the service; its errors are the database's where
// nothing else is said, sql.ErrNoRows for a webhook that is not there.
type Hooks struct {
	Options
	hooks, deliveries string // tables
}

// New makes the webhooks of a service. It touches nothing yet.
func New(o Options) *Hooks {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Hooks{o, o.Prefix + "_webhooks", o.Prefix + "_webhook_deliveries"}
}

// Webhook is an address that is told of changes.
type Webhook struct {
	ID             int64
	URL            string
	Topics         []string
	Enabled        bool
	DisabledReason string // empty: switched off by hand
	CreatedBy      string
	CreatedAt      int64 // Unix microseconds, as all times here
	Pending        int64 // deliveries that wait
}

// List is all webhooks, oldest first.
func (h *Hooks) List(c store.Conn) ([]Webhook, error) {
	return store.List(c, func(r store.Row) (w Webhook, err error) {
		var topics string
		err = r.Scan(&w.ID, &w.URL, &topics, &w.Enabled, &w.DisabledReason, &w.CreatedBy, &w.CreatedAt, &w.Pending)
		w.Topics = strings.Fields(topics)
		return w, err
	}, "SELECT w.id, w.url, w.topics, w.enabled, w.disabled_reason, w.created_by, w.created_at,"+
		" (SELECT count(*) FROM "+h.deliveries+" d WHERE d.webhook_id = w.id AND d.next_at IS NOT NULL) FROM "+h.hooks+" w ORDER BY w.id")
}

// Check tells whether a webhook can be made, and brings its address and topics into
// the form in which Add takes them. Where the address leads is checked with each
// connection. The error is an Error.
func (h *Hooks) Check(address string, topics []string) (string, []string, error) {
	address = strings.TrimSpace(address)
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "" || len(address) > addressMost || !text.IsLine(address) {
		return "", nil, &Error{"url", "form", "the address must be a URL such as https://example.com/hook, without a user and a fragment"}
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

// Add makes a webhook of what Check and NewSecret gave. The error may be ErrMany.
func (h *Hooks) Add(c store.Conn, address string, topics []string, sealed, by string) (id int64, err error) {
	var n int
	if err := c.Row("SELECT count(*) FROM " + h.hooks).Scan(&n); err != nil {
		return 0, err
	}
	if n >= h.Most {
		return 0, ErrMany
	}
	err = c.Row("INSERT INTO "+h.hooks+" (url, topics, secret, created_by, created_at) VALUES (?, ?, ?, ?, ?) RETURNING id",
		address, " "+strings.Join(topics, " ")+" ", sealed, by, h.micros()).Scan(&id)
	return id, err
}

// Address is that of a webhook.
func (h *Hooks) Address(c store.Conn, id int64) (address string, err error) {
	err = c.Row("SELECT url FROM "+h.hooks+" WHERE id = ?", id).Scan(&address)
	return address, err
}

// Lock holds a webhook that is about to change, and tells its address.
func (h *Hooks) Lock(c store.Conn, id int64) (address string, err error) {
	err = c.Row("SELECT url FROM "+h.hooks+" WHERE id = ?"+c.Lock(), id).Scan(&address)
	return address, err
}

// Enable switches a webhook on or off. What waits for one that is off is sent once it
// is on again.
func (h *Hooks) Enable(c store.Conn, id int64, enabled bool) error {
	on := 0
	if enabled {
		on = 1
	}
	_, err := c.Exec("UPDATE "+h.hooks+" SET enabled = ?, disabled_reason = '' WHERE id = ?", on, id)
	return err
}

// SetSecret gives a webhook a secret of NewSecret, which counts at once.
func (h *Hooks) SetSecret(c store.Conn, id int64, sealed string) error {
	_, err := c.Exec("UPDATE "+h.hooks+" SET secret = ? WHERE id = ?", sealed, id)
	return err
}

// Delete removes a webhook with its deliveries.
func (h *Hooks) Delete(c store.Conn, id int64) error {
	if _, err := c.Exec("DELETE FROM "+h.deliveries+" WHERE webhook_id = ?", id); err != nil {
		return err
	}
	_, err := c.Exec("DELETE FROM "+h.hooks+" WHERE id = ?", id)
	return err
}

func (h *Hooks) micros() int64 { return h.Now().UnixMicro() }
