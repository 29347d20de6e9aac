package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/runevents"
	"github.com/tollgate-gateway/tollgate/bench/process"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// runEventsVariable is the environment variable with the number of events. The full size is 600,000, which
	// takes a minute.
	runEventsVariable = "TOLLGATE_BENCH_EVENTS"
	// minEvents is the number of events in two hours, the time that the queries cover.
	minEvents = 250_000
	// reportsFile contains the real reports that the runs are made from.
	reportsFile = "backends/runevents/testdata/reports.tar.gz"
	// fleetNodes is the size of the fleet. Its nodes run one after another within the time fleetInterval.
	fleetNodes    = 2000
	fleetInterval = 30 * time.Minute
	// fleetSenders is the number of reports that are sent at the same time.
	fleetSenders = 64
)

// fleetStart is the time of the first run. The clock of the service always shows this time.
var fleetStart = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)

// runEventsRow sends real reports to a server, and compares the server with a proxy that passes them on. Then it stores
// the runs of a fleet and measures the duration of queries over them. Each run is durable when it is acknowledged. The
// figures are for SQLite and, in the column "plain", for PostgreSQL. The memory on PostgreSQL does not include the
// memory of the database server.
func runEventsRow(ctx context.Context, b *bench) ([]line, error) {
	events, err := sizeFrom(runEventsVariable, "events", minEvents, minEvents)
	if err != nil {
		return nil, err
	}
	templates, err := readTemplates(reportsFile)
	if err != nil {
		return nil, fmt.Errorf("reading real reports, from the root of the repository: %w", err)
	}
	pace, reports, err := b.reportLines(ctx, templates)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "runevents")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it may be large
	lines, err := onBoth(ctx, dir, runevents.Schema(), func(db *store.DB) ([]line, error) {
		return measureFleet(ctx, db, templates, events)
	})
	reports = append(reports, line{
		label: "times as slow as the machine on which the aims were set, by plain Caddy",
		plain: number(pace),
	})
	return append(reports, lines...), err
}

// measureFleet stores the runs in a database and measures queries.
func measureFleet(ctx context.Context, db *store.DB, templates []template, events int) ([]line, error) {
	f := &fleet{templates: templates}
	clock := func() time.Time { return fleetStart }
	var err error
	if f.service, err = runevents.New(runevents.Options{DB: db, Now: clock}); err != nil {
		return nil, fmt.Errorf("making the service: %w", err)
	}
	defer f.service.Close()
	if err := f.fill(ctx, events); err != nil {
		return nil, fmt.Errorf("storing reports: %w", err)
	}
	lines, err := f.stored(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("measuring the database: %w", err)
	}
	// The memory that the reports took is returned to the system, because it does not belong to the service.
	debug.FreeOSMemory()
	shapes, err := f.ask(ctx)
	return append(lines, shapes...), err
}

// template is a real report.
type template struct {
	payload []byte
	ended   time.Time
	events  int
}

// readTemplates reads the reports from an archive.
func readTemplates(file string) (list []template, err error) {
	archive, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	unzip, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(unzip); ; {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		t := template{}
		if t.payload, err = io.ReadAll(r); err != nil {
			return nil, err
		}
		if t.ended, err = time.Parse(time.RFC3339, gjson.GetBytes(t.payload, "producer_timestamp").String()); err != nil {
			return nil, err
		}
		for _, resource := range gjson.GetBytes(t.payload, "resources").Array() {
			if t.events++; !resource.Get("skipped").Bool() {
				t.events += len(resource.Get("events").Array()) - 1
			}
		}
		list = append(list, t)
	}
}

// fleet is a group of nodes whose runs are stored.
type fleet struct {
	service   *runevents.Service
	templates []template
	end       time.Time // the time of the last run

	reports int           // the number of stored reports
	took    time.Duration // the time it took to store the reports
	cpu     time.Duration // the CPU time it took to store the reports
}

// fill stores runs until there are enough events. The time that it takes to generate the runs is not measured.
func (f *fleet) fill(ctx context.Context, events int) error {
	const chunk = 1000 // reports, which take tens of megabytes
	bodies := make([][]byte, 0, chunk)
	for count := 0; count < events; {
		bodies = bodies[:0]
		for ; count < events && len(bodies) < chunk; f.reports++ {
			node, run := f.reports%fleetNodes, f.reports/fleetNodes
			t := f.templates[(node+7*run)%len(f.templates)]
			f.end = fleetStart.Add(fleetInterval * time.Duration(f.reports) / fleetNodes)
			body, err := runevents.Vary(t.payload, fmt.Sprintf("node%06d.example.com", node), f.end.Sub(t.ended))
			if err != nil {
				return err
			}
			bodies = append(bodies, body)
			count += t.events
		}
		if err := f.store(ctx, bodies); err != nil {
			return err
		}
	}
	return nil
}

// store submits reports, fleetSenders at a time, and waits until queries find them.
func (f *fleet) store(ctx context.Context, bodies [][]byte) error {
	var (
		senders sync.WaitGroup
		next    = make(chan []byte, len(bodies))
		failed  = make(chan error, fleetSenders)
	)
	for _, body := range bodies {
		next <- body
	}
	close(next)
	initialCPU, err := process.CPU(os.Getpid())
	if err != nil {
		return err
	}
	began := time.Now()
	for range fleetSenders {
		senders.Go(func() {
			for body := range next {
				if _, err := f.service.Process(ctx,
					runevents.Command{Name: "store report", Version: 8, Certname: "node", Payload: body}); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	senders.Wait()
	if err := f.service.Settle(ctx); err != nil {
		return fmt.Errorf("filing reports: %w", err)
	}
	f.took += time.Since(began)
	select {
	case err := <-failed:
		return err
	default:
	}
	finalCPU, err := process.CPU(os.Getpid())
	f.cpu += finalCPU - initialCPU
	return err
}

// stored returns the lines for the speed at which the runs were stored and for the space that they take.
func (f *fleet) stored(ctx context.Context, db *store.DB) ([]line, error) {
	var events, size float64
	room := "SELECT (SELECT count(*) FROM run_events), page_count * page_size FROM pragma_page_count, pragma_page_size"
	if db.Dialect() == store.Postgres {
		room = "SELECT (SELECT count(*) FROM run_events), pg_database_size(current_database())"
	}
	err := db.Read(ctx, func(c store.Conn) error { return c.Row(room).Scan(&events, &size) })
	if err != nil {
		return nil, err
	}
	const fastest, largest = 30_000, 500
	rate, eventSize := events/f.took.Seconds(), size/events
	return []line{
		{label: fmt.Sprintf("reports/s stored, of %d", f.reports), tollgate: number(float64(f.reports) / f.took.Seconds())},
		{
			label: fmt.Sprintf("events/s stored, of %.0f", events), tollgate: number(rate), aim: fmt.Sprint(">= ", fastest),
			met: rate >= fastest,
		},
		{label: "µs of CPU an event stored", tollgate: number(float64(f.cpu.Microseconds()) / events)},
		{
			label: "bytes an event in the database", tollgate: number(eventSize), aim: fmt.Sprint("<= ", largest),
			met: eventSize <= largest,
		},
	}, nil
}

// ask measures typical queries.
func (f *fleet) ask(ctx context.Context) ([]line, error) {
	const quick, broad, flow = 30, 80, 120
	instant := func(ago time.Duration) string { return f.end.Add(-ago).Format(time.RFC3339) }
	var found fleetAnswer
	if err := f.get(ctx, &found, "/reports", "query", `["extract","hash",["=","certname","node000007.example.com"]]`,
		"limit", "1"); err != nil {
		return nil, err
	}
	hash := gjson.GetBytes(found.start, "0.hash").String()
	var lines []line
	for _, shape := range []struct {
		label string
		aim   float64
		pairs []string
	}{
		{"ms for the events of a report", quick, []string{"query", `["=","report","` + hash + `"]`}},
		{"ms for 100 events of 5 minutes", quick, []string{
			"query", `["and",[">=","timestamp","` + instant(65*time.Minute) + `"],["<","timestamp","` + instant(60*time.Minute) +
				`"]]`, "limit", "100",
		}},
		{
			"ms for status, certname regex and type", quick,
			[]string{"query", `["and",["=","status","failure"],["~","certname","^node0000[0-4]"],["=","resource_type","Exec"]]`},
		},
		{
			"ms for latest reports and file regex", broad,
			[]string{"query", `["and",["=","latest_report?",true],["~","file","manifests/service\\.pp$"]]`},
		},
		{"ms to count by status", broad, []string{
			"query",
			`["extract",[["function","count"],"status"],["group_by","status"]]`,
		}},
		{
			"ms to count by certname and status", broad,
			[]string{"query", `["extract",[["function","count"],"certname","status"],["group_by","certname","status"]]`},
		},
		{"ms to count by state and hour of day", broad, []string{
			"query", `["extract",[["function","count"],"status",["function","to_string","timestamp","HH24"]],["group_by","status",["function","to_string","timestamp","HH24"]]]`,
		}},
		{"ms to count by type", broad, []string{
			"query",
			`["extract",[["function","count"],"resource_type"],["group_by","resource_type"]]`,
		}},
		{"ms for distinct resources of an hour", quick, []string{
			"distinct_resources", "true", "distinct_start_time", instant(2 * time.Hour), "distinct_end_time", instant(time.Hour),
			"query", `["=","status","failure"]`,
		}},
		{"ms for a page of 100 with the total", quick, []string{
			"query", `["=","status","failure"]`, "order_by", `[{"field":"timestamp","order":"desc"}]`, "limit", "100",
			"include_total", "true",
		}},
	} {
		ms, err := typical(func() error { return f.get(ctx, new(fleetAnswer), "/events", shape.pairs...) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shape.label, err)
		}
		lines = append(lines, below(shape.label, ms, shape.aim))
	}
	var whole fleetAnswer
	began := time.Now()
	if err := f.get(ctx, &whole, "/events"); err != nil {
		return nil, fmt.Errorf("streaming all events: %w", err)
	}
	rate := float64(whole.size) / 1e6 / time.Since(began).Seconds()
	memory, err := process.Resident(os.Getpid())
	if err != nil {
		return nil, err
	}
	return append(lines,
		line{
			label: "MB/s of all events in one answer", tollgate: number(rate), aim: fmt.Sprint(">= ", flow),
			met: rate >= flow,
		},
		below("MB resident after all of this", float64(memory)/1e6, 250),
	), nil
}

// get sends a query to the service itself, without a network, and stores the response in answer. The strings in pairs
// are the names of parameters, each followed by its value.
func (f *fleet) get(ctx context.Context, answer *fleetAnswer, path string, pairs ...string) error {
	parameters := make(url.Values)
	for pair := range slices.Chunk(pairs, 2) {
		parameters.Set(pair[0], pair[1])
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/store/query/v4"+path+"?"+parameters.Encode(), nil)
	if err != nil {
		return err
	}
	f.service.ServeHTTP(answer, r)
	switch {
	case answer.status != http.StatusOK:
		return fmt.Errorf("status %d: %.300s", answer.status, answer.start)
	case answer.size < 3:
		return errors.New("nothing was found")
	}
	return nil
}

// fleetAnswer is an http.ResponseWriter that counts the bytes of a response and keeps the first bytes.
type fleetAnswer struct {
	header http.Header
	status int
	start  []byte
	size   int
}

func (a *fleetAnswer) Header() http.Header {
	if a.header == nil {
		a.header = make(http.Header)
	}
	return a.header
}

func (a *fleetAnswer) WriteHeader(status int) { a.status = status }

func (a *fleetAnswer) Write(b []byte) (int, error) {
	a.start = append(a.start, b[:min(len(b), 1<<10-len(a.start))]...)
	a.size += len(b)
	return len(b), nil
}
