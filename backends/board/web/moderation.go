package web

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// moderationRoutes are the pages of moderators. Who may see what of them is the
// service's to say.
var moderationRoutes = []route{
	{method: get, path: "/moderation", who: members, serve: (*call).queue},
	{method: post, path: "/moderation", who: members, serve: (*call).settle},
	{method: get, path: "/moderation/reports", who: members, serve: (*call).reports},
	{method: post, path: "/moderation/reports", who: members, serve: (*call).closeReport},
	{method: get, path: "/moderation/log", who: members, serve: (*call).log},
}

const (
	queuePerPage = 20
	logPerPage   = 50
)

// option is one of a select.
type option struct {
	Value, Label string
	Selected     bool
}

// listing is a page of moderators' lists.
type listing struct {
	Forums []option
	Forum  int64 // 0: all
	After  int64
	Next   int64 // 0: the last page
}

// Link is the address of a page of the same list.
func (l listing) Link(path string, after int64) string { return listLink(path, l.Forum, after, 0) }

// listLink is the address of a page of a list; focus is the post to begin with.
func listLink(path string, forum, after, focus int64) string {
	q := make(url.Values)
	for name, n := range map[string]int64{"forum": forum, "after": after, "at": focus} {
		if n != 0 {
			q.Set(name, itoa(n))
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// listOf reads what part of a list is asked for.
func (c *call) listOf(forums func() ([]board.ForumCount, error)) (l listing, focus int64, err error) {
	if l.Forum, err = c.queryNumber("forum"); err != nil {
		return l, 0, err
	}
	if l.After, err = c.queryNumber("after"); err != nil {
		return l, 0, err
	}
	if focus, err = c.queryNumber("at"); err != nil {
		return l, 0, err
	}
	list, err := forums()
	if err != nil {
		return l, 0, err
	}
	l.Forums = []option{{"", "All forums", l.Forum == 0}}
	for _, f := range list {
		label := f.Title
		if f.Count == board.CountMost {
			label += " (" + itoa(board.CountMost) + " or more)"
		} else if f.Count > 0 {
			label += " (" + itoa(f.Count) + ")"
		}
		l.Forums = append(l.Forums, option{itoa(f.ID), label, f.ID == l.Forum})
	}
	return l, focus, nil
}

// queuePage are held posts.
type queuePage struct {
	listing
	Items []queueItem
}

type queueItem struct {
	board.QueueItem
	Focus bool
	Then  int64 // the post to go on with
}

// Why tells people why a post is held.
func (i queueItem) Why() string {
	if text, ok := heldBecause[i.Reason]; ok {
		return text
	}
	return i.Reason
}

var heldBecause = map[string]string{
	"author_moderated": "every post of this member is held",
	"forum_moderated":  "this forum holds all posts",
	"group_moderated":  "the member's group is held",
	"first_posts":      "one of the member's first posts",
	"links":            "many links from a new member",
	"word_filter":      "a word of the word filter",
	"edit":             "changed after it was visible",
	"seeded":           "came in with a fixture",
}

func (c *call) queue() error {
	list, focus, err := c.listOf(func() ([]board.ForumCount, error) { return c.service.QueueForums(c.ctx(), c.actor) })
	if err != nil {
		return err
	}
	items, next, err := c.service.QueuePage(c.ctx(), c.actor, list.Forum, list.After, queuePerPage)
	if err != nil {
		return err
	}
	if len(items) == 0 && list.After != 0 {
		return c.redirect(list.Link("/moderation", 0), "")
	}
	list.Next = next
	page := queuePage{listing: list}
	for i, item := range items {
		row := queueItem{QueueItem: item, Focus: item.Post.ID == focus}
		if i+1 < len(items) {
			row.Then = items[i+1].Post.ID
		} else if i > 0 {
			row.Then = items[0].Post.ID
		}
		page.Items = append(page.Items, row)
	}
	return c.page("moderation", "Moderation", page)
}

// settle approves or rejects one post, or those that are ticked.
func (c *call) settle() error {
	forum, err := c.number("forum")
	if err != nil {
		return err
	}
	after, err := c.number("after")
	if err != nil {
		return err
	}
	then, err := c.number("then")
	if err != nil {
		return err
	}
	field := "post"
	if c.text("which") == "all" {
		field = "shown"
	}
	ids, err := c.numbers(field)
	if err != nil {
		return err
	}
	back := listLink("/moderation", forum, after, then)
	if len(ids) == 0 {
		return c.redirect(back, "Nothing was ticked.")
	}
	decision := c.text("do")
	if decision != "approve" && decision != "reject" {
		return apierror.New(http.StatusBadRequest, "bad_request", "This is neither approve nor reject.")
	}
	done, skipped, err := c.service.SettleAll(c.ctx(), c.actor, ids, decision == "approve", c.text("reason"))
	if err != nil {
		return err
	}
	notice := plural(int64(done), "post", "posts") + map[string]string{"approve": " approved.", "reject": " rejected."}[decision]
	if skipped > 0 {
		notice += " " + plural(int64(skipped), "was", "were") + " settled by somebody else."
	}
	return c.redirect(back, notice)
}

// maxNumbers bounds how many boxes a form can have.
const maxNumbers = 3000

// numbers are the ids of the fields of one name.
func (c *call) numbers(name string) (list []int64, err error) {
	values := c.values(name)
	if len(values) > maxNumbers {
		return nil, apierror.New(http.StatusBadRequest, "bad_request", "This form has too many fields.")
	}
	for _, text := range values {
		n, err := number(name, text)
		if err != nil {
			return nil, err
		}
		if n > 0 && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list, nil
}

// reportsPage are posts that members reported.
type reportsPage struct {
	listing
	Items []reportItem
}

type reportItem struct {
	board.ReportedPost
	Focus bool
	Then  int64
}

func (c *call) reports() error {
	list, focus, err := c.listOf(func() ([]board.ForumCount, error) { return c.service.ReportForums(c.ctx(), c.actor) })
	if err != nil {
		return err
	}
	items, next, err := c.service.Reports(c.ctx(), c.actor, list.Forum, list.After, queuePerPage)
	if err != nil {
		return err
	}
	if len(items) == 0 && list.After != 0 {
		return c.redirect(list.Link("/moderation/reports", 0), "")
	}
	list.Next = next
	page := reportsPage{listing: list}
	for i, item := range items {
		row := reportItem{ReportedPost: item, Focus: item.PostID == focus}
		if i+1 < len(items) {
			row.Then = items[i+1].PostID
		} else if i > 0 {
			row.Then = items[0].PostID
		}
		page.Items = append(page.Items, row)
	}
	return c.page("reports", "Reports", page)
}

// closeReport ends the reports of a post, and deletes it when that is wanted.
func (c *call) closeReport() error {
	var n [4]int64
	for i, name := range []string{"post", "forum", "after", "then"} {
		var err error
		if n[i], err = c.number(name); err != nil {
			return err
		}
	}
	notice := "The report is closed."
	var err error
	if c.text("do") == "delete" {
		notice = "The post is deleted and the report closed."
		err = c.service.DeleteReported(c.ctx(), c.actor, n[0], c.text("note"))
	} else {
		err = c.service.CloseReports(c.ctx(), c.actor, n[0], c.text("note"))
	}
	if err != nil {
		return err
	}
	return c.redirect(listLink("/moderation/reports", n[1], n[2], n[3]), notice)
}

// logPage are entries of the moderation log.
type logPage struct {
	Entries []board.LogEntry
	Forums  []option
	Actions []option
	Actor   string
	Older   string // address; empty: the last page
}

func (c *call) log() error {
	q := board.LogQuery{Actor: c.query("actor"), Action: c.query("action"), Limit: logPerPage}
	var err error
	if q.Forum, err = c.queryNumber("forum"); err != nil {
		return err
	}
	if q.Before, err = c.queryNumber("before"); err != nil {
		return err
	}
	entries, next, err := c.service.Log(c.ctx(), c.actor, q)
	if err != nil {
		return err
	}
	page := logPage{Entries: entries, Actor: q.Actor, Actions: []option{{"", "All", q.Action == ""}}, Forums: []option{{"", "All", q.Forum == 0}}}
	for _, action := range board.LogActions {
		page.Actions = append(page.Actions, option{action, action, action == q.Action})
	}
	forums, err := c.service.Forums(c.ctx(), c.actor)
	if err != nil {
		return err
	}
	for _, f := range forums {
		if c.actor.MayAdminister() || c.actor.MayIn(f.ID, board.ContentApprove) {
			page.Forums = append(page.Forums, option{itoa(f.ID), indented(f.Title, f.Depth), f.ID == q.Forum})
		}
	}
	if next != 0 {
		older := url.Values{"before": {itoa(next)}}
		for name, value := range map[string]string{"actor": q.Actor, "action": q.Action, "forum": c.query("forum")} {
			if value != "" {
				older.Set(name, value)
			}
		}
		page.Older = "/moderation/log?" + older.Encode()
	}
	return c.page("moderation_log", "Log", page)
}

// indented shows how deep a forum lies, in lists that have no other way.
func indented(title string, depth int64) string {
	for range depth {
		title = "– " + title
	}
	return title
}
