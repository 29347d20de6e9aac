// Package polls adds polls to the first posts of threads, and counts the votes of members. Votes are secret: nobody
// sees how a member has voted.
package polls

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// These are the limits of a poll.
const (
	MaxAnswers = 20
	MaxDays    = 365
	maxText    = 200 // characters of the question and of each answer
)

// Service manages the polls of a board.
type Service struct {
	*kernel.Server
	rights *rights.Service
	posts  *posts.Service
}

// New returns the polls of a board.
func New(board *kernel.Server, actors *rights.Service, threads *posts.Service) *Service {
	return &Service{Server: board, rights: actors, posts: threads}
}

// Request is a request to add a poll to a thread.
type Request struct {
	Question string   // may be empty
	Answers  []string // 2 to MaxAnswers
	Choices  int64    // how many answers a member may choose
	Days     int64    // after which the poll ends; 0: no end
	Hidden   bool     // until the poll ends, only members who have voted see the result
	Change   bool     // members may change their votes
}

// Lines splits a text into answers, one for each line that is not empty.
func Lines(written string) (answers []string) {
	for line := range strings.Lines(written) {
		if answer := text.Normal(line); answer != "" {
			answers = append(answers, answer)
		}
	}
	return answers
}

// Put adds a poll to the first post of a thread, in the transaction that starts the thread.
func (s *Service) Put(c store.Conn, a *rights.Actor, t *content.Thread, post int64, poll Request) error {
	poll.Question = text.Normal(poll.Question)
	if err := poll.check(a); err != nil {
		return err
	}
	var ends kernel.Moment
	if poll.Days > 0 {
		ends = s.Moment().Add(time.Duration(poll.Days) * 24 * time.Hour)
	}
	if _, err := c.Exec("INSERT INTO board_polls (post_id, question, choices, ends_at, hidden, changeable, voters)"+
		" VALUES (?, ?, ?, ?, ?, ?, 0)",
		post, poll.Question, poll.Choices, ends, kernel.Bool(poll.Hidden), kernel.Bool(poll.Change)); err != nil {
		return err
	}
	for i, answer := range poll.Answers {
		if _, err := c.Exec("INSERT INTO board_poll_answers (post_id, number, answer, votes) VALUES (?, ?, ?, 0)",
			post, i+1, answer); err != nil {
			return err
		}
	}
	_, err := c.Exec("UPDATE board_threads SET has_poll = 1 WHERE id = ?", t.ID)
	return err
}

// check returns an error if the requested poll is not valid or the actor may not add it.
func (r Request) check(a *rights.Actor) error {
	if !a.Rights.Settings.Polls {
		return kernel.Forbidden("pollAnswers", "no_polls", "this board has no polls")
	}
	if len(r.Answers) < 2 || len(r.Answers) > MaxAnswers {
		return kernel.Invalid("pollAnswers", "length", "a poll has 2 to "+kernel.Itoa(MaxAnswers)+" answers, one on each line")
	}
	seen := make(map[string]bool)
	for _, answer := range r.Answers {
		if err := checkText(a, "pollAnswers", answer); err != nil {
			return err
		}
		if seen[text.Fold(answer)] {
			return kernel.Invalid("pollAnswers", "twice", "two answers are the same")
		}
		seen[text.Fold(answer)] = true
	}
	switch {
	case r.Choices < 1 || r.Choices > int64(len(r.Answers)):
		return kernel.Invalid("pollChoices", "range", "the number of choices must be between 1 and the number of answers")
	case r.Days < 0 || r.Days > MaxDays:
		return kernel.Invalid("pollDays", "range", "a poll ends after 1 to "+kernel.Itoa(MaxDays)+" days, or never if"+
			" you enter 0")
	}
	return checkText(a, "pollQuestion", r.Question)
}

// checkText returns an error of Invalid if the question or an answer of a poll is too long or has a filtered word.
func checkText(a *rights.Actor, field, written string) error {
	words := a.Rights.Access.Words
	switch {
	case utf8.RuneCountInString(written) > maxText || !text.IsLine(written):
		return kernel.Invalid(field, "length", "the question and each answer have at most "+kernel.Itoa(maxText)+
			" characters, in one line")
	case words.Holds(written) || words.Replace(written) != written:
		return kernel.Invalid(field, "word_filter", "this poll has a word that is not allowed here")
	}
	return nil
}

// Poll is a poll in the view of an actor.
type Poll struct {
	Post     int64
	Question string
	Choices  int64         // how many answers a member may choose
	Ends     kernel.Moment // 0: no end
	Ended    bool
	Voters   int64
	Change   bool // votes may be changed
	Voted    bool // the actor has voted
	Shown    bool // the actor sees the result
	Answers  []Answer
	hidden   bool // until the poll ends, only members who have voted see the result
}

// Answer is an answer of a poll. Share is in percent of the voters. Votes and Share are 0 if the actor does not see the
// result.
type Answer struct {
	Number, Votes, Share int64
	Text                 string
	Own                  bool // the actor has chosen this answer
}

// OfPosts returns the query for the polls of n posts, with a row for each answer. Its arguments are the user and the
// ids of the posts.
func OfPosts(n int) string {
	return "SELECT p.post_id, p.question, p.choices, p.ends_at, p.hidden, p.changeable, p.voters, o.number, o.answer," +
		" o.votes, EXISTS (SELECT 1 FROM board_poll_votes v WHERE v.post_id = o.post_id AND v.user_id = ?" +
		" AND v.number = o.number) FROM board_polls p JOIN board_poll_answers o ON o.post_id = p.post_id" +
		" WHERE p.post_id IN (" + kernel.Marks(n) + ") ORDER BY p.post_id, o.number"
}

// Of returns the polls of the posts with the ids in posts, by post. The caller must have checked that the actor sees
// these posts. Posts without a poll are not in the map.
func (s *Service) Of(ctx context.Context, a *rights.Actor, posts ...int64) (polls map[int64]*Poll, err error) {
	if len(posts) == 0 {
		return nil, nil
	}
	args := []any{a.ID()}
	for _, id := range posts {
		args = append(args, id)
	}
	now := s.Moment()
	err = s.Read(ctx, func(c store.Conn) error {
		polls = make(map[int64]*Poll)
		return c.All(OfPosts(len(posts)), args, func(r store.Row) error {
			// Each row has one answer, and the poll that the answer belongs to.
			var row Poll
			var answer Answer
			err := r.Scan(&row.Post, &row.Question, &row.Choices, &row.Ends, &row.hidden, &row.Change, &row.Voters,
				&answer.Number, &answer.Text, &answer.Votes, &answer.Own)
			poll := polls[row.Post]
			if poll == nil {
				poll = &row
				poll.Ended = poll.Ends != 0 && poll.Ends <= now
				polls[poll.Post] = poll
			}
			poll.Answers = append(poll.Answers, answer)
			poll.Voted = poll.Voted || answer.Own
			return err
		})
	})
	for _, p := range polls {
		p.Shown = !p.hidden || p.Voted || p.Ended
		for i := range p.Answers {
			answer := &p.Answers[i]
			switch {
			case !p.Shown:
				answer.Votes = 0
			case p.Voters > 0:
				answer.Share = (200*answer.Votes + p.Voters) / (2 * p.Voters) // in percent, rounded
			}
		}
	}
	return polls, err
}
