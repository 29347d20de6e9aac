package web

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/polls"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
)

var pollRoutes = []page{
	{Method: post, Path: "/posts/{postId}/vote", Serve: (*call).vote},
	{Method: post, Path: "/posts/{postId}/poll", Serve: (*call).moderatePoll},
}

// pollForm is the part of the form for a new thread that adds a poll. If it has no answers, no poll is added.
type pollForm struct{ polls.Request }

// Text returns the answers, one on each line.
func (f pollForm) Text() string { return strings.Join(f.Answers, "\n") }

// pollForm reads the poll from the form for a new thread.
func (c *call) pollForm() pollForm {
	form := pollForm{polls.Request{
		Question: c.Form.Text("pollQuestion"), Answers: polls.Lines(c.Form.Text("pollAnswers")),
		Choices: 1, Days: c.Form.Number("pollDays"), Hidden: c.Form.Flag("pollHidden"), Change: c.Form.Flag("pollChange"),
	}}
	if c.Form.Text("pollChoices") != "" {
		form.Choices = c.Form.Number("pollChoices")
	}
	return form
}

// shownPoll is a poll on a page, with the actions that the user may take.
type shownPoll struct {
	*polls.Poll
	MayVote, MayModerate bool
}

// readPolls reads the polls of the posts on a page, for the page's template.
func (c *call) readPolls(reading *posts.Reading) (err error) {
	if !reading.HasPoll {
		return nil
	}
	ids := make([]int64, 0, len(reading.Posts))
	for _, p := range reading.Posts {
		ids = append(ids, p.ID)
	}
	pollByPost, err := c.Polls.Of(c.Context(), c.actor, ids...)
	c.frame.polls = make(map[int64]shownPoll, len(pollByPost))
	for _, p := range reading.Posts {
		if poll := pollByPost[p.ID]; poll != nil {
			c.frame.polls[p.ID] = shownPoll{
				Poll: poll,
				MayVote: reading.Can.Reply && !reading.Thread.IsLocked && reading.Thread.Visibility == "visible" &&
					p.Visibility == "visible" && !poll.Ended && (!poll.Voted || poll.Change),
				MayModerate: polls.MayModerate(c.actor, reading.Thread.ForumID),
			}
		}
	}
	return err
}

// Poll returns the poll of a post on this page, or nil.
func (f *frame) Poll(post int64) *shownPoll {
	if poll, ok := f.polls[post]; ok {
		return &poll
	}
	return nil
}

// vote sets the actor's vote in the poll of a post.
func (c *call) vote() error {
	id, answers := c.ID("postId"), c.Form.Numbers("answer")
	if err := c.Form.Err(); err != nil {
		return err
	}
	return c.Then(c.Polls.Vote(c.Context(), c.actor, id, answers), "/posts/"+itoa(id), c.T("Your vote counts."))
}

// moderatePoll closes or removes the poll of a post.
func (c *call) moderatePoll() error {
	id := c.ID("postId")
	if c.Form.Text("do") == "remove" {
		return c.Then(c.Polls.Remove(c.Context(), c.actor, id), "/posts/"+itoa(id), c.T("The poll is removed."))
	}
	return c.Then(c.Polls.Close(c.Context(), c.actor, id), "/posts/"+itoa(id), c.T("The poll has ended."))
}
