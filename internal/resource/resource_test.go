package resource_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/instant"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/resource"
	"github.com/tollgate-gateway/tollgate/internal/signed"
)

// A club is the smallest service: members that are listed, changed and banned.

type member struct {
	ID             int64
	Name, Bio      string
	State          string
	Posts, Version int64
	Guest          bool
	Days           []string
	Lines          []string
	Secret         string
}

func (m *member) tag() string { return strconv.FormatInt(m.Version, 10) }

type club struct {
	members []member
	broken  bool // reading fails after the first page
	wrote   int
}

func (s *club) at(id string) *member {
	for i := range s.members {
		if strconv.FormatInt(s.members[i].ID, 10) == id {
			return &s.members[i]
		}
	}
	return nil
}

type visit struct {
	*pages.Call
	club *club
	user string
}

func admins(c *visit) error {
	if c.user != "ada" {
		return apierror.New(http.StatusForbidden, "forbidden", "this is for administrators")
	}
	return nil
}

func states(*visit) ([]resource.Choice, error) {
	return resource.All(resource.Words("active", "banned")...), nil
}

var tabs = resource.Tabs{Label: "Club", Links: []resource.Target{{Label: "Start", Path: "/"}, {Label: "Members", Path: "/members"}}}

var memberActions = []resource.Action[*visit]{
	{
		Name: "ban", Label: "Ban…", Done: "banned", Danger: true, Confirm: "They are signed out.", Ask: []resource.Input[*visit]{{Name: "reason", Label: "Reason", Required: true}},
		Do: func(c *visit, id string) error {
			if id == "" {
				id = c.R.PathValue("memberId")
			}
			switch m := c.club.at(id); {
			case m == nil:
				return pages.NotFound()
			case c.Form.Text("reason") == "broken":
				return errors.New("the disk is full")
			case c.Form.Text("reason") == "":
				return &apierror.Error{Status: 422, Message: "no reason", Details: []apierror.Detail{{Field: "reason", Message: "give a reason"}}}
			case m.State == "banned":
				return apierror.New(http.StatusConflict, "conflict", "this member is banned already")
			default:
				m.State = "banned"
				return nil
			}
		},
	},
	{Name: "greet", Label: "Greet", Done: "greeted", Each: true, Do: func(c *visit, _ string) error { c.club.wrote++; return nil }},
	{Name: "password", Label: "New password", Each: true, Make: func(_ *visit, id string) (string, error) { return "secret-" + id, nil }},
}

var members = resource.List[*visit, member]{
	Path: "/members", Head: resource.Head{Title: "Members", Tabs: tabs, New: resource.Target{Label: "New member", Path: "/members/new"}},
	Admit: admins, Nouns: [2]string{"member", "members"}, Empty: "Nobody is here. Make the first member.", CSV: "members.csv",
	Columns: []resource.Column[member]{
		{Label: "Name", Sort: "name", Show: func(m member) resource.Cell { return resource.Link("/members/"+strconv.FormatInt(m.ID, 10), m.Name) }},
		{Label: "State", Show: func(m member) resource.Cell {
			return resource.Cells(resource.Tag(m.State, "gone").If(m.State != "active"), resource.Note("guest").If(m.Guest))
		}},
		{Label: "Posts", Sort: "posts", Down: true, Count: func(m member) int64 { return m.Posts }},
		{Label: "Seen", Time: func(m member) instant.Moment { return instant.Moment(m.ID * 1e6) }},
		{Label: "Bio", Text: func(m member) string { return m.Bio }},
	},
	Filters: []resource.Input[*visit]{{Name: "q", Label: "Name begins with"}, {Name: "state", Label: "State", Options: states}, {Name: "guest", Label: "Guests alone", Type: "flag"}},
	Fixed:   func(q resource.Query) bool { return q.Text("q") != "" },
	Rows: func(c *visit, q resource.Query) ([]member, string, error) {
		list := slices.Clone(c.club.members)
		slices.SortFunc(list, func(a, b member) int {
			if q.Sort == "posts" && a.Posts != b.Posts {
				return int(b.Posts - a.Posts)
			}
			return strings.Compare(a.Name, b.Name)
		})
		if q.Text("state") == "odd" {
			return nil, "", apierror.New(http.StatusUnprocessableEntity, "", "there is no state odd")
		}
		if q.After != "" && c.club.broken {
			return nil, "", errors.New("the disk is gone")
		}
		list = slices.DeleteFunc(list, func(m member) bool {
			return !strings.HasPrefix(m.Name, q.Text("q")) || q.Text("state") != "" && m.State != q.Text("state") || q.Flag("guest") && !m.Guest
		})
		if q.After != "" {
			i := slices.IndexFunc(list, func(m member) bool { return m.Name == q.After })
			list = list[i+1:]
		}
		if len(list) > q.Limit {
			return list[:q.Limit], list[q.Limit-1].Name, nil
		}
		return list, "", nil
	},
	ID:      func(m member) string { return strconv.FormatInt(m.ID, 10) },
	Name:    func(m member) string { return m.Name },
	Actions: memberActions,
	Offers:  func(_ *visit, m member, action string) bool { return action != "greet" || m.State == "active" },
}

var one = resource.Form[*visit, member]{
	Path: "/members/{memberId}", New: "/members/new", Admit: admins, Head: resource.Head{Tabs: tabs},
	About: func(_ *visit, m *member, h *resource.Head) error {
		h.Title = "New member"
		if m.ID != 0 {
			h.Title, h.Marks = "Member "+m.Name, []resource.Cell{resource.Tag(m.State, "")}
		}
		return nil
	},
	Load: func(c *visit) (*member, error) {
		if c.R.PathValue("memberId") == "" {
			return &member{State: "active", Posts: 3}, nil
		}
		if m := c.club.at(c.R.PathValue("memberId")); m != nil {
			copied := *m
			return &copied, nil
		}
		return nil, pages.NotFound()
	},
	Fields: []resource.Field[*visit, member]{
		{Name: "name", Label: "Name", Required: true, Max: 40, Text: func(m *member) *string { return &m.Name }, Hide: func(_ *visit, m *member) bool { return m.ID != 0 }},
		{Name: "bio", Label: "Bio", Lines: 3, Help: "Others see it.", Section: "About", Text: func(m *member) *string { return &m.Bio }},
		{Name: "state", Label: "State", Text: func(m *member) *string { return &m.State }, Options: func(c *visit, _ *member) ([]resource.Choice, error) { list, err := states(c); return list[1:], err }},
		{Name: "posts", Label: "Posts", Number: func(m *member) *int64 { return &m.Posts }},
		{Name: "guest", Label: "May only read", Flag: func(m *member) *bool { return &m.Guest }},
		{Name: "days", Label: "Days", List: func(m *member) *[]string { return &m.Days }, Options: func(*visit, *member) ([]resource.Choice, error) {
			return []resource.Choice{{Value: "mo", Label: "Monday", Group: "Week"}, {Value: "su", Label: "Sunday", Group: "Weekend"}}, nil
		}},
		{Name: "lines", Label: "Lines", List: func(m *member) *[]string { return &m.Lines }},
		{Name: "secret", Label: "Password", Type: "password", Text: func(m *member) *string { return &m.Secret }},
	},
	Version: (*member).tag,
	Save: func(c *visit, m *member) (resource.Done, error) {
		if m.Name == "" || m.Posts > 99 {
			return resource.Done{}, &apierror.Error{Status: 422, Message: "no", Details: []apierror.Detail{{Field: "posts", Message: "at most 99 posts"}}}
		}
		if m.ID == 0 {
			m.ID, m.Version = int64(len(c.club.members)+1), 1
			c.club.members = append(c.club.members, *m)
			return resource.Done{To: "/members", Notice: "The token of " + m.Name, Secret: "token-1"}, nil
		}
		now := c.club.at(strconv.FormatInt(m.ID, 10))
		if match := c.Match(); match != nil && !match(now.tag()) {
			return resource.Done{}, apierror.New(http.StatusPreconditionFailed, "", "changed")
		}
		m.Version++
		*now = *m
		return resource.Done{}, nil
	},
	Actions: memberActions, Name: func(m *member) string { return m.Name },
	Offers: func(_ *visit, m *member, action string) bool { return m.ID != 0 && action != "password" },
	Facts: func(_ *visit, m *member) []resource.Fact {
		return []resource.Fact{{Label: "Id", Cell: resource.Count(m.ID)}}
	},
	Below: func(_ *visit, m *member) ([]resource.Part, error) {
		return []resource.Part{lines.Of(m.Lines)}, nil
	},
}

var lines = resource.Table[string]{Title: "Its lines", Empty: "It has no lines.", Columns: []resource.Column[string]{{Label: "Line", Show: resource.Code}}}

var history = resource.History("/history", resource.Head{Title: "History"}, []string{"ban", "greet"}, func(_ *visit, q resource.Query) ([]resource.Change, string, error) {
	return []resource.Change{{At: 1e6, Who: "ada " + q.Text("actor"), What: "ban", Where: resource.Link("/members/1", "bob"), Detail: "spam"}, {What: "greet"}}, "", nil
})

var look = pages.NewLook("club", fstest.MapFS{"static/club.css": {Data: []byte("p {}")}}, nil, resource.Templates)

// site serves a club of n members and returns it with a browser on it.
func site(t *testing.T, n int) (*club, *pagestest.Browser) {
	t.Helper()
	s := new(club)
	for i := 1; i <= n; i++ {
		s.members = append(s.members, member{ID: int64(i), Name: fmt.Sprintf("m%03d", i), State: "active", Posts: int64(i % 7), Version: 1})
	}
	server := httptest.NewServer(pages.New(pages.Options[*visit]{
		Look: look, Table: slices.Concat(members.Pages(), one.Pages(), history.Pages()), Called: "the club", Mount: "/club", Logger: zap.NewNop(),
		Signer: func() signed.Signer { return signed.Signer{Key: bytes.Repeat([]byte{7}, 32), Label: "form"} },
		Begin: func(c *pages.Call) (*visit, error) {
			user := c.R.Header.Get("X-User")
			c.SignedIn(user)
			return &visit{c, s, user}, nil
		},
		Admit: func(*visit) error { return nil },
	}))
	t.Cleanup(server.Close)
	b := pagestest.New(t, server.URL, true)
	b.Always.Set("X-User", "ada")
	return s, b
}

// TestList checks a list: its filters and its order stay in the address, and it is paged by cursors.
func TestList(t *testing.T) {
	t.Parallel()
	s, b := site(t, 120)
	s.members[4].State, s.members[5].Guest, s.members[5].Bio = "banned", true, "<i>hello"
	p := b.Get("/club/members").Want(200, "<h1>Members", `href="/club/members/new">New member</a>`, ">m050<", "&lt;i&gt;hello", `aria-sort="ascending"`, `href="/club/members?after=m050">More members`,
		`href="/club/members" aria-current="page"`, `<span class="tag gone">banned</span>`, `aria-label="Greet m001"`).Lacks("m051", "First page", "Clear", `aria-label="Greet m005"`)
	if strings.Count(p.Text, `name="row"`) != 50 {
		t.Errorf("%d rows can be ticked", strings.Count(p.Text, `name="row"`))
	}
	p.Get("/club/members?after=m050").Want(200, ">m051<", ">m100<", `href="/club/members">First page`, "after=m100")
	p.Get("/club/members?after=m100").Want(200, ">m120<", "First page").Lacks("More members")
	if p := b.Get("/club/members?after=m120&state=active"); p.Where() != "/club/members?state=active" {
		t.Errorf("after the last page, the address is %s", p.Where())
	}

	// The links to the next page, to another order and to the file keep a filter.
	b.Get("/club/members?state=active&guest=&sort=posts&junk=1").Want(200, `value="active" selected`, `value="posts" selected`, `aria-sort="descending"`, ">Clear<",
		"sort=name&amp;state=active", "after=", "format=csv&amp;sort=posts&amp;state=active").Lacks(`gone">banned`, "junk=1&amp;s")
	b.Get("/club/members?guest=1").Want(200, ">m006<", `name="guest" value="1" checked`).Lacks(">m007<")
	b.Get("/club/members?q=m00&sort=posts").Want(200, ">m001<", `value="m00"`).Lacks("aria-sort", "Sort by", ">m010<") // the order is fixed
	b.Get("/club/members?q=zz").Want(200, "No member is found by these filters.")
	b.Get("/club/members?state=odd").Want(422, "There is no state odd")
	s.members = nil
	b.Get("/club/members").Want(200, "Nobody is here. Make the first member.").Lacks("<table", "Download")

	b.Always.Set("X-User", "eve")
	b.Get("/club/members").Want(403, "for administrators")
	b.Get("/club/members?format=csv").Want(403)
}

// TestActions checks actions on rows: they ask for confirmation first and report how many rows were done, and which
// were refused and why.
func TestActions(t *testing.T) {
	t.Parallel()
	s, b := site(t, 60)
	p := b.Get("/club/members?state=active").Want(200)
	target := "/club/members?guest=&state=active&junk=1"
	ask := p.Send(target, "do", "ban", "row", "1 m001", "row", "2 m<002").Want(200, "They are signed out.", "<li>m001</li>", "<li>m&lt;002</li>", `value="1 m001"`, `name="reason"`, `aria-current="page"`)
	if s.members[0].State != "active" {
		t.Fatal("the action was done before it was confirmed")
	}
	s.members[1].State = "banned"
	sure := []string{"sure", "1", "do", "ban", "reason", "spam"}
	p = ask.Send(target, append(sure, "row", "1 m001", "row", "2 m002", "row", "3 m003", "row", "99 gone")...).
		Want(409, "2 of 4 members were banned.", "M002: this member is banned already.", "Gone: There is nothing here that you may see.", `value="active" selected`)
	if s.members[0].State != "banned" || s.members[2].State != "banned" {
		t.Error("the others were not banned")
	}
	p = p.Send(target, append(sure, "row", "4 m004", "row", "5 m005")...).Want(200, "2 members were banned.").Lacks(">m004<")
	if p.Where() != "/club/members?state=active" {
		t.Errorf("the address is %s", p.Where())
	}
	p.Send(target, append(sure, "row", "6 m006")...).Want(200, "m006 was banned.")
	p.Send(target, "sure", "1", "do", "ban", "reason", "", "row", "7 m007").Want(422, "Give a reason", `id="reason-problem"`, `name="sure"`)
	p.Send(target, "sure", "1", "do", "ban", "reason", "broken", "row", "7 m007").Want(500)

	p.Send(target, "one", "greet 8 m008").Want(200, "m008 was greeted.")
	p.Send(target, "one", "password 8 m008").Want(200, `<code class="secret">secret-8</code>`, `href="/club/members?state=active"`)
	p.Send(target, "do", "greet").Want(200, "Nothing was ticked.")
	many := append([]string{"do", "greet"}, slices.Repeat([]string{"row", "1"}, 501)...)
	for _, bad := range [][]string{{"do", "none", "row", "1"}, {"one", "none"}, {"do", "password", "row", "1", "row", "2"}, many} {
		p.Send(target, bad...).Want(400, "no such action")
	}
	if s.wrote != 1 {
		t.Errorf("%d were greeted", s.wrote)
	}

	// Without the token of the page, or for a user who may not open the page, nothing is done.
	b.Post("/club/members", url.Values{"one": {"greet 8 m008"}}).Want(403)
	b.Always.Set("X-User", "eve")
	p.Send("/club/members", "one", "greet 8 m008").Want(403)
	if s.wrote != 1 {
		t.Error("a stranger has greeted")
	}
}

// TestDownload checks that a file has all rows that match the filters, that no cell of it is a formula, and that no
// incomplete file is served.
func TestDownload(t *testing.T) {
	t.Parallel()
	s, b := site(t, 700)
	s.members[0].Bio, s.members[1].Bio, s.members[2].State = "=cmd|x", "a, \"b\"", "banned"
	p := b.Get("/club/members?state=active&format=csv").Want(200, "Name,State,Posts,Seen,Bio\r\n", "m001,,1,1970-01-01T00:00:01Z,'=cmd|x\r\n", `"a, ""b"""`, "m700").Lacks("m003")
	if n := strings.Count(p.Text, "\r\n"); n != 700 || p.Header.Get("Content-Disposition") != "attachment; filename=members.csv" || !strings.HasPrefix(p.Header.Get("Content-Type"), "text/csv") {
		t.Errorf("%d lines, %v", n, p.Header)
	}
	if first, second := strings.Index(b.Get("/club/members?sort=posts&format=csv").Text, "m006"), strings.Index(p.Text, "m006"); first > second {
		t.Error("the file is not in the order of the list")
	}
	s.broken = true
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL+"/club/members?format=csv", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = b.Always.Clone()
	answer, err := b.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Error("a part of the list is sent as the whole")
	}
}

// TestForm creates a member and changes it. Problems are shown beside the fields with the submitted values, and the
// second of two people to save sees both versions.
func TestForm(t *testing.T) {
	t.Parallel()
	s, b := site(t, 0)
	p := b.Get("/club/members/new").Want(200, "<h1>New member", `name="name" value="" maxlength="40" required`, "<h2>About</h2>", "Others see it.", `value="active" selected`, "<h2>Weekend</h2>", `value="3"`).
		Lacks("Ban…", `name="version" value="1"`)
	p.Send("/club/members/new", "name", "bob", "bio", "<b>\r\nme", "state", "banned", "posts", "many", "days", "su", "secret", "hunter2").
		Want(422, "This is not a whole number", `value="many"`, `id="posts-problem"`, "&lt;b&gt;\nme", `value="banned" selected`, `value="su" checked`).Lacks("hunter2")
	p.Send("/club/members/new", "name", "bob", "posts", "100").Want(422, `href="#posts"`, "At most 99 posts", `value="100"`)
	p.Send("/club/members/new", "name", " bob ", "bio", "me", "state", "active", "posts", "7", "guest", "1", "days", "mo", "lines", "a\r\n\r\n b", "secret", " x ").
		Want(200, "The token of bob", `<code class="secret">token-1</code>`, `href="/club/members"`)
	if m := s.members[0]; m.Name != "bob" || m.Posts != 7 || !m.Guest || !slices.Equal(m.Days, []string{"mo"}) || !slices.Equal(m.Lines, []string{"a", "b"}) || m.Secret != " x " {
		t.Errorf("got the member %+v, want the values of the form", m)
	}

	mine := b.Get("/club/members/1").Want(200, "<h1>Member bob</h1>", "<dt>Id</dt><dd>1</dd>", "a\nb</textarea>", "<code>a</code>", "Ban…", `name="version" value="1"`).Lacks(`name="name"`, "New password", " x ")
	theirs := mine.Send("/club/members/1", "version", "1", "bio", "theirs", "state", "active", "posts", "8", "days", "su").Want(200, "Saved.", "theirs")
	clash := mine.Send("/club/members/1", "version", "1", "bio", "mine", "state", "banned", "posts", "8", "days", "mo").
		Want(409, "Somebody else has changed this", "<del>theirs</del>", "<ins>mine</ins>", "<del>Sunday</del>", "<ins>Monday</ins>", "<ins>banned</ins>", ">mine</textarea>").Lacks("<th scope=\"row\">Posts")
	if s.members[0].Bio != "theirs" {
		t.Error("the form overwrote the other version")
	}
	clash.Send("/club/members/1", "version", clash.Hidden("version"), "bio", "both", "state", "active", "posts", "8").Want(200, "Saved.", ">both</textarea>")

	theirs.Send("/club/members/1", "do", "ban").Want(200, "They are signed out.", "<h1>Ban bob")
	theirs.Send("/club/members/1", "do", "ban", "sure", "1").Want(422, "Give a reason", `name="sure"`)
	theirs.Send("/club/members/1", "do", "ban", "sure", "1", "reason", "spam").Want(200, "bob was banned.")
	theirs.Send("/club/members/1", "do", "greet").Want(200, "bob was greeted.")
	theirs.Send("/club/members/1", "do", "none").Want(400)
	theirs.Send("/club/members/new", "do", "greet").Want(400)
	b.Get("/club/members/9").Want(404)
	b.Post("/club/members/1", url.Values{"bio": {"x"}}).Want(403) // without the token of the form
	b.Always.Set("X-User", "eve")
	b.Get("/club/members/1").Want(403)
	theirs.Send("/club/members/1", "bio", "x").Want(403)
}

func TestHistory(t *testing.T) {
	t.Parallel()
	_, b := site(t, 0)
	b.Get("/club/history?actor=bob&action=ban").Want(200, "<h1>History", "ada bob", "<code>ban</code>", `href="/club/members/1"><bdi>bob</bdi></a>`, "spam", `value="bob"`, `value="ban" selected`, ">–<", ">never<")
}

// TestDocument checks that the example in the how-to is equal to the example that is compiled here.
func TestDocument(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/how-to/add-a-service.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(code), "// begin of the example\n")
	example, _, ok := strings.Cut(example, "\n// end of the example")
	if !ok || !strings.Contains(string(text), "```go\n"+example+"```") {
		t.Errorf("docs/how-to/add-a-service.md lacks the example:\n%s", example)
	}
	if n := strings.Count(example, "\n"); n > 36 {
		t.Errorf("the example has %d lines", n)
	}
}
