package alerts

import (
	"cmp"
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/timings"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Kinds of alerts of a Watch. KindErrors marks the beginning of an episode and KindErrorsEnd its end; KindLatency and
// KindLatencyEnd do the same for latencies.
const (
	KindErrors     = "errors.over"
	KindErrorsEnd  = "errors.normal"
	KindLatency    = "latency.over"
	KindLatencyEnd = "latency.normal"
)

// OnModel is the subject of alerts about one model of a provider. The holder is then "provider/model".
const OnModel = "model"

// Watch sets the error rate and the latency from which alerts are raised. Both thresholds apply to all requests
// together, and to the attempts at each model of a provider.
type Watch struct {
	// Errors is a percentage of requests. 0 means that error rates raise no alerts.
	Errors int
	// Latency is compared with the 95th percentile of the answers. 0 means that latencies raise no alerts.
	Latency time.Duration
	// Window is the length of the period that is evaluated. The period ends now, and Window is at most timings.MaxWindow.
	// An episode ends once its threshold has not been reached for the duration Window.
	Window time.Duration
	// MinRequests is the smallest number of requests in the window that can raise an alert.
	MinRequests int64
}

// latencyQuantile is the part of the answers that must be faster than Watch.Latency.
const latencyQuantile = 0.95

// seenEvery is how often the continuation of an episode is recorded.
const seenEvery = 30 * time.Second

// episode is a row of gateway_alert_episodes: a period in which a threshold is reached.
type episode struct {
	kind, subject, holder string // as Kind, On and Holder of the alert that began it
	began                 int64  // when the threshold was first reached, in Unix microseconds
	seen                  int64  // when the threshold was last reached, in Unix microseconds
}

// key returns the primary key of the episode.
func (e *episode) key() [3]string { return [3]string{e.kind, e.subject, e.holder} }

// rule describes one of the two thresholds of a Watch.
type rule struct {
	beginKind, endKind string                                      // the kinds of the alerts that begin and end an episode
	enabled            func(w *Watch) bool                         // whether the threshold is set
	reached            func(w *Watch, c *timings.Counts) bool      // whether the counts reach the threshold
	fill               func(w *Watch, c *timings.Counts, a *Alert) // sets the fields of an alert that have the numbers
}

// rules are the thresholds of a Watch: that of errors and that of latencies.
var rules = []rule{
	{
		KindErrors, KindErrorsEnd,
		func(w *Watch) bool { return w.Errors > 0 },
		func(w *Watch, c *timings.Counts) bool {
			return c.Total() >= w.MinRequests && c.Failed > 0 && c.Failed*100 >= c.Total()*int64(w.Errors)
		},
		func(w *Watch, c *timings.Counts, a *Alert) {
			a.Threshold, a.amount, a.spent = w.Errors, c.Total(), c.Failed
		},
	},
	{
		KindLatency, KindLatencyEnd,
		func(w *Watch) bool { return w.Latency > 0 },
		func(w *Watch, c *timings.Counts) bool {
			return c.Answered >= max(w.MinRequests, 1) && c.Percentile(latencyQuantile) >= w.Latency
		},
		func(w *Watch, c *timings.Counts, a *Alert) {
			a.amount, a.spent = w.Latency.Microseconds(), c.Percentile(latencyQuantile).Microseconds()
		},
	},
}

// observed holds the counts in the window, either of all requests or of one model.
type observed struct {
	subject, holder string // as Alert.On and Alert.Holder
	*timings.Counts
}

// watch compares the counts in the window with the thresholds, and begins and ends episodes. It returns the number of
// alerts raised.
func (s *Service) watch(ctx context.Context, o *Options) (raised int, err error) {
	now := s.now()
	open, err := s.episodes(ctx)
	if err != nil {
		return 0, err
	}
	var counts []observed
	if o.Watch.Errors > 0 || o.Watch.Latency > 0 {
		if counts, err = s.readCounts(ctx, &o.Watch, now); err != nil {
			return 0, err
		}
	}
	for i := range rules { // also if no threshold is set, to end open episodes
		n, err := s.applyRule(ctx, o, &rules[i], counts, open, now)
		if raised += n; err != nil {
			return raised, err
		}
	}
	return raised, nil
}

// readCounts reads the counts in the window. The first entry of the result has the counts of all requests, and each
// other entry has those of one model. Models on users' own servers are left out, since the operator is not
// responsible for these.
func (s *Service) readCounts(ctx context.Context, w *Watch, now time.Time) ([]observed, error) {
	counts := []observed{{keychain.OnOrganisation, keychain.Organisation, new(timings.Counts)}}
	for _, kind := range []timings.Kind{timings.All, timings.Model} {
		lines, err := timings.Read(
			ctx, s.db, timings.Query{Kind: kind, Unit: timings.Minute, From: now.Add(-w.Window), To: now.Add(time.Minute)},
		)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			switch {
			case kind == timings.All:
				counts[0].Counts = &l.Counts
			case l.Provider != keychain.CustomProvider:
				counts = append(counts, observed{OnModel, l.Provider + "/" + l.Model, &l.Counts})
			}
		}
	}
	return counts, nil
}

// episodes reads the open episodes, by their keys.
func (s *Service) episodes(ctx context.Context) (open map[[3]string]*episode, err error) {
	open = make(map[[3]string]*episode)
	err = s.db.Read(ctx, func(c store.Conn) error {
		list, err := store.List(c, func(r store.Row) (e *episode, err error) {
			e = new(episode)
			return e, r.Scan(&e.kind, &e.subject, &e.holder, &e.began, &e.seen)
		}, `SELECT kind, subject, holder, began, seen_at FROM gateway_alert_episodes`)
		for _, e := range list {
			open[e.key()] = e
		}
		return err
	})
	return open, err
}

// applyRule begins, continues and ends the episodes of a rule, and returns the number of alerts raised. open has the
// open episodes of all rules, by their keys.
func (s *Service) applyRule(
	ctx context.Context, o *Options, r *rule, counts []observed, open map[[3]string]*episode, now time.Time,
) (raised int, err error) {
	w := &o.Watch
	count := func(written bool, err error) error {
		if written {
			raised++
		}
		return err
	}
	countsOf := make(map[[3]string]*timings.Counts, len(counts)) // by the key of the episode
	for i := range counts {
		e := &episode{
			kind: r.beginKind, subject: counts[i].subject, holder: counts[i].holder,
			began: now.UnixMicro(), seen: now.UnixMicro(),
		}
		countsOf[e.key()] = counts[i].Counts
		if !r.enabled(w) || !r.reached(w, counts[i].Counts) {
			continue
		}
		if present := open[e.key()]; present != nil {
			err = s.continueEpisode(ctx, present, now)
			present.seen = e.seen // so that the episode is not ended below
		} else {
			err = count(s.beginEpisode(ctx, o, r, e, counts[i].Counts))
		}
		if err != nil {
			return raised, err
		}
	}
	for _, e := range open {
		recentlySeen := now.UnixMicro()-e.seen < w.Window.Microseconds()
		if e.kind != r.beginKind || r.enabled(w) && recentlySeen {
			continue
		}
		lastCounts := cmp.Or(countsOf[e.key()], new(timings.Counts)) // none, if there were no requests in the window
		if err := count(s.endEpisode(ctx, o, r, e, lastCounts, now)); err != nil {
			return raised, err
		}
	}
	return raised, nil
}

// beginEpisode opens an episode and raises its alert in one transaction. It does nothing if another node has opened the
// episode. written reports whether an alert was raised.
func (s *Service) beginEpisode(
	ctx context.Context, o *Options, r *rule, e *episode, counts *timings.Counts,
) (written bool, err error) {
	a := &Alert{
		Kind: r.beginKind, On: e.subject, Holder: e.holder,
		begins: e.began - o.Watch.Window.Microseconds(), ends: e.began,
	}
	r.fill(&o.Watch, counts, a)
	return s.write(ctx, a, func(c store.Conn) (bool, error) {
		n, err := c.Exec(`INSERT INTO gateway_alert_episodes (kind, subject, holder, began, seen_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (kind, subject, holder) DO NOTHING`, e.kind, e.subject, e.holder, e.began, e.seen)
		if err != nil || n == 0 {
			return false, err
		}
		return s.insert(c, o, a, nil)
	})
}

// continueEpisode records that an episode continues at the time now, unless that was recorded within seenEvery.
func (s *Service) continueEpisode(ctx context.Context, e *episode, now time.Time) error {
	if now.UnixMicro()-e.seen < seenEvery.Microseconds() {
		return nil
	}
	return s.db.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec(
			`UPDATE gateway_alert_episodes SET seen_at = ? WHERE kind = ? AND subject = ? AND holder = ? AND seen_at < ?`,
			now.UnixMicro(), e.kind, e.subject, e.holder, now.UnixMicro(),
		)
		return err
	})
}

// endEpisode closes an episode and raises the alert for its end, in one transaction. It does nothing if another node
// has closed the episode or recorded that the episode continues. It raises no alert if the rule was switched off.
// written reports whether an alert was raised.
func (s *Service) endEpisode(
	ctx context.Context, o *Options, r *rule, e *episode, counts *timings.Counts, now time.Time,
) (written bool, err error) {
	a := &Alert{Kind: r.endKind, On: e.subject, Holder: e.holder, begins: e.began, ends: now.UnixMicro()}
	r.fill(&o.Watch, counts, a)
	return s.write(ctx, a, func(c store.Conn) (bool, error) {
		n, err := c.Exec(
			`DELETE FROM gateway_alert_episodes WHERE kind = ? AND subject = ? AND holder = ? AND began = ? AND seen_at = ?`,
			e.kind, e.subject, e.holder, e.began, e.seen,
		)
		if err != nil || n == 0 || !r.enabled(&o.Watch) {
			return false, err
		}
		return s.insert(c, o, a, nil)
	})
}

// announce logs an alert that was written, and wakes the jobs that send its messages.
func (s *Service) announce(a *Alert) {
	s.logger.Info("alert", zap.String("kind", a.Kind), zap.String("on", a.On), zap.String("holder", a.Holder),
		zap.String("budget", a.Budget), zap.Int("threshold", a.Threshold))
	s.wakeJob(jobMail)
	s.wakeJob(jobWebhook)
}
