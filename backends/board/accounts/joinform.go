package accounts

import (
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/formguard"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// FormToJoin is the name of the registration form, to which the stamps of JoinStamp are bound.
	FormToJoin = "join"
	// joinFormLasts is the time after which a registration form can no longer be sent.
	joinFormLasts = 24 * time.Hour
)

// wrongAnswers limits how often the clients of one network may answer the board's question wrongly.
var wrongAnswers = attemptLimit("wrong answer", 20, time.Hour)

// JoinForm holds the fields of the registration form by which programs are recognized.
type JoinForm struct {
	Browser string // the cookie of the browser for which the form was made
	Stamp   string // from JoinStamp
	Trap    string // the value of a field that people do not see
	Answer  string // to the question of the board, if it has one
}

// JoinStamp returns the stamp of a registration form for a browser: a signed token with the time at which the form
// was shown. If formerStamp is still valid, JoinStamp returns formerStamp, so that a member need not wait again when
// the form is shown again.
func (s *Service) JoinStamp(browser, formerStamp string) string {
	err := formguard.Check(s.Signer("formguard"), FormToJoin, browser, formerStamp, s.Now(), 0, joinFormLasts)
	if _, early := errors.AsType[*formguard.EarlyError](err); err == nil || early {
		return formerStamp
	}
	return formguard.Stamp(s.Signer("formguard"), FormToJoin, browser, s.Now())
}

// checkJoinForm returns an error for a registration form that was filled in by a program. It does not check the answer
// to the question.
func (s *Service) checkJoinForm(settings *kernel.Settings, f JoinForm) error {
	if f.Trap != "" {
		return kernel.Invalid("", "trap", "a field that is not shown was filled in, as programs do; leave it empty")
	}
	if settings.FormSeconds == 0 {
		return nil
	}
	err := formguard.Check(s.Signer("formguard"), FormToJoin, f.Browser, f.Stamp, s.Now(),
		time.Duration(settings.FormSeconds)*time.Second, joinFormLasts)
	if _, early := errors.AsType[*formguard.EarlyError](err); early {
		return kernel.Invalid("", "early", "the form was sent faster than people type; wait some seconds and send it again")
	}
	if err != nil {
		return kernel.Invalid("", "stale", "the form was open for too long; send it again in a few seconds")
	}
	return nil
}

// tryAnswer checks the answer to the board's question and counts a wrong answer for the network of the client's IP
// address. wrong reports whether the answer is wrong. After too many wrong answers, tryAnswer also refuses a right
// answer, which may be a guess. Then wait is the time until the next attempt; otherwise wait is 0.
func tryAnswer(
	c store.Conn, settings *kernel.Settings, answer, address string, now time.Time,
) (wrong bool, wait time.Duration, err error) {
	if settings.Question == "" {
		return false, 0, nil
	}
	count := wrongAnswers.Of(formguard.Network(address))
	if wait, err = count.Spent(c, now); err != nil || wait > 0 {
		return false, wait, err
	}
	if formguard.Answered(answer, settings.Answers) {
		return false, 0, nil
	}
	wait, err = count.Try(c, now)
	return true, wait, err
}

// tryNetwork counts a registration for the client's network. It returns an error with status 429 if too many members
// have joined from there within a day.
func tryNetwork(c store.Conn, settings *kernel.Settings, address string, now time.Time) error {
	if settings.NetworkMembers == 0 {
		return nil
	}
	limit := attemptLimit("members of", settings.NetworkMembers, 24*time.Hour)
	wait, err := limit.Of(formguard.Network(address)).Try(c, now)
	if err == nil && wait > 0 {
		err = &apierror.Error{
			Status: http.StatusTooManyRequests, Code: "rate_limited", RetryAfter: wait,
			Message: "too many members have joined from your network today; try again later",
		}
	}
	return err
}
