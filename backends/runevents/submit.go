package runevents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The media types of answers.
const (
	mediaJSON = "application/json;charset=utf-8"
	mediaText = "text/plain;charset=utf-8"
)

// retryAfter is the value of the header Retry-After, in seconds.
const retryAfter = "2"

// submit answers POST /cmd/v1. It answers after the commit, so that no acknowledged command is lost.
func (s *Service) submit(w http.ResponseWriter, r *http.Request) {
	outcome := exchange(r.Context())
	outcome.Outcome = outcomeRefused
	if status, message := admissible(r); status != 0 {
		plain(w, status, message)
		return
	}
	body, zipped, release, err := s.receive(w, r)
	if err != nil {
		switch {
		case errors.Is(err, ErrBusy):
			outcome.Outcome = outcomeBusy
			busy(w)
		case errors.Is(err, errTooSlow):
			refuse(w, http.StatusRequestTimeout, "The body took too long to arrive, send it again")
		case errors.Is(err, errTooLarge):
			plain(w, http.StatusRequestEntityTooLarge, "Command size exceeds max-command-size")
		default:
			refuse(w, http.StatusBadRequest, "The body could not be read: "+err.Error())
		}
		return
	}
	command, err := parseCommand(r, body, zipped)
	if err != nil {
		release()
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	outcome.Command, outcome.Certname = command.Name, command.Certname
	outcome.Outcome = s.answer(w, r, command, release)
}

// parseCommand parses the command in a request. body is the decompressed body of the request, and zipped is its
// original body if that was compressed with gzip, and otherwise nil.
func parseCommand(r *http.Request, body, zipped []byte) (submission, error) {
	parameters := r.URL.Query()
	if len(parameters) == 0 {
		return fromBody(body)
	}
	c, err := fromParameters(parameters, body)
	c.Zipped = zipped // the payload is the whole body
	return c, err
}

// answer processes the command and answers with the result. It calls release when the command has been processed. The
// processing continues even if the client no longer waits for the result, or the request is canceled: the client may
// have closed only its side of the connection, and would mistake an empty answer for an acknowledgment.
func (s *Service) answer(w http.ResponseWriter, r *http.Request, c submission, release func()) Outcome {
	id, ctx := uuid.NewString(), context.WithoutCancel(r.Context())
	s.closing.RLock() // Close waits for the submissions that are counted before it sets the field ending
	if s.ending {
		s.closing.RUnlock()
		release()
		busy(w)
		return outcomeBusy
	}
	s.submissions.Add(1)
	s.closing.RUnlock()
	process := func() error {
		defer s.submissions.Done()
		defer release() // before the answer, so that the memory is free for the client's next command
		_, err := s.Process(ctx, c.Command)
		return err
	}
	var err error
	if !c.hasWait {
		err = process()
	} else {
		done := make(chan error, 1) // has a buffer, because nobody receives after the timeout
		go func() { done <- process() }()
		timer := time.NewTimer(c.wait)
		defer timer.Stop()
		select {
		case err = <-done:
		case <-timer.C:
			write(w, http.StatusServiceUnavailable, "{\n  \"uuid\" : %q,\n  \"processed\" : false,\n  \"timed_out\" : true\n}",
				id)
			return outcomeTimedOut
		}
	}
	_, rejected := errors.AsType[*payloadError](err)
	switch {
	case rejected && c.hasWait:
		write(w, http.StatusServiceUnavailable,
			"{\n  \"uuid\" : %q,\n  \"processed\" : true,\n  \"timed_out\" : false,\n  \"error\" : %s\n}", id,
			jsontext.AppendQuoted(nil, err.Error()))
	case err != nil && !rejected:
		return s.answerError(w, err)
	case c.hasWait:
		write(w, http.StatusOK, "{\n  \"uuid\" : %q,\n  \"processed\" : true,\n  \"timed_out\" : false\n}", id)
	default: // accepted, but possibly added to the list of rejected commands
		write(w, http.StatusOK, "{\n  \"uuid\" : %q\n}", id)
	}
	if rejected {
		return outcomeRejected
	}
	return outcomeStored
}

// answerError answers with the error for a command that was not stored.
func (s *Service) answerError(w http.ResponseWriter, err error) Outcome {
	switch {
	case errors.Is(err, ErrBusy), errors.Is(err, errClosed):
		busy(w)
		return outcomeBusy
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		w.Header().Set("Retry-After", retryAfter)
		refuse(w, http.StatusServiceUnavailable, "The database is not available right now, try again shortly")
		return outcomeUnavailable
	default:
		s.logger.Error("executing a command failed", zap.Error(err))
		w.Header().Set("Retry-After", retryAfter)
		refuse(w, http.StatusServiceUnavailable,
			"The command could not be stored, try again shortly; the reason is in the log of the server")
		return outcomeFailed
	}
}

// admissible checks the headers of a submission. If they are valid, status is 0; otherwise status and message are the
// answer.
func admissible(r *http.Request) (status int, message string) {
	if !query.AcceptsJSON(r.Header.Values("Accept")) {
		return http.StatusNotAcceptable, "must accept application/json"
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return http.StatusUnsupportedMediaType, "content type " + rest.Quote(r.Header.Get("Content-Type")) + " not supported"
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") && !isGzip(r) {
		return http.StatusUnsupportedMediaType, "content encoding " + rest.Quote(coding) + " not supported"
	}
	return 0, ""
}

// plain answers with a text.
func plain(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", mediaText)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, message) //nolint:gosec // plain text, which no browser takes for a page (G705)
}

// refuse answers with an error as JSON.
func refuse(w http.ResponseWriter, status int, message string) {
	write(w, status, `{"error":%s}`, jsontext.AppendQuoted(nil, message))
}

// busy answers a submission that must be sent again later.
func busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", retryAfter)
	refuse(w, http.StatusServiceUnavailable, "Too many commands are waiting, try again shortly")
}

// write answers with JSON, which is formatted as by fmt.Fprintf.
func write(w http.ResponseWriter, status int, format string, args ...any) {
	w.Header().Set("Content-Type", mediaJSON)
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, format, args...) //nolint:gosec // JSON, and every text in it is quoted
}
