package jobs

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

// The headers of a delivery.
const (
	HeaderDelivery  = "X-Board-Delivery"
	HeaderTopic     = "X-Board-Topic"
	HeaderTimestamp = "X-Board-Timestamp"
	HeaderSignature = "X-Board-Signature"
)

const (
	deliveryTimeout = 10 * time.Second
	// deliveriesAtOnce bounds how many webhooks are served at a time.
	deliveriesAtOnce = 8
	// deliveriesRun bounds what one webhook gets in one run, and deliveriesTime
	// after how long it begins no more: the next run waits for the slowest.
	deliveriesRun  = 200
	deliveriesTime = 10 * time.Second
	// answerRead is how much of an answer is read, so that its connection can be
	// used again; its text is ignored.
	answerRead = 16 << 10
)

// Deliverer sends deliveries to the addresses of webhooks.
type Deliverer struct {
	client *http.Client
	now    func() time.Time
	logger *zap.Logger
}

// NewDeliverer makes a deliverer that connects to public addresses and to those
// of allow.
func NewDeliverer(allow []netip.Prefix, logger *zap.Logger) *Deliverer {
	return &Deliverer{
		client: &http.Client{
			Timeout: deliveryTimeout,
			Transport: &http.Transport{
				DialContext:            outbound.Dialer(allow).DialContext,
				TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout:    deliveryTimeout,
				MaxResponseHeaderBytes: 16 << 10,
				MaxIdleConnsPerHost:    1,
				IdleConnTimeout:        30 * time.Second,
				ForceAttemptHTTP2:      true,
			},
			// A redirect would lead past what the administrator has set.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		now: time.Now, logger: logger,
	}
}

// Close ends the connections that are kept.
func (d *Deliverer) Close() { d.client.CloseIdleConnections() }

// Deliver sends what is due. Webhooks do not wait for each other; one that fails
// rests until the next run.
func (d *Deliverer) Deliver(ctx context.Context, service *board.Service) (done int, err error) {
	ids, err := service.DueWebhooks(ctx)
	if err != nil {
		return 0, err
	}
	var delivered atomic.Int64
	var running sync.WaitGroup
	errs := make([]error, len(ids))
	slots := make(chan struct{}, deliveriesAtOnce)
	for i, id := range ids {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			n, err := d.deliverTo(ctx, service, id)
			delivered.Add(int64(n))
			errs[i] = err
		})
	}
	running.Wait()
	return int(delivered.Load()), errors.Join(errs...)
}

// deliverTo sends what is due to one webhook, in order, until one fails or the
// time of a run is over.
func (d *Deliverer) deliverTo(ctx context.Context, service *board.Service, id int64) (done int, err error) {
	begun := d.now()
	for range deliveriesRun {
		if d.now().Sub(begun) >= deliveriesTime {
			return done, nil
		}
		o, err := service.ClaimDelivery(ctx, id)
		if err != nil || o == nil {
			return done, err
		}
		status, why := d.send(ctx, o)
		settle, cancel := jobs.Settling(ctx)
		if ctx.Err() != nil && status == 0 {
			err = service.NotDelivered(settle, o)
			cancel()
			return done, err
		}
		err = service.Delivered(settle, o, status, why)
		cancel()
		if err != nil {
			return done, err
		}
		if status < 200 || status > 299 {
			d.logger.Warn("webhook not delivered", zap.Int64("webhook", id), zap.Int64("delivery", o.ID), zap.String("topic", o.Topic), zap.Int("status", status), zap.String("reason", why))
			return done, nil
		}
		done++
	}
	return done, nil
}

// send makes one attempt: the status of the answer, or 0 and why there is none.
func (d *Deliverer) send(ctx context.Context, o *board.Outgoing) (status int, why string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.URL, strings.NewReader(o.Body))
	if err != nil {
		return 0, "the address is not valid"
	}
	at := strconv.FormatInt(d.now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Tollgate-Board")
	r.Header.Set(HeaderDelivery, o.Event+"."+strconv.FormatInt(o.Webhook, 10))
	r.Header.Set(HeaderTopic, o.Topic)
	r.Header.Set(HeaderTimestamp, at)
	r.Header.Set(HeaderSignature, Sign(o.Secret, at, o.Body))
	answer, err := d.client.Do(r)
	if err != nil {
		return 0, reason(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, answerRead)
	return answer.StatusCode, ""
}

// Sign is the signature of a delivery: HMAC-SHA-256 over the time, a dot and
// the body.
func Sign(secret []byte, timestamp, body string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp + "." + body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// reason tells why there is no answer, without the address: it may hold a secret.
func reason(err error) string {
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err
	}
	var timeout net.Error
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, outbound.ErrNotAllowed):
		return outbound.ErrNotAllowed.Error()
	case errors.As(err, &dns):
		return "the name of the host is not known"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in " + deliveryTimeout.String()
	case errors.As(err, &certificate):
		return "the certificate of the host is not valid"
	}
	return "the connection failed: " + err.Error()
}
