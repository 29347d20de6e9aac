package alerts

import (
	"context"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Alert is an event that recipients are notified of.
type Alert struct {
	id    int64
	Event string `json:"id"`
	// Kind is KindBudget, KindProviderKey, KindTest, or one of the kinds of a Watch.
	Kind string    `json:"type"`
	At   time.Time `json:"at"`
	// On is the kind of the alert's subject, and Holder is the subject's id, as in keychain.ImposedBudget. For an alert of
	// KindProviderKey, On is OnProvider and Holder is the provider's code. Name is the holder's name at the time of the
	// alert; it may be empty.
	On     string `json:"on"`
	Holder string `json:"holder"`
	Name   string `json:"name,omitempty"`
	// Budget is the name of a budget, or the state of a key.
	Budget string `json:"budget,omitempty"`
	// Threshold is a percentage of a budget or of requests, and 0 for other alerts. Only budget alerts have Amount and
	// Spent.
	Threshold int `json:"threshold,omitempty"`
	// Amount and Spent count tokens, or US dollars if the name of the budget begins with "usd".
	Amount any `json:"amount,omitempty"`
	Spent  any `json:"spent,omitempty"`
	// Requests and Errors count the requests, and those that failed, in the window of a Watch. They are set for
	// KindErrors and KindErrorsEnd.
	Requests *int64 `json:"requests,omitempty"`
	Errors   *int64 `json:"errors,omitempty"`
	// LatencyMS is the percentile that was compared with the limit LimitMS. Both are set for KindLatency and
	// KindLatencyEnd.
	LatencyMS *int64 `json:"latency_ms,omitempty"`
	LimitMS   *int64 `json:"limit_ms,omitempty"`
	// Begins and Ends bound the period of the budget, and are nil for a total budget. In alerts of a Watch they bound
	// the window, or the whole episode if the alert ends one.
	Begins *time.Time `json:"begins_at"`
	Ends   *time.Time `json:"ends_at"`

	// The fields below hold the values of the database, from which the method complete sets the exported fields. The
	// fields begins and ends are in Unix microseconds; 0 means that there is no such time. The fields amount and spent are
	// Amount and Spent in tokens or millionths of a US dollar. In alerts of a Watch they are Requests and Errors, or
	// LimitMS and LatencyMS in microseconds.
	begins, ends, amount, spent int64
	money                       bool // whether amount and spent are in millionths of a US dollar
}

// Message is the notification that one recipient gets of an alert.
type Message struct {
	// Channel is "mail" or "webhook". Target is a mail address, or the origin of a webhook's URL: its path is left out
	// because it may contain a secret.
	Channel string `json:"channel"`
	Target  string `json:"target"`
	// State is "pending", "sent" or "failed". Answer is the result of the last attempt.
	State    string     `json:"state"`
	Attempts int64      `json:"attempts"`
	Answer   string     `json:"answer"`
	TriedAt  *time.Time `json:"tried_at"`
}

// Sent is an alert with its messages.
type Sent struct {
	Alert
	Messages []Message `json:"messages"`
}

// Place returns the alert's cursor for List, which then continues after this alert.
func (a *Alert) Place() int64 { return a.id }

// alertColumns are the columns of alerts, in the order of scanArgs.
const alertColumns = `a.id, a.event, a.kind, a.created_at, a.subject, a.holder, a.name, a.budget, a.begins, a.ends, a.threshold, a.amount, a.spent`

// scanArgs returns the arguments of Scan for alertColumns. The time of the alert is scanned into created.
func (a *Alert) scanArgs(created *int64) []any {
	return []any{
		&a.id, &a.Event, &a.Kind, created, &a.On, &a.Holder, &a.Name, &a.Budget, &a.begins, &a.ends, &a.Threshold,
		&a.amount, &a.spent,
	}
}

// complete sets the exported fields that are derived from the columns. created is the time of the alert in Unix
// microseconds.
func (a *Alert) complete(created int64) {
	a.At = time.UnixMicro(created).UTC()
	if a.Kind == KindTest {
		a.Budget, a.begins = "", 0 // these only make the alert unique
	}
	a.Begins, a.Ends = optionalTime(a.begins), optionalTime(a.ends)
	switch a.Kind {
	case KindBudget:
		a.money = strings.HasPrefix(a.Budget, "usd")
		if a.money {
			a.Amount, a.Spent = spending.MicroUSD(a.amount), spending.MicroUSD(a.spent)
		} else {
			a.Amount, a.Spent = a.amount, a.spent
		}
	case KindErrors, KindErrorsEnd:
		a.Requests, a.Errors = new(a.amount), new(a.spent)
	case KindLatency, KindLatencyEnd:
		a.LimitMS, a.LatencyMS = new(a.amount/1000), new(a.spent/1000)
	}
}

// optionalTime returns the time for Unix microseconds, and nil for 0.
func optionalTime(micros int64) *time.Time {
	if micros == 0 {
		return nil
	}
	t := time.UnixMicro(micros).UTC()
	return &t
}

// List returns at most limit alerts with their messages, newest first. It begins after the alert whose Place is cursor,
// or with the newest alert if cursor is not positive.
func List(ctx context.Context, db *store.DB, cursor int64, limit int) (list []Sent, err error) {
	if cursor <= 0 {
		cursor = 1<<63 - 1 // greater than all ids
	}
	err = db.Read(ctx, func(c store.Conn) error {
		list, err = store.List(c, func(r store.Row) (s Sent, err error) {
			var created int64
			err = r.Scan(s.scanArgs(&created)...)
			s.complete(created)
			s.Messages = []Message{}
			return s, err
		}, `SELECT `+alertColumns+` FROM gateway_alerts AS a WHERE a.id < ? ORDER BY a.id DESC LIMIT ?`, cursor, limit)
		if err != nil || len(list) == 0 {
			return err
		}
		indexes := make(map[int64]int, len(list)) // in list, by the id of the alert
		for i := range list {
			indexes[list[i].id] = i
		}
		return c.All(`SELECT alert_id, channel, target, state, attempts, answer, tried_at FROM gateway_alert_messages
			WHERE alert_id >= ? AND alert_id <= ? ORDER BY id`, []any{list[len(list)-1].id, list[0].id},
			func(r store.Row) error {
				var alertID int64
				var triedAt *int64
				var m Message
				if err := r.Scan(&alertID, &m.Channel, &m.Target, &m.State, &m.Attempts, &m.Answer, &triedAt); err != nil {
					return err
				}
				m.Target = publicTarget(m.Channel, m.Target)
				if triedAt != nil {
					m.TriedAt = optionalTime(*triedAt)
				}
				if i, ok := indexes[alertID]; ok {
					list[i].Messages = append(list[i].Messages, m)
				}
				return nil
			})
	})
	return list, err
}

// List calls the function List with the service's database.
func (s *Service) List(ctx context.Context, cursor int64, limit int) ([]Sent, error) {
	return List(ctx, s.db, cursor, limit)
}
