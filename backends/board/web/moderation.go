package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/web/administration"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

// moderationRoutes lists the pages of moderators. The services decide what each actor may see on them.
var moderationRoutes = append(logList.Pages(), []page{
	{Method: get, Path: "/moderation", Serve: (*call).queue},
	{Method: post, Path: "/moderation", Serve: (*call).settle},
	{Method: get, Path: "/moderation/find", Serve: (*call).find},
	{Method: post, Path: "/moderation/chosen", Serve: (*call).chosen},
	{Method: get, Path: "/threads/{threadId}/choose", Serve: (*call).choose},
	{Method: get, Path: "/moderation/reports", Serve: (*call).reports},
	{Method: post, Path: "/moderation/reports", Serve: (*call).closeReport},
}...)

var moderationTabs = resource.Tabs{
	Label: "Moderation",
	Links: []resource.Target{
		{Label: "Held posts", Path: "/moderation"},
		{Label: "Reports", Path: "/moderation/reports"},
		{Label: "Find posts", Path: "/moderation/find"},
		{Label: "Log", Path: "/moderation/log"},
	},
}

// Moderating returns the tabs of the moderation. path is the path of the current page.
func (f *frame) Moderating(path string) resource.Tabs {
	tabs := moderationTabs.At(path)
	tabs.Label, tabs.Links = f.call.T(tabs.Label), slices.Clone(tabs.Links)
	for i := range tabs.Links {
		tabs.Links[i].Label = f.call.T(tabs.Links[i].Label)
	}
	return tabs
}

const queuePerPage = 20

// listing holds the parameters of a page of a list for moderators.
type listing struct {
	Forums pages.Select // the forums to choose from
	Forum  int64        // 0 for all
	After  int64        // the entry after which this page begins
	Next   int64        // the entry after which the next page begins; 0 on the last page
}

// Link returns the path of another page of the list, which begins after the entry with the id afterID.
func (l listing) Link(path string, afterID int64) string { return listLink(path, l.Forum, afterID, 0) }

// listLink returns the path of a page of a list. focus is the post to begin with, or 0.
func listLink(path string, forum, afterID, focus int64) string {
	q := make(url.Values)
	for name, n := range map[string]int64{"forum": forum, "after": afterID, "at": focus} {
		if n != 0 {
			q.Set(name, itoa(n))
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// readListing reads the parameters of the requested page of a list. forums returns the forums among which the moderator
// chooses, with the numbers of their entries. focus is the post to show first, or 0.
func (c *call) readListing(forums func() ([]admin.ForumCount, error)) (l listing, focus int64, err error) {
	l.Forum, l.After, focus = c.Query.Number("forum"), c.Query.Number("after"), c.Query.Number("at")
	list, err := forums()
	if err != nil {
		return l, 0, err
	}
	l.Forums.Add("", c.T("All forums"), l.Forum == 0)
	for _, f := range list {
		label := f.Title
		if f.Count == admin.MaxCount {
			label += " (" + c.T("{n} or more", "n", admin.MaxCount) + ")"
		} else if f.Count > 0 {
			label += " (" + itoa(f.Count) + ")"
		}
		l.Forums.Add(itoa(f.ID), label, f.ID == l.Forum)
	}
	return l, focus, nil
}

// queuePage is a page of held posts.
type queuePage struct {
	listing
	Items []queueItem
}

// queueItem is a held post on the page.
type queueItem struct {
	admin.QueueItem
	Focus bool   // the post to show first
	Then  int64  // the post to show first after a decision about this one; 0 if there is no other
	Why   string // the reason for which the post is held, as a text for people
}

// heldBecause maps the stored reasons for which posts are held to texts.
var heldBecause = map[string]string{
	"author_moderated": "every post of this member is held",
	"forum_moderated":  "this forum holds all posts",
	"group_moderated":  "posts of the member's group need approval",
	"first_posts":      "one of the member's first posts",
	"links":            "many links from a new member",
	"duplicate":        "a new member repeats the text of another post",
	"word_filter":      "contains a word of the word filter",
	"edit":             "edited after it was visible",
	"seeded":           "loaded from a fixture",
}

// queue lists the held posts. A page that has become empty redirects to the first page.
func (c *call) queue() error {
	list, focus, err := c.readListing(func() ([]admin.ForumCount, error) {
		return c.Admin.QueueForums(c.Context(), c.actor)
	})
	if err != nil {
		return err
	}
	items, next, err := c.Admin.QueuePage(c.Context(), c.actor, list.Forum, list.After, queuePerPage)
	if err != nil {
		return err
	}
	if len(items) == 0 && list.After != 0 {
		return c.Redirect(list.Link("/moderation", 0), "")
	}
	list.Next = next
	page := queuePage{listing: list}
	for i, item := range items {
		row := queueItem{
			QueueItem: item, Focus: item.Post.ID == focus, Why: c.T(cmp.Or(heldBecause[item.Reason], item.Reason)),
		}
		if len(items) > 1 {
			row.Then = items[(i+1)%len(items)].Post.ID // after the last post comes the first
		}
		page.Items = append(page.Items, row)
	}
	return c.Show("moderation", c.T("Moderation"), page)
}

// settle approves or rejects the ticked posts, or all posts on the page.
func (c *call) settle() error {
	field := "post"
	if c.Form.Text("which") == "all" {
		field = "shown"
	}
	link := listLink("/moderation", c.Form.Number("forum"), c.Form.Number("after"), c.Form.Number("then"))
	ids := c.Form.Numbers(field)
	if err := c.Form.Err(); err != nil {
		return err
	}
	if len(ids) == 0 {
		return c.Redirect(link, c.T("Nothing was ticked."))
	}
	decision := c.Form.Text("do")
	if decision != "approve" && decision != "reject" {
		return apierror.New(http.StatusBadRequest, "bad_request", "The decision must be approve or reject.")
	}
	result, err := c.Admin.SettleAll(c.Context(), c.actor, ids, decision == "approve", c.Form.Text("reason"), c.seen())
	if err != nil {
		return err
	}
	language := c.Language()
	notice := language.Plural(int64(result.Done), "{n} post approved.", "{n} posts approved.")
	if decision == "reject" {
		notice = language.Plural(int64(result.Done), "{n} post rejected.", "{n} posts rejected.")
	}
	if result.Skipped > 0 {
		notice += " " + language.Plural(int64(result.Skipped), "{n} was already decided by another moderator.",
			"{n} were already decided by another moderator.")
	}
	if result.Changed > 0 {
		notice += " " + language.Plural(int64(result.Changed), "{n} has changed since you saw it; look again.",
			"{n} have changed since you saw them; look again.")
	}
	return c.Redirect(link, notice)
}

// seen returns the versions of the posts that the form showed, by post id.
func (c *call) seen() map[int64]string {
	versions := make(map[int64]string)
	for _, text := range c.Form.Values("seen") {
		id, version, _ := strings.Cut(text, " ")
		if n, err := strconv.ParseInt(id, 10, 64); err == nil {
			versions[n] = version
		}
	}
	return versions
}

// reportsPage is a page of reported posts. The first page begins with reported private messages.
type reportsPage struct {
	listing
	Items        []reportItem
	Messages     []conversations.MessageReport
	MoreMessages bool // there are more reported messages than Messages
}

// reportItem is a reported post on the page. Focus and Then are as in queueItem.
type reportItem struct {
	admin.ReportedPost
	Focus bool
	Then  int64
}

// reports lists the reported posts and, on the first page, the reported private messages.
func (c *call) reports() error {
	list, focus, err := c.readListing(func() ([]admin.ForumCount, error) {
		return c.Admin.ReportForums(c.Context(), c.actor)
	})
	if err != nil {
		return err
	}
	items, next, err := c.Admin.Reports(c.Context(), c.actor, list.Forum, list.After, queuePerPage)
	if err != nil {
		return err
	}
	if len(items) == 0 && list.After != 0 { // no reports are left on this page
		return c.Redirect(list.Link("/moderation/reports", 0), "")
	}
	list.Next = next
	page := reportsPage{listing: list}
	if list.Forum == 0 && list.After == 0 {
		page.Messages, page.MoreMessages, err = c.Conversations.Reports(c.Context(), c.actor, queuePerPage)
		if err != nil {
			return err
		}
	}
	for i, item := range items {
		row := reportItem{ReportedPost: item, Focus: item.PostID == focus}
		if len(items) > 1 {
			row.Then = items[(i+1)%len(items)].PostID // after the last post comes the first
		}
		page.Items = append(page.Items, row)
	}
	return c.Show("reports", c.T("Reports"), page)
}

// closeReport closes the reports of a post or of a private message. It also deletes the post if the form says so.
func (c *call) closeReport() error {
	post, link := c.Form.Number("post"), listLink("/moderation/reports", c.Form.Number("forum"), c.Form.Number("after"),
		c.Form.Number("then"))
	if err := c.Form.Err(); err != nil {
		return err
	}
	switch report := c.Form.Number("message_report"); {
	case c.Form.Err() != nil:
		return c.Form.Err()
	case report != 0:
		return c.Then(c.Conversations.CloseReport(c.Context(), c.actor, report, c.Form.Text("note")), link,
			c.T("The report is closed."))
	case c.Form.Text("do") == "delete":
		return c.Then(c.Admin.DeleteReported(c.Context(), c.actor, post, c.Form.Text("note")), link,
			c.T("The post is deleted and the report closed."))
	}
	return c.Then(c.Admin.CloseReports(c.Context(), c.actor, post, c.Form.Text("note")), link,
		c.T("The report is closed."))
}

// logList lists the entries of the moderation log.
var logList = func() resource.List[*call, resource.Change] {
	list := resource.History("/moderation/log", resource.Head{Title: "Log", Tabs: moderationTabs}, admin.LogActions,
		(*call).log)
	list.Filters = append(list.Filters, resource.Input[*call]{Name: "forum", Label: "Forum", Options: (*call).logForums})
	list.CSV = "log.csv"
	return list
}()

// log returns a page of the entries of the moderation log that match q, and the cursor of the next page.
func (c *call) log(q resource.Query) ([]resource.Change, string, error) {
	entries, next, err := resource.Before(q, func(beforeID int64) ([]admin.LogEntry, int64, error) {
		return c.Admin.Log(c.Context(), c.actor,
			admin.LogQuery{
				Actor: q.Text("actor"), Action: q.Text("action"), Forum: q.Number("forum"), Before: beforeID,
				Limit: q.Limit,
			})
	})
	changes := make([]resource.Change, len(entries))
	for i, e := range entries {
		changes[i] = resource.Change{At: e.At, Who: e.ActorName, What: e.Action, Detail: e.Detail, Where: resource.Cells(
			resource.Link("/forums/"+itoa(e.Forum), e.ForumTitle).If(e.ForumTitle != ""),
			resource.Text("forum "+itoa(e.Forum)).If(e.ForumTitle == "" && e.Forum != 0), // the forum was deleted
			resource.Link("/posts/"+itoa(e.Post), "post").If(e.Post != 0),
			resource.Link("/threads/"+itoa(e.Thread), "thread").If(e.Post == 0 && e.Thread != 0),
		)}
	}
	return changes, next, err
}

// logForums returns the forums whose log entries the actor sees, as choices.
func (c *call) logForums() ([]resource.Choice, error) {
	list := resource.All()
	forums, err := c.Posts.Forums(c.Context(), c.actor)
	for _, f := range forums {
		if c.actor.MayAdminister() || c.actor.MayIn(f.ID, rights.ContentApprove) {
			list = append(list, resource.Choice{Value: itoa(f.ID), Label: administration.Indented(f.Title, f.Depth)})
		}
	}
	return list, err
}
