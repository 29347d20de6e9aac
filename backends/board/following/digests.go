package following

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Digests holds the times at which a member gets digests.
type Digests struct {
	Hour int64          // of the member's day, from 0 to 23
	Day  time.Weekday   // of weekly digests
	Zone *time.Location // the time zone of the member

	anchor kernel.Moment // the stored anchor; see anchorOf
}

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// Due returns when the mail about a post that is written now is due, for a member who follows in the given mode. An
// instant mail is due after InstantDelay. A daily digest is due when the member's clock next shows the hour in d, and a
// weekly digest at this hour on the day in d. On a day on which the clock skips that hour, it is due right after the
// gap.
func (d Digests) Due(mode string, now time.Time) time.Time {
	if mode != "daily" && mode != "weekly" {
		return now.Add(InstantDelay)
	}
	local := now.In(d.Zone)
	for days := 0; ; days++ {
		due := time.Date(local.Year(), local.Month(), local.Day()+days, int(d.Hour), 0, 0, 0, d.Zone)
		if due.After(now) && (mode != "weekly" || due.Weekday() == d.Day) {
			return due
		}
	}
}

// digestDue is an SQL expression for the delay, in microseconds, between a given time and the time at which a mail is
// due, for member u and subscription s. Its arguments are the given time, twice. The delay of an instant mail is
// InstantDelay.
//
// SQL has no time zones, so digestDue counts whole days or weeks from the anchor in board_users.digest_at, the time of
// a digest in the past. After the clocks have changed, the result can be wrong by an hour. If a mail is early,
// mails.ClaimMail postpones it and stores a new anchor.
const digestDue = "CASE s.mode WHEN 'daily' THEN 86400000000 - (CAST(? AS BIGINT) - u.digest_at) % 86400000000" +
	" WHEN 'weekly' THEN 604800000000 - (CAST(? AS BIGINT) - u.digest_at) % 604800000000 ELSE 15000000 END"

// anchorOf returns an anchor for board_users.digest_at (see digestDue). It is a time two or three weeks before now, on
// the day and at the hour of weekly digests. Both the day and the hour are those of the UTC offset that applies at the
// next daily digest, even if the offset was another one at the anchor.
func (d Digests) anchorOf(now time.Time) kernel.Moment {
	nextDaily := d.Due("daily", now)
	daysToWeekly := (d.Day - nextDaily.In(d.Zone).Weekday() + 7) % 7
	return kernel.MomentOf(nextDaily.Add(time.Duration(daysToWeekly)*day - 3*week))
}

// DigestsOf returns the times at which a member gets digests. If the member's time zone is unknown, it is UTC.
func DigestsOf(c store.Conn, user int64) (d Digests, err error) {
	var zone string
	err = c.Row("SELECT digest_hour, digest_day, digest_at, time_zone FROM board_users WHERE id = ?", user).Scan(
		&d.Hour, &d.Day, &d.anchor, &zone)
	d.Zone = time.UTC
	if location, zoneErr := text.Zone(zone); err == nil && zoneErr == nil {
		d.Zone = location
	}
	return d, err
}

// Anchor stores an anchor (see digestDue) for a member whose clock has changed, or who has chosen another time for
// digests. It does nothing if the stored anchor leads to the same times.
func (d Digests) Anchor(c store.Conn, user int64, now time.Time) error {
	anchor := d.anchorOf(now)
	if anchor.Sub(d.anchor)%week == 0 {
		return nil
	}
	_, err := c.Exec("UPDATE board_users SET digest_at = ? WHERE id = ?", anchor, user)
	return err
}

// Reschedule moves a member's waiting digests to the hour and day that the member has now chosen. Digests that are
// overdue, or that could not be sent before, are not moved.
func Reschedule(c store.Conn, user int64, now time.Time) error {
	d, err := DigestsOf(c, user)
	if err != nil {
		return err
	}
	if err := d.Anchor(c, user, now); err != nil {
		return err
	}
	for _, mode := range []string{"daily", "weekly"} {
		if _, err := c.Exec("UPDATE board_mails SET due_at = ? WHERE user_id = ? AND mode = ? AND due_at > ?"+
			" AND attempts = 0", d.Due(mode, now).UnixMicro(), user, mode, now.UnixMicro()); err != nil {
			return err
		}
	}
	return nil
}

// Digests returns the times at which the actor gets digests.
func (s *Service) Digests(ctx context.Context, a *rights.Actor) (Digests, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (Digests, error) {
		return DigestsOf(c, a.ID())
	})
}

// SetDigests sets the hour at which the actor gets digests, and the day of weekly digests.
func (s *Service) SetDigests(ctx context.Context, a *rights.Actor, hour, day int64) error {
	if hour < 0 || hour > 23 {
		return kernel.Invalid("hour", "range", "the hour must be from 0 to 23")
	}
	if day < int64(time.Sunday) || day > int64(time.Saturday) {
		return kernel.Invalid("day", "range", "the day must be from 0 (Sunday) to 6 (Saturday)")
	}
	return s.Write(ctx, func(c store.Conn) error {
		if _, err := c.Exec("UPDATE board_users SET digest_hour = ?, digest_day = ? WHERE id = ?",
			hour, day, a.ID()); err != nil {
			return err
		}
		return Reschedule(c, a.ID(), s.Now())
	})
}
