package board

import (
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func TestDigestsDue(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode, zone string
		hour       int64
		day        time.Weekday
		now, want  string
	}{
		{"daily", "UTC", 6, 1, "2026-01-05T05:59:59Z", "2026-01-05T06:00:00Z"},
		{"daily", "UTC", 6, 1, "2026-01-05T06:00:00Z", "2026-01-06T06:00:00Z"},
		{"daily", "UTC", 6, 1, "2026-01-05T07:00:00+02:00", "2026-01-05T06:00:00Z"},
		{"weekly", "UTC", 6, 1, "2026-01-05T05:00:00Z", "2026-01-05T06:00:00Z"}, // a Monday
		{"weekly", "UTC", 6, 1, "2026-01-05T06:00:00Z", "2026-01-12T06:00:00Z"},
		{"weekly", "UTC", 6, 1, "2025-12-31T12:00:00Z", "2026-01-05T06:00:00Z"},
		{"daily", "Europe/Vienna", 18, 1, "2026-01-05T16:59:00Z", "2026-01-05T17:00:00Z"},
		{"daily", "Europe/Vienna", 18, 1, "2026-07-05T16:00:00Z", "2026-07-06T16:00:00Z"},
		{"weekly", "Pacific/Auckland", 7, 5, "2026-06-15T00:00:00Z", "2026-06-18T19:00:00Z"},       // a Friday there
		{"daily", "Europe/Vienna", 2, 1, "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"},           // the hour is skipped
		{"daily", "America/St_Johns", 0, 1, "2026-01-05T03:30:00.000001Z", "2026-01-06T03:30:00Z"}, // no whole hours
	} {
		zone, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, test.now)
		if err != nil {
			t.Fatal(err)
		}
		d := following.Digests{Hour: test.hour, Day: test.day, Zone: zone}
		if got := d.Due(test.mode, now).UTC().Format(time.RFC3339); got != test.want {
			t.Errorf("%s at %s in %s: %s, want %s", test.mode, test.now, test.zone, got, test.want)
		}
	}
}

// TestDigestHour checks that digests are due at the hour and on the day of the reader, also when the clocks there
// change between the posts and the digest.
func TestDigestHour(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		s.exec("UPDATE board_users SET email_confirmed = 1, email = 'alice@example.com', time_zone = 'Europe/Vienna' WHERE username = 'alice'")
		alice := s.actor("alice")
		parseTime := func(text string) time.Time {
			t.Helper()
			moment, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			return moment
		}
		clock := parseTime("2026-03-02T12:00:00Z") // a Monday
		s.service.kernel.Now = func() time.Time { return clock }
		due := func() string {
			t.Helper()
			return time.UnixMicro(s.number("SELECT due_at FROM board_mails WHERE user_id = ?", alice.ID())).UTC().Format(time.RFC3339)
		}
		claim := func(mode string) *mails.Mailing {
			t.Helper()
			m, err := s.service.Mails.ClaimMail(t.Context(), mails.Recipient{User: alice.ID(), Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		send := func(mode string) {
			t.Helper()
			m := claim(mode)
			if m == nil || len(m.Threads) != 1 || m.Threads[0].Posts[0].At.Location().String() != "Europe/Vienna" {
				t.Fatalf("%s at %s: %+v", mode, clock, m)
			}
			if err := s.service.Mails.MailSent(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		follow := func(mode string) {
			t.Helper()
			if err := s.service.Following.Subscribe(t.Context(), alice, 1, mode); err != nil {
				t.Fatal(err)
			}
		}
		reply := func() {
			s.do("bob", "POST", "/threads/1/posts", `{"message":"At `+clock.Format(time.RFC3339Nano)+`"}`).want(201)
		}
		digests := func(hour, day int64) {
			t.Helper()
			if err := s.service.Following.SetDigests(t.Context(), alice, hour, day); err != nil {
				t.Fatal(err)
			}
		}

		digests(18, 5)
		follow("daily")
		reply()
		if got := due(); got != "2026-03-02T17:00:00Z" {
			t.Errorf("the daily digest is due at %s", got)
		}
		follow("weekly")
		if got := due(); got != "2026-03-06T17:00:00Z" {
			t.Errorf("the weekly digest is due at %s", got)
		}
		digests(7, 3)
		if got := due(); got != "2026-03-04T06:00:00Z" {
			t.Errorf("with another day the weekly digest is due at %s", got)
		}
		if list, err := s.service.Mails.DueMail(t.Context(), 10); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
		clock = parseTime("2026-03-04T06:00:01Z")
		send("weekly")

		// The clocks change on March 29, from +01:00 to +02:00.
		follow("daily")
		clock = parseTime("2026-03-28T12:00:00Z")
		reply()
		clock = parseTime("2026-03-29T06:00:01Z") // an hour late, this once
		send("daily")
		reply()
		if got := due(); got != "2026-03-30T05:00:00Z" {
			t.Errorf("in summer the daily digest is due at %s", got)
		}
		clock = parseTime("2026-03-30T05:00:01Z")
		send("daily")

		// They change back on October 25.
		clock = parseTime("2026-10-24T12:00:00Z")
		reply()
		clock = parseTime("2026-10-25T05:00:01Z")
		if m := claim("daily"); m != nil {
			t.Errorf("the digest is sent an hour early: %+v", m)
		}
		if got := due(); got != "2026-10-25T06:00:00Z" {
			t.Errorf("put off to %s", got)
		}
		clock = parseTime("2026-10-25T06:00:01Z")
		send("daily")
		reply()
		if got := due(); got != "2026-10-26T06:00:00Z" {
			t.Errorf("in winter the daily digest is due at %s", got)
		}

		for _, wrong := range [][2]int64{{-1, 0}, {24, 0}, {0, -1}, {0, 7}} {
			if err := s.service.Following.SetDigests(t.Context(), alice, wrong[0], wrong[1]); err == nil {
				t.Errorf("%v is taken", wrong)
			}
		}
	})
}
