package board

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const smallForum = `{
"users": [{"name": "olga", "joinedAt": "2010-01-02T03:04:05Z", "title": "Founder", "bio": "Since the first day"}, {"name": "pete"}],
"forums": [{"slug": "old", "title": "Old"}],
"prefixes": [{"label": "Solved", "forums": ["old"]}],
"threads": [
 {"forum": "old", "title": "A thread", "prefix": "Solved", "views": 7, "sticky": true, "posts": [
  {"author": "olga", "message": "one", "at": "2011-01-01T00:00:00Z"},
  {"guest": "Gone Member", "message": "two", "at": "2011-01-02T00:00:00Z", "editedAt": "2011-01-03T00:00:00Z", "editReason": "typo"},
  {"author": "pete", "message": "three", "at": "2011-01-04T00:00:00Z", "visibility": "deleted"}]},
 {"forum": "old", "title": "Held thread", "posts": [{"author": "pete", "message": "wait", "at": "2011-02-01T00:00:00Z", "visibility": "unapproved"}]},
 {"forum": "old", "title": "Newest", "posts": [{"author": "pete", "message": "hello", "at": "2011-03-01T00:00:00Z"}]}
]}`

func (s *site) seed(text string) (map[string]int, error) {
	done := make(map[string]int)
	_, err := s.service.Seed(s.t.Context(), strings.NewReader(text), seed.Options{Progress: func(part string, n int) { done[part] = n }})
	return done, err
}

func TestSeedForum(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		done, err := s.seed(smallForum)
		if err != nil || done["users"] != 2 || done["threads"] != 3 || done["posts"] != 5 {
			t.Fatalf("%v: %v", done, err)
		}
		s.exact()
		list := path("/forums/%d/threads", s.forum("old"))
		threads := data[[]content.ThreadInfo](s.do("", "GET", list, "").want(200))
		if len(threads) != 2 || threads[0].Title != "Newest" {
			t.Fatalf("threads %+v", threads)
		}
		got := threads[1]
		if got.Prefix == nil || got.Prefix.Label != "Solved" || got.ReplyCount != 1 || got.ViewCount != 7 || !got.IsSticky || got.LastPosterUsername != "Gone Member" ||
			got.LastPostAt.String() != "2011-01-02T00:00:00.000Z" || got.CreatedAt.String() != "2011-01-01T00:00:00.000Z" {
			t.Errorf("thread %+v", got)
		}
		posts := data[[]content.PostInfo](s.do("", "GET", path("/threads/%d/posts", got.ID), "").want(200))
		if len(posts) != 2 || posts[1].AuthorUserID != nil || posts[1].EditCount != 1 || posts[1].EditReason == nil || *posts[1].EditReason != "typo" || *posts[1].EditedByUsername != "Gone Member" {
			t.Errorf("posts %+v", posts)
		}
		if found := data[[]api.FoundInfo](s.do("", "GET", "/search?q=hello", "").want(200)); len(found) != 1 {
			t.Errorf("found %+v", found)
		}
		if n := s.number("SELECT post_count FROM board_users WHERE username = 'pete'"); n != 1 {
			t.Errorf("pete has %d posts", n)
		}
		// New posts get ids after those of the fixture.
		reply := data[api.Replied](s.do("alice", "POST", path("/threads/%d/posts", got.ID), `{"message":"a reply"}`).want(201))
		if reply.ID <= posts[1].ID {
			t.Errorf("id %d behind %d", reply.ID, posts[1].ID)
		}

		second, err := s.seed(smallForum)
		if err != nil || len(second) != 0 {
			t.Errorf("loaded twice: %v %v", second, err)
		}
		s.exact()
	})
}

// TestSeedResumes checks that what was loaded before an interruption is not added again.
func TestSeedResumes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		var b strings.Builder
		b.WriteString(`{"threads":[`)
		b.WriteString(strings.Repeat(" ", seed.SeedHead)) // the digest covers only this
		const threads = 3*seed.SeedThreads + 10
		for i := range threads {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(path(`{"forum":"public","title":"Resumed %d","posts":[{"author":"alice","message":"text %d"}]}`, i, i))
		}
		whole := b.String() + "]}"
		half, _, _ := strings.Cut(whole, `{"forum":"public","title":"Resumed 1100"`)
		if _, err := s.seed(half); err == nil {
			t.Fatal("half a fixture is not an error")
		}
		if n := s.number("SELECT count(*) FROM board_threads WHERE title LIKE 'Resumed %'"); n != 1100 {
			t.Fatalf("%d threads before the cut", n)
		}
		done, err := s.seed(whole)
		if err != nil || done["threads"] != threads || done["posts"] != threads-1100 {
			t.Errorf("%v: %v", done, err)
		}
		if n := s.number("SELECT count(*) FROM (SELECT DISTINCT title FROM board_threads WHERE title LIKE 'Resumed %') t"); n != threads {
			t.Errorf("%d titles", n)
		}
		if n := s.number("SELECT count(*) FROM board_threads WHERE title LIKE 'Resumed %'"); n != threads {
			t.Errorf("%d threads", n)
		}
	})
}

func TestSeedRefusals(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		for name, c := range map[string]struct{ text, want string }{
			"unknown part":       {`{"topics":[]}`, "there is no such part"},
			"unknown field":      {`{"users":[{"nick":"x"}]}`, `unknown field "nick"`},
			"no author":          {`{"threads":[{"forum":"public","title":"Title","posts":[{"message":"text"}]}]}`, `threads: line 1, element 1, thread "Title": post 1: it must have either an author or a guest`},
			"unknown author":     {`{"threads":[{"forum":"public","title":"Title","posts":[{"author":"nobody","message":"text"}]}]}`, `threads: line 1, element 1, thread "Title": post 1: there is no user "nobody"`},
			"unknown forum":      {`{"threads":[{"forum":"none","title":"Title","posts":[{"author":"alice","message":"text"}]}]}`, `there is no forum "none"`},
			"no forum":           {`{"threads":[{"title":"Title","posts":[{"author":"alice","message":"text"}]}]}`, "a thread needs a forum"},
			"unknown prefix":     {`{"threads":[{"forum":"public","prefix":"x","title":"Title","posts":[{"author":"alice","message":"text"}]}]}`, `there is no prefix "x"`},
			"no posts":           {`{"threads":[{"forum":"public","title":"Title","posts":[]}]}`, "a thread has 1 to"},
			"unknown visibility": {`{"threads":[{"forum":"public","title":"Title","posts":[{"author":"alice","message":"text","visibility":"gone"}]}]}`, `unknown visibility "gone"`},
			"empty message":      {`{"threads":[{"forum":"public","title":"Title","posts":[{"author":"alice","message":" "}]}]}`, "message"},
			"not an object":      {`[]`, "expected"},
			"broken":             {`{"threads":[{"forum":`, "element 1"},
		} {
			_, err := s.seed(c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		}
		if n := s.number("SELECT count(*) FROM board_threads WHERE title = 'Title'"); n != 0 {
			t.Errorf("%d threads of refused fixtures", n)
		}
		// The error of a reader that fails is reported.
		_, err := s.service.Seed(t.Context(), failing{}, seed.Options{})
		if !errors.Is(err, errFailing) {
			t.Error(err)
		}
	})
}

// TestSeedReportsRefused checks that faulty elements of a fixture are left out and reported with their line and
// the title of their thread, and that all others are loaded.
func TestSeedReportsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		const text = `{
"users": [
 {"name": "one"}, {"name": "x"},
 {"name": "two", "groups": ["nobodies"]}, {"nick": "three"},
 {"name": "four"}
],
"threads": [
 {"forum": "public", "title": "Loaded one", "posts": [{"author": "one", "message": "text"}]},
 {"forum": "none", "title": "No forum", "posts": [{"author": "one", "message": "text"}]},
 {"forum": "public", "title": "No author", "posts": [
  {"author": "one", "message": "text"},
  {"author": "two", "message": "text"}]}, {"forum": "public", "title": "Empty", "posts": [{"author": "one", "message": " "}]},

 {"forum": "public", "title": "Unknown", "topic": 1, "posts": []},
 {"forum": "public", "title": "Loaded two", "posts": [{"author": "four", "message": "text"}]}
]}`
		want := []string{
			"users: line 4, element 4: ", "users: line 3, element 2: ", "users: line 4, element 3: ",
			`threads: line 12, element 4, thread "Empty": post 1: `, `threads: line 14, element 5, thread "Unknown": json: unknown field "topic"`,
			`threads: line 9, element 2, thread "No forum": there is no forum "none"`, `threads: line 10, element 3, thread "No author": post 2: there is no user "two"`,
		}
		if _, err := s.seed(text); err == nil || !strings.HasPrefix(err.Error(), "users: line 4, element 4: ") {
			t.Errorf("without leaving anything out: %v", err)
		}
		for _, round := range []string{"first", "again"} {
			var refused []string
			_, err := s.service.Seed(t.Context(), strings.NewReader(text), seed.Options{Refused: func(reason error) { refused = append(refused, reason.Error()) }})
			if err != nil {
				t.Fatalf("%s: %v", round, err)
			}
			if round == "again" {
				want = nil // elements before the recorded end are not examined again
			}
			slices.Sort(refused)
			slices.Sort(want)
			if len(refused) != len(want) {
				t.Fatalf("%s: refused are\n%s\nwant\n%s", round, strings.Join(refused, "\n"), strings.Join(want, "\n"))
			}
			for i := range want {
				if !strings.HasPrefix(refused[i], want[i]) {
					t.Errorf("%s: %q, want %q", round, refused[i], want[i])
				}
			}
		}
		s.exact()
		if n := s.number("SELECT count(*) FROM board_threads WHERE title IN ('Loaded one', 'Loaded two')"); n != 2 {
			t.Errorf("%d threads are loaded, want 2", n)
		}
		if n := s.number("SELECT count(*) FROM board_threads WHERE title IN ('No forum', 'No author', 'Empty', 'Unknown')"); n != 0 {
			t.Errorf("%d refused threads are there", n)
		}
	})
}

// TestSeedTokens checks that every created token is returned, also tokens of the same name and those that were
// created before an error.
func TestSeedTokens(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		names := func(text string) (list []string, err error) {
			tokens, err := s.service.Seed(t.Context(), strings.NewReader(text), seed.Options{})
			for _, token := range tokens {
				a, err := s.service.Accounts.Authenticate(t.Context(), token.Token)
				if err != nil {
					t.Fatal(err)
				}
				if a.User.Name != token.User || a.Token.Name != token.Name {
					t.Errorf("%+v is the token %s of %s", token, a.Token.Name, a.User.Name)
				}
				list = append(list, token.User+" "+token.Name)
			}
			return list, err
		}
		got, err := names(`{"tokens": [{"user": "bob", "name": "ci"}, {"user": "alice", "name": "ci"}, {"user": "alice", "name": "ci"}]}`)
		if want := []string{"bob ci", "alice ci", "alice ci"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("made %q: %v, want %q", got, err, want)
		}
		got, err = names(`{"tokens": [{"user": "bob", "name": "kept"}], "prefixes": [{"label": "x", "forums": ["nowhere"]}]}`)
		if want := []string{"bob kept"}; err == nil || !slices.Equal(got, want) {
			t.Errorf("made %q: %v, want %q and an error", got, err, want)
		}
	})
}

var errFailing = errors.New("the disk is gone")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errFailing }
