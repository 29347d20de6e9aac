package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/runevents"
	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/mock"
	"github.com/tollgate-gateway/tollgate/bench/process"
)

// countPath is the path of a query that counts all acknowledged reports.
const countPath = "/store/query/v4/reports?query=%5B%22extract%22%2C%5B%5B%22function%22%2C%22count%22%5D%5D%5D"

// pacePlain is the CPU time in µs that plain Caddy took for a single report on the reference machine. The aims for
// reports and for queries over them were set on that machine.
const pacePlain = 200

// reportsCaddyfile is a format string for the Caddyfile of a server. Its arguments are the addresses of the admin
// endpoint, of the sites plain and events, and of the mock provider.
const reportsCaddyfile = globalOptions + `	tollgate {
		database sqlite ` + database + `
	}
}

http://%[2]s {
	reverse_proxy %[4]s
}

http://%[3]s {
	tollgate events {
		submit loopback
	}
}
`

// reportLines measures the cost of a real report for the server, from the socket to the disk. The reports are
// compressed, and each report comes from a different node, like the reports that the servers of agents send.
// reportLines compares the server with plain Caddy, which passes the same reports on. At the end of a time slice, the
// server stores the reports of the slice for queries. This work is counted as part of the slice.
//
// The result pace is how many times slower this machine is than the machine on which the aims were set.
func (b *bench) reportLines(ctx context.Context, templates []template) (pace float64, _ []line, _ error) {
	const aim = 1000 // in µs
	dir, err := os.MkdirTemp(b.dir, "reports-")
	if err != nil {
		return 0, nil, fmt.Errorf("making a folder for the server: %w", err)
	}
	addresses, err := process.FreeAddresses(ctx, 3)
	if err != nil {
		return 0, nil, err
	}
	plain, events := load.Site{Address: addresses[1]}, load.Site{Address: addresses[2]}
	s := &process.Server{
		Dir: dir, Admin: addresses[0], Plain: plain,
		Config: fmt.Sprintf(reportsCaddyfile, addresses[0], addresses[1], addresses[2], b.upstream),
	}
	if err := s.Start(ctx, b.binary, b.environment); err != nil {
		return 0, nil, err
	}
	defer s.Stop()
	runs := &reportRuns{templates: templates, began: time.Now().Add(-time.Hour)}
	for _, site := range []load.Site{plain, events} {
		if err := s.Await(ctx, &load.Load{Site: site, Next: runs.to(site), Check: isTaken}); err != nil {
			return 0, nil, fmt.Errorf("the server does not take a report: %w\n%s", err, s.Said())
		}
	}
	var lines []line
	for _, senders := range []int{1, conns, 4 * conns} {
		side := func(site load.Site) *load.Load {
			return &load.Load{Site: site, Next: runs.to(site), Check: isTaken, Conns: senders}
		}
		stored := side(events)
		stored.Last = fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: application/json\r\n\r\n",
			countPath, events.Address)
		p, err := b.compare(ctx, s, b.rounds, side(plain), stored)
		if err != nil {
			return 0, nil, err
		}
		if err := b.profile(ctx, s, side(events), fmt.Sprintf("reports-%d", senders)); err != nil {
			return 0, nil, err
		}
		beneath, ours := medianOf(p.plain, cpuOf), medianOf(p.other, cpuOf)
		if senders == 1 {
			pace = beneath / pacePlain
		}
		l := beside(fmt.Sprintf("real report over HTTP, %d at a time, server CPU µs each", senders), beneath, ours)
		l.aim, l.met = fmt.Sprint("<= ", aim), ours <= aim
		lines = append(lines, l)
	}
	return pace, lines, nil
}

// reportRuns makes the runs of many nodes from real reports. No two runs are the same.
type reportRuns struct {
	templates []template
	began     time.Time    // the time of the first run
	count     atomic.Int64 // the number of runs so far
}

// to returns a function that makes requests. Each request submits one run to the given site.
func (r *reportRuns) to(site load.Site) func() ([]byte, error) {
	return func() ([]byte, error) {
		n := int(r.count.Add(1)) - 1
		node, run := n%fleetNodes, n/fleetNodes
		t := r.templates[(node+7*run)%len(r.templates)]
		body, err := runevents.Vary(t.payload, fmt.Sprintf("node%06d.example.com", node),
			r.began.Add(time.Duration(n)*time.Millisecond).Sub(t.ended))
		if err != nil {
			return nil, err
		}
		var packed bytes.Buffer
		zip, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		if err != nil {
			return nil, err
		}
		_, _ = zip.Write(body) // cannot fail, because the writer is a buffer
		_ = zip.Close()
		return fmt.Appendf(nil, "POST %s?command=store_report&version=8&certname=node%06d.example.com HTTP/1.1\r\nHost: %s\r\nAccept: application/json\r\n"+
			"Content-Type: application/json\r\nContent-Encoding: gzip\r\nX-Uncompressed-Length: %d\r\nContent-Length: %d\r\n\r\n%s",
			mock.CommandPath, node, site.Address, len(body), packed.Len(), packed.Bytes()), nil
	}
}

// isTaken checks the acknowledgement of a report.
func isTaken(got load.Reply) error {
	if got.Status != 200 || got.Bytes < 40 {
		return fmt.Errorf("status %d with %d bytes instead of 200 with the number of the command", got.Status, got.Bytes)
	}
	return nil
}
