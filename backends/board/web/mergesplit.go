package web

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/moderation"
	"github.com/tollgate-gateway/tollgate/backends/board/web/administration"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// These are the actions of moderators on selected posts, besides the actions of moderation.Apply. The values are those
// of the form field named do.
const (
	doSplit = "split"
	doMove  = "posts" // move the posts to another thread
)

// choice is a post that can be selected.
type choice struct {
	content.PostInfo
	ThreadTitle string
}

// choosePage lists posts of a thread, or posts that a query has found, among which a moderator selects.
type choosePage struct {
	Thread  *content.ThreadInfo // nil if the posts are those that a query found
	Items   []choice
	Next    string // the address of the next page; empty on the last page
	Actions pages.Select

	// These fields are set only for posts that a query has found.
	Forums        pages.Select
	Words, Member string
	Forum         int64  // 0 for all
	From, To      string // dates
	Starts        bool   // only first posts of threads
	Asked         bool   // the form was sent
	Query         string // the parameters of the address
}

// actionsFor returns the actions on posts of one thread or, if found is set, on posts that a query has found. The first
// action is selected.
func (c *call) actionsFor(found bool) (actions pages.Select) {
	if !found {
		actions.Add(doSplit, c.T("Split into a new thread"), true)
		actions.Add(doMove, c.T("Move to another thread"), false)
	}
	actions.Add(moderation.Delete, c.T("Delete the posts"), found)
	actions.Add(moderation.Approve, c.T("Approve the posts"), false)
	if found {
		actions.Add(moderation.Lock, c.T("Lock their threads"), false)
		actions.Add(moderation.Unlock, c.T("Unlock their threads"), false)
		actions.Add(moderation.Move, c.T("Move their threads to a forum"), false)
	}
	return actions
}

const choicesPerPage = 50

// choose lists the posts of a thread, so that the moderator can select some of them.
func (c *call) choose() error {
	afterID := c.Query.Number("after")
	reading, err := c.Posts.ReadThread(c.Context(), c.actor, c.ID("threadId"), afterID, choicesPerPage)
	if err != nil {
		return err
	}
	if !reading.Can.Move {
		return kernel.Forbidden("threadId", "no_permission", "you may not move posts of this thread")
	}
	page := choosePage{Thread: &reading.Thread, Actions: c.actionsFor(false)}
	for _, p := range reading.Posts {
		if p.ID != reading.Thread.FirstPostID {
			page.Items = append(page.Items, choice{p.PostInfo, reading.Thread.Title})
		}
	}
	if reading.After != nil {
		page.Next = "/threads/" + itoa(reading.Thread.ID) + "/choose?after=" + itoa(*reading.After)
	}
	return c.Show("choose", c.T("Choose posts"), page)
}

// find lists the posts that match a query, so that the moderator can select some of them.
func (c *call) find() error {
	q := moderation.Query{
		Words: c.Query.Text("q"), Member: c.Query.Text("member"), Forum: c.Query.Number("forum"),
		Starts: c.Query.Flag("starts"), After: c.Query.Number("after"), Limit: choicesPerPage,
	}
	page := choosePage{
		Words: q.Words, Member: q.Member, Forum: q.Forum, From: c.Query.Text("from"), To: c.Query.Text("to"),
		Starts: q.Starts, Asked: c.Query.Has("member"), Actions: c.actionsFor(true),
	}
	err := c.Query.Err()
	if err != nil {
		return err
	}
	if q.From, err = c.day("from", page.From, 0); err != nil {
		return err
	}
	// The day is included: the range ends where the next day begins.
	if q.To, err = c.day("to", page.To, 1); err != nil {
		return err
	}
	if page.Forums, err = c.moderatedForums(q.Forum, c.T("All forums")); err != nil {
		return err
	}
	if !page.Asked {
		return c.Show("find", c.T("Find posts"), page)
	}
	items, next, err := c.Moderation.Find(c.Context(), c.actor, q)
	// ShowForm below handles an error of Find.
	for _, item := range items {
		page.Items = append(page.Items, choice{content.ViewPost(item.Post), item.Thread.Title})
	}
	values := url.Values{
		"q": {page.Words}, "member": {page.Member}, "forum": {itoa(page.Forum)}, "from": {page.From}, "to": {page.To},
	}
	if page.Starts {
		values.Set("starts", "1")
	}
	page.Query = values.Encode()
	if next != 0 {
		page.Next = "/moderation/find?" + page.Query + "&after=" + itoa(next)
	}
	return c.ShowForm(err, "find", c.T("Find posts"), page)
}

// day parses the date in text and returns the beginning of the day that is addDays days after it, in the user's time
// zone. It returns 0 if text is empty. name is the name of the parameter with the date, for the error.
func (c *call) day(name, text string, addDays int) (kernel.Moment, error) {
	if text == "" {
		return 0, nil
	}
	day, err := time.ParseInLocation(time.DateOnly, text, c.Zone)
	if err != nil {
		return 0, kernel.BadRequest(name, name+" must be a date like 2026-01-31")
	}
	return kernel.MomentOf(day.AddDate(0, 0, addDays)), nil
}

// moderatedForums returns choices, one for each forum that the user moderates. The choice of the forum with the id
// selectedID is selected. If label is not empty, the first choice has this label and an empty value.
func (c *call) moderatedForums(selectedID int64, label string) (forums pages.Select, err error) {
	ids, err := c.Moderation.Forums(c.Context(), c.actor)
	if err != nil {
		return forums, err
	}
	moderated := make(map[int64]bool)
	for _, id := range ids {
		moderated[id] = true
	}
	list, err := c.Posts.Forums(c.Context(), c.actor)
	if label != "" {
		forums.Add("", label, selectedID == 0)
	}
	for _, f := range list {
		if f.Type == "forum" && moderated[f.ID] {
			forums.Add(itoa(f.ID), administration.Indented(f.Title, f.Depth), f.ID == selectedID)
		}
	}
	return forums, err
}

// chosenPage asks a moderator to confirm an action on selected posts.
type chosenPage struct {
	Do       string // the action: doSplit, doMove or an action of moderation.Apply
	Question string
	Thread   int64  // all posts are in this thread; 0 if they come from a query
	Query    string // the parameters of that query
	Items    []choice
	Forums   pages.Select // the forums to which threads can be moved
	Title    string       // of the new thread
	Other    string       // the number or URL of the thread to which the posts are moved
}

// chosen asks for confirmation of an action on the selected posts. If the form confirms the action, chosen applies it.
func (c *call) chosen() error {
	page := chosenPage{
		Do: c.Form.Text("do"), Thread: c.Form.Number("thread"), Query: c.Form.Text("query"), Title: c.Form.Text("title"),
		Other: c.Form.Text("other"),
	}
	ids, forum := c.Form.Numbers("post"), c.Form.Number("forumId")
	if err := c.Form.Err(); err != nil {
		return err
	}
	if len(ids) == 0 {
		return c.Redirect(page.Back(), c.T("Nothing was ticked."))
	}
	if err := page.ask(c.Language(), int64(len(ids))); err != nil {
		return err
	}
	items, err := c.Moderation.Chosen(c.Context(), c.actor, ids)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return pages.NotFound()
	}
	for _, item := range items {
		page.Items = append(page.Items, choice{content.ViewPost(item.Post), item.Thread.Title})
	}
	confirmed := c.Form.Flag("confirmed")
	if !confirmed { // the form begins with the forum and title of the first post's thread
		forum, page.Title = items[0].Thread.Forum, items[0].Thread.Title
	}
	if page.Forums, err = c.moderatedForums(forum, ""); err != nil {
		return err
	}
	if !confirmed {
		return c.Show("chosen", page.Question, page)
	}
	return c.carryOut(page, ids, forum)
}

// Back returns the path of the list in which the posts were selected.
func (p chosenPage) Back() string {
	if p.Thread != 0 {
		return "/threads/" + itoa(p.Thread)
	}
	if values, err := url.ParseQuery(p.Query); err == nil && len(values) > 0 {
		return "/moderation/find?" + values.Encode()
	}
	return "/moderation/find"
}

// ask sets Question to the question whether to apply the action to n posts. It returns an error for an unknown action.
func (p *chosenPage) ask(language *locale.Language, n int64) error {
	switch p.Do {
	case doSplit:
		p.Question = language.Plural(n, "Split {n} post into a new thread", "Split {n} posts into a new thread")
	case doMove:
		p.Question = language.Plural(n, "Move {n} post to another thread", "Move {n} posts to another thread")
	case moderation.Delete:
		p.Question = language.Plural(n, "Delete {n} post?", "Delete {n} posts?")
	case moderation.Approve:
		p.Question = language.Plural(n, "Approve {n} post?", "Approve {n} posts?")
	case moderation.Lock:
		p.Question = language.Plural(n, "Lock the thread of {n} post?", "Lock the threads of {n} posts?")
	case moderation.Unlock:
		p.Question = language.Plural(n, "Unlock the thread of {n} post?", "Unlock the threads of {n} posts?")
	case moderation.Move:
		p.Question = language.Plural(n, "Move the thread of {n} post to a forum", "Move the threads of {n} posts to a forum")
	default:
		return apierror.New(http.StatusBadRequest, "bad_request", "There is no such action on posts.")
	}
	return nil
}

// carryOut applies a confirmed action to the posts with these ids. forum is the forum for new or moved threads.
func (c *call) carryOut(page chosenPage, ids []int64, forum int64) error {
	switch page.Do {
	case doSplit:
		thread, err := c.Moderation.Split(c.Context(), c.actor, page.Thread,
			moderation.Split{Posts: ids, Title: page.Title, Forum: forum})
		if err != nil {
			return c.ShowForm(err, "chosen", page.Question, page)
		}
		return c.Redirect("/threads/"+itoa(thread), c.T("The posts are now a separate thread."))
	case doMove:
		other := threadNumber(page.Other)
		if err := c.Moderation.MovePosts(c.Context(), c.actor, page.Thread, other, ids); err != nil {
			return c.ShowForm(err, "chosen", page.Question, page)
		}
		return c.Redirect("/posts/"+itoa(ids[0]), c.T("The posts are moved."))
	}
	outcome, err := c.Moderation.Apply(c.Context(), c.actor, moderation.Bulk{
		Posts: ids, Do: page.Do, Forum: forum, Seen: c.seen(),
	})
	if err != nil {
		return c.ShowForm(err, "chosen", page.Question, page)
	}
	return c.Redirect(page.Back(), c.outcomeNotice(outcome))
}

// outcomeNotice returns a notice with the number of changed posts and the first errors.
func (c *call) outcomeNotice(outcome moderation.Outcome) string {
	const maxErrors = 3
	sentences := []string{c.T("Done: {n}.", "n", outcome.Done)}
	for _, r := range outcome.Refused[:min(len(outcome.Refused), maxErrors)] {
		sentences = append(sentences, c.T("Not done in “{thread}”: {why}.", "thread", kernel.ForLog(r.Title),
			"why", strings.TrimSuffix(c.Language().Message(r.Why), ".")))
	}
	if more := len(outcome.Refused) - maxErrors; more > 0 {
		sentences = append(sentences, c.T("And {n} more.", "n", more))
	}
	return strings.Join(sentences, " ")
}

// threadAddress finds the number of a thread in the thread's URL.
var threadAddress = regexp.MustCompile(`/threads/(\d{1,18})`)

// threadNumber parses the number or the URL of a thread that a moderator has entered. It returns 0 for other texts.
func threadNumber(text string) int64 {
	text = strings.TrimSpace(text)
	if found := threadAddress.FindStringSubmatch(text); found != nil {
		text = found[1]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// mergedThread handles the error of reading a thread. If the thread was merged into another thread, mergedThread
// redirects to the new place of the first post of the merged thread. Otherwise it returns an error.
func (c *call) mergedThread(err error, thread int64) error {
	if !kernel.IsNotFound(err) {
		return err
	}
	target, first, err := c.Moderation.MergedInto(c.Context(), c.actor, thread)
	if err != nil {
		return err
	}
	place, err := c.Posts.PlaceOf(c.Context(), c.actor, first, postsPerPage)
	if kernel.IsNotFound(err) { // the post was deleted
		return c.Redirect("/threads/"+itoa(target), "")
	}
	return c.toPlace(place, err)
}
