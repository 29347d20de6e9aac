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
	FormToJoin = "join"
	// joinFormLasts is how long a form to join is good.
	joinFormLasts = 24 * time.Hour
)

// wrongAnswers bounds how often a network guesses at the question.
var wrongAnswers = attemptLimit("wrong answer", 20, time.Hour)

// JoinForm is what the form to join sends back beside what makes a member.
type JoinForm struct {
	Browser string // the cookie that the form was made for
	Stamp   string // JoinStamp of it
	Trap    string // of a field that people do not see
	Answer  string // to the question, where there is one
}

// JoinStamp returns the stamp of a form to join, for one browser. It returns the former stamp while that is
// good, so that a form which is shown once more need not wait again.
func (s *Service) JoinStamp(browser, former string) string {
	err := formguard.Check(s.Signer("formguard"), FormToJoin, browser, former, s.Now(), 0, joinFormLasts)
	if _, early := errors.AsType[*formguard.EarlyError](err); err == nil || early {
		return former
	}
	return formguard.Stamp(s.Signer("formguard"), FormToJoin, browser, s.Now())
}

// checkJoinForm refuses what a program sends. The answer is not its subject.
func (s *Service) checkJoinForm(set *kernel.Settings, f JoinForm) error {
	if f.Trap != "" {
		return kernel.Invalid("", "trap", "a field that is not shown was filled in, as programs do; leave it empty")
	}
	if set.FormSeconds == 0 {
		return nil
	}
	err := formguard.Check(s.Signer("formguard"), FormToJoin, f.Browser, f.Stamp, s.Now(),
		time.Duration(set.FormSeconds)*time.Second, joinFormLasts)
	if _, early := errors.AsType[*formguard.EarlyError](err); early {
		return kernel.Invalid("", "early", "the form was sent faster than people type; wait some seconds and send it again")
	}
	if err != nil {
		return kernel.Invalid("", "stale", "the form was open for too long; send it again in a few seconds")
	}
	return nil
}

// tryAnswer refuses a wrong answer to the board's question, and counts it. After
// too many a right one waits, too: it may be a guess.
func tryAnswer(
	c store.Conn, set *kernel.Settings, answer, address string, now time.Time,
) (wrong bool, wait time.Duration, err error) {
	if set.Question == "" {
		return false, 0, nil
	}
	count := wrongAnswers.Of(formguard.Network(address))
	if wait, err = count.Spent(c, now); err != nil || wait > 0 {
		return false, wait, err
	}
	if formguard.Answered(answer, set.Answers) {
		return false, 0, nil
	}
	wait, err = count.Try(c, now)
	return true, wait, err
}

// tryNetwork refuses one member more of a network than may register in a day.
func tryNetwork(c store.Conn, set *kernel.Settings, address string, now time.Time) error {
	if set.NetworkMembers == 0 {
		return nil
	}
	wait, err := attemptLimit("members of", set.NetworkMembers, 24*time.Hour).Of(formguard.Network(address)).Try(c, now)
	if err == nil && wait > 0 {
		err = &apierror.Error{
			Status: http.StatusTooManyRequests, Code: "rate_limited", RetryAfter: wait,
			Message: "too many have joined from your network today; try again later",
		}
	}
	return err
}
