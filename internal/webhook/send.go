package webhook

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

	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

// Suffixes of the names of a delivery's headers; see Options.Headers.
const (
	HeaderDelivery  = "-Delivery"
	HeaderTopic     = "-Topic"
	HeaderTimestamp = "-Timestamp"
	HeaderSignature = "-Signature"
)

const (
	deliveryTimeout = 10 * time.Second
	// deliveriesAtOnce limits the webhooks that are served at the same time.
	deliveriesAtOnce = 8
	// deliveriesRun limits the deliveries to one webhook in a run. deliveriesTime is the time after which a run begins no
	// further delivery, because the next run begins only when the slowest webhook is done.
	deliveriesRun  = 200
	deliveriesTime = 10 * time.Second
	// maxAnswer is how many bytes of an answer are read, so that its connection can be reused. They are ignored.
	maxAnswer = 16 << 10
)

// Sender sends deliveries to the URLs of webhooks.
type Sender struct {
	client *http.Client
	now    func() time.Time
	logger *zap.Logger
}

// NewSender makes a sender that connects to public addresses and to those in allow.
func NewSender(allow []netip.Prefix, logger *zap.Logger) *Sender {
	return &Sender{
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
			// A redirect could lead away from the URL that the administrator has set.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		now: time.Now, logger: logger,
	}
}

// Close closes idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Deliver sends the deliveries that are due, and returns how many were sent. Webhooks do not wait for each other. A
// webhook whose delivery fails pauses until the next run.
func (h *Hooks) Deliver(ctx context.Context, s *Sender) (done int, err error) {
	ids, err := h.due(ctx)
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
			n, err := h.deliverTo(ctx, s, id)
			delivered.Add(int64(n))
			errs[i] = err
		})
	}
	running.Wait()
	return int(delivered.Load()), errors.Join(errs...)
}

// deliverTo sends the due deliveries of one webhook, in order, until a delivery fails or the time of a run is over.
// It returns the number of deliveries that were accepted.
func (h *Hooks) deliverTo(ctx context.Context, s *Sender, id int64) (done int, err error) {
	start := s.now()
	for range deliveriesRun {
		if s.now().Sub(start) >= deliveriesTime {
			return done, nil
		}
		o, err := h.claim(ctx, id)
		if err != nil || o == nil {
			return done, err
		}
		accepted, err := h.attempt(ctx, s, o)
		if err != nil || !accepted {
			return done, err
		}
		done++
	}
	return done, nil
}

// attempt makes one attempt and records its outcome. It reports whether the delivery was accepted. If the delivery
// was not accepted, attempt logs that, unless the process ends.
func (h *Hooks) attempt(ctx context.Context, s *Sender, o *outgoing) (accepted bool, err error) {
	status, failure := h.send(ctx, s, o)
	settling, cancel := jobs.Settling(ctx)
	defer cancel()
	if ctx.Err() != nil && status == 0 { // the process ends
		return false, h.giveBack(settling, o)
	}
	if err := h.settle(settling, o, status, failure); err != nil {
		return false, err
	}
	if accepted = status >= 200 && status <= 299; !accepted {
		s.logger.Warn("webhook not delivered", zap.Int64("webhook", o.webhook), zap.Int64("delivery", o.id),
			zap.String("topic", o.topic), zap.Int("status", status), zap.String("reason", failure))
	}
	return accepted, nil
}

// send makes one attempt. It returns the status of the answer, or 0 and the reason why no answer came.
func (h *Hooks) send(ctx context.Context, s *Sender, o *outgoing) (status int, failure string) {
	timestamp := strconv.FormatInt(s.now().Unix(), 10)
	header := make(http.Header, 6)
	header.Set("User-Agent", h.Agent)
	header.Set(h.Headers+HeaderDelivery, o.event+"."+strconv.FormatInt(o.webhook, 10))
	header.Set(h.Headers+HeaderTopic, o.topic)
	header.Set(h.Headers+HeaderTimestamp, timestamp)
	header.Set(h.Headers+HeaderSignature, Sign(o.secret, timestamp, o.body))
	return s.Post(ctx, o.url, header, o.body)
}

// Post posts a JSON body to a URL once. It returns the status of the answer, or 0 and the reason why no answer came,
// which does not contain the URL.
func (s *Sender) Post(
	ctx context.Context, address string, header http.Header, body string,
) (status int, failure string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return 0, "the address is not valid"
	}
	r.Header = header
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(r)
	if err != nil {
		return 0, reason(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	return answer.StatusCode, ""
}

// Sign returns the signature of a delivery: the HMAC-SHA-256 of the timestamp, a dot and the body.
func Sign(secret []byte, timestamp, body string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp + "." + body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// reason returns the reason why no answer came. It leaves out the URL, which may contain a secret.
func reason(err error) string {
	if urlError, ok := errors.AsType[*url.Error](err); ok {
		err = urlError.Err
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
