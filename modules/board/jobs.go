package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/backends/board/jobs"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// Mail is how the board sends mails.
type Mail struct {
	// URL of the server: smtp://host:port, which needs STARTTLS but on this
	// machine, or smtps://host:port. Default: mails are only logged.
	URL string `json:"url,omitempty"`

	// From is the sender, such as: Board <board@example.com>.
	From string `json:"from,omitempty"`

	// User and Password, where the server asks for them.
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
}

// mailLog is what the Caddyfile says for mails that are only logged.
const mailLog = "log"

// unmarshalMail reads the option mail. Syntax:
//
//	mail log
//	mail smtp[s]://<host>[:<port>] {
//		from     <address>
//		user     <name>
//		password <secret>
//	}
func unmarshalMail(d *caddyfile.Dispenser) (*Mail, error) {
	m := new(Mail)
	if !d.AllArgs(&m.URL) {
		return nil, d.ArgErr()
	}
	if m.URL == mailLog {
		m.URL = ""
	}
	options := map[string]*string{"from": &m.From, "user": &m.User, "password": &m.Password}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		name := d.Val()
		into := options[name]
		if into == nil {
			return nil, d.Errf("mail has no option %q", name)
		}
		if *into != "" {
			return nil, d.Errf("%s is given twice", name)
		}
		if !d.AllArgs(into) {
			return nil, d.ArgErr()
		}
	}
	return m, nil
}

// attachmentsDatabase is what the Caddyfile says to keep attachments in the database.
const attachmentsDatabase = "database"

// attachmentsFolder is where attachments are kept; empty: in the database.
func attachmentsFolder(app *tollgate.App, option string) string {
	switch option {
	case attachmentsDatabase:
		return ""
	case "":
		if dir := app.ServiceFolder(serviceName); dir != "" {
			return filepath.Join(dir, "board-attachments")
		}
	}
	return option
}

// The metrics live for the process and are registered with each configuration.
var (
	jobRuns = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "tollgate", Subsystem: "board", Name: "job_runs_total",
		Help: "Runs of the board's work in the background by job and outcome.",
	}, []string{"job", "outcome"})
	jobDone = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "tollgate", Subsystem: "board", Name: "job_done_total",
		Help: "What these runs did by job: deliveries, mails, rows.",
	}, []string{"job"})
)

func registerMetrics(ctx caddy.Context) error {
	registry := ctx.GetMetricsRegistry()
	for _, collector := range []prometheus.Collector{jobRuns, jobDone} {
		var already prometheus.AlreadyRegisteredError
		if err := registry.Register(collector); err != nil && !errors.As(err, &already) {
			return err
		}
	}
	return nil
}

func observeJob(job, outcome string, done int) {
	jobRuns.WithLabelValues(job, outcome).Inc()
	jobDone.WithLabelValues(job).Add(float64(done))
}

// startJobs has the board's work done until the configuration ends. It waits
// for the database, which is opened when the app starts.
func startJobs(ctx caddy.Context, app *tollgate.App, service *board.Service, m *Mail, baseURL string) error {
	logger := ctx.Logger()
	mailer := &jobs.Mailer{Transport: jobs.Log{Logger: logger}, BaseURL: baseURL, Logger: logger}
	if m != nil && m.URL != "" {
		replacer := caddy.NewReplacer()
		smtp, err := jobs.NewSMTP(jobs.SMTPOptions{
			URL: replacer.ReplaceKnown(m.URL, ""), From: replacer.ReplaceKnown(m.From, ""),
			User: replacer.ReplaceKnown(m.User, ""), Password: replacer.ReplaceKnown(m.Password, ""),
		})
		if err != nil {
			return fmt.Errorf("mail: %w", err)
		}
		mailer.Transport = smtp
	}
	if err := registerMetrics(ctx); err != nil {
		return err
	}
	deliverer := jobs.NewDeliverer(app.AllowedNetworks(), logger)
	runner := jobs.New(service, jobs.Options{Webhooks: deliverer, Mail: mailer, Observe: observeJob, Logger: logger})
	running, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Run(running)
		deliverer.Close()
	}()
	// Before the modules are cleaned up, and with them the database is closed.
	ctx.OnCancel(func() {
		cancel()
		<-ended
	})
	return nil
}

// validate checks what needs no placeholder.
func (m *Mail) validate(baseURL string) error {
	switch {
	case m == nil || m.URL == "":
		if m != nil && cmp.Or(m.From, m.User, m.Password) != "" {
			return errors.New("mail: from, user and password are for a server")
		}
	case m.From == "":
		return errors.New("mail: from is missing, such as: Board <board@example.com>")
	case baseURL == "":
		return errors.New("mail: base_url is missing, which the links in mails begin with")
	case strings.Contains(m.URL, "@"):
		return errors.New("mail: user and password are options of their own")
	}
	return nil
}
