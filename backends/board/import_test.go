package board

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/moving"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

var importPosts = flag.Int("import.posts", 3000, "posts that TestImportResumes imports")

// imports imports the forum of phpBB in testdata, unless the options name another dump.
func (s *site) imports(ctx context.Context, o moving.Options) (*moving.Report, error) {
	o.From = "phpbb"
	if o.Dump == "" {
		o.Dump, o.Attachments, o.Avatars = "testdata/phpbb/dump.sql", "testdata/phpbb/files", "testdata/phpbb/avatars"
	}
	return s.service.Import(ctx, o)
}

// here returns the id in the board of something that was imported.
func (s *site) here(kind string, oldID int64) int64 {
	return s.number("SELECT COALESCE(max(new_id), 0) FROM board_moved WHERE program = 'phpbb' AND kind = ? AND old_id = ?",
		kind, oldID)
}

// talks returns the private conversations of a member with their messages.
func (s *site) talks(name string) string {
	actor := s.actor(text.Fold(name))
	found, _, err := s.service.Conversations.List(s.t.Context(), actor, 0, 100)
	if err != nil {
		s.t.Fatal(err)
	}
	list := make([]string, 0, len(found))
	for _, v := range found {
		var people, messages []string
		for _, p := range v.People {
			people = append(people, p.Name)
		}
		read, err := s.service.Conversations.Open(s.t.Context(), actor, v.ID, 0, 100)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, m := range read.Messages {
			html := strings.NewReplacer("<p>", "", "</p>", "", "\n", "").Replace(m.HTML)
			messages = append(messages, m.Author.Name+": "+html)
		}
		unread := ""
		if v.Unread {
			unread = " unread"
		}
		list = append(list, fmt.Sprintf("%s (%s)%s: %s", v.Title, strings.Join(people, ", "), unread, strings.Join(messages, ", ")))
	}
	return strings.Join(list, "|")
}

// pictured checks that a member has a picture, which is served.
func (s *site) pictured(name string) {
	s.t.Helper()
	id := s.number("SELECT id FROM board_users WHERE username = ?", name)
	faces, err := s.service.Attachments.Faces(s.t.Context(), []int64{id})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.service.Attachments.Avatar(s.t.Context(), id, faces[id].Picture[strings.LastIndex(faces[id].Picture, "/")+1:]); err != nil {
		s.t.Errorf("the picture of %s at %q: %v", name, faces[id].Picture, err)
	}
}

func lines(r *moving.Report) (list []string) {
	for _, l := range r.Lines {
		list = append(list, l.String())
	}
	return list
}

var wantLines = []string{
	`changed: member 4 "Ann&Bob": the name is taken or not allowed; the member is "Ann_Bob"`,
	`changed: member 6 "Spammer": another member has the same mail address; it is left out`,
	`changed: member 8 "Sleeper": the mail address is not valid; it is left out`,
	`changed: member 8 "Sleeper": the hash of the password has an unknown form; the member must set a new password by mail`,
	`changed: member 9 "alice": the name is taken or not allowed; the member is "alice 2"`,
	`left out: thread 9 "Empty": it has no posts`,
	`left out: file 3 "passwd.txt": its content is not in the folder`,
	`left out: conversation 4 "": none of its members has an account`,
}

func TestImportPHPBB(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		report, err := s.imports(t.Context(), moving.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.exact()
		s.pictured("Ann")
		if got, want := fmt.Sprint(report.Done), "map[conversations:3 files:3 forums:6 members:6 pictures:1 posts:12 threads:7]"; got != want {
			t.Errorf("done %s, want %s", got, want)
		}
		if got := lines(report); !slices.Equal(got, wantLines) {
			t.Errorf("the report is\n%s", strings.Join(got, "\n"))
		}
		if got := strings.Join(report.Notes, "\n"); !strings.Contains(got, "ADMINISTRATORS get no rights of the board: Root.") {
			t.Errorf("the notes are\n%s", got)
		}

		type texts map[string]string // by title: the posts that guests see, with their authors
		for oldID, want := range map[int64]texts{
			2: {
				`Hello "world"`:              "Ann: Hello **everybody**,\\\nsee https://example.com/a_b & :)|Ann_Bob: > **Ann:**\n>\n> Hello\n\nHi \\*you\\* \\[1\\]|Passer & by: a guest writes \\[b\\]so\\[/b\\]|Gone: of somebody whose account is gone",
				"Files":                      "Ann: ![dot.png](<attachment:dot.png>)|Ann_Bob: Old **style** :D http://example.com/?a=1&b=2\n\n1. one\n1. two \\<3",
				"Begins with a deleted post": "Ann_Bob: an answer to what was deleted",
			},
			3: {"??? 4": "Root: :)"},
			4: {},
		} {
			got := texts{}
			for _, thread := range data[[]content.ThreadInfo](s.do("", "GET", path("/forums/%d/threads", s.here("forum", oldID)), "").want(200)) {
				var list []string
				for _, p := range data[[]content.PostInfo](s.do("", "GET", path("/threads/%d/posts", thread.ID), "").want(200)) {
					list = append(list, p.AuthorUsername+": "+p.Message)
				}
				got[thread.Title] = strings.Join(list, "|")
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("forum %d has\n%q, want\n%q", oldID, got, want)
			}
		}
		hello := data[content.ThreadInfo](s.do("", "GET", path("/threads/%d", s.here("thread", 2)), "").want(200))
		if !hello.IsSticky || hello.ViewCount != 42 || hello.CreatedAt.String() != "2011-03-13T07:06:40.000Z" || hello.LastPosterUsername != "Gone" || hello.ReplyCount != 3 {
			t.Errorf("thread %+v", hello)
		}
		files := data[content.ThreadInfo](s.do("", "GET", path("/threads/%d", s.here("thread", 3)), "").want(200))
		edited := data[content.PostInfo](s.do("", "GET", path("/threads/%d/posts/%d", hello.ID, s.here("post", 11)), "").want(200))
		if !files.IsLocked || edited.EditReason == nil || *edited.EditReason != "typo" || *edited.EditedByUsername != "Ann_Bob" || edited.EditedAt == nil {
			t.Errorf("locked %t, edited %+v", files.IsLocked, edited)
		}
		// Hidden content stays hidden after the import, and moderators see it.
		for _, hidden := range []int64{5, 6} {
			s.do("", "GET", path("/threads/%d", s.here("thread", hidden)), "").want(404)
			s.do("alice", "GET", path("/threads/%d", s.here("thread", hidden)), "").want(404)
			s.do("mod", "GET", path("/threads/%d", s.here("thread", hidden)), "").want(200)
		}
		s.do("alice", "POST", path("/forums/%d/threads", s.here("forum", 3)), `{"title":"Not allowed","message":"not here"}`).want(403)
		if n := s.number("SELECT count(*) FROM board_attachments WHERE removed_at IS NULL AND post_id = ?", s.here("post", 12)); n != 2 {
			t.Errorf("the post has %d files", n)
		}
		for name, want := range map[string]string{"Ann": "active", "Spammer": "banned", "Ann_Bob": "active", "Sleeper": "awaiting"} {
			if state, _, _, _ := s.member(name); state != want {
				t.Errorf("%s is %s, want %s", name, state, want)
			}
		}
		// Members have the private messages that they had, and nobody else does.
		for name, want := range map[string]string{
			"Ann":     "A & B (Ann, Ann_Bob, Root): Ann_Bob: for three|A & B (Ann, Ann_Bob) unread: Ann: secret of <strong>two</strong>, Ann_Bob: answer",
			"Ann_Bob": "A & B (Ann, Ann_Bob, Root): Ann_Bob: for three|A & B (Ann, Ann_Bob): Ann: secret of <strong>two</strong>, Ann_Bob: answer",
			"Root":    "A & B (Ann, Ann_Bob, Root): Ann_Bob: for three",
			"alice":   "",
		} {
			if got := s.talks(name); got != want {
				t.Errorf("%s has\n%s, want\n%s", name, got, want)
			}
		}
		// Old passwords are accepted, and are hashed again.
		const address = "192.0.2.1"
		for name, password := range map[string]string{"Ann": "an old password", "Ann_Bob": `p&ss"word`, "root@example.org": "root's password"} {
			if _, err := s.service.Accounts.Login(t.Context(), name, password, address, ""); err != nil {
				t.Errorf("%s cannot sign in: %v", name, err)
			}
		}
		if n := s.number("SELECT count(*) FROM board_users WHERE username IN ('Ann', 'Ann_Bob', 'Root') AND password_hash LIKE '$argon2id$v=19$m=8,t=1,p=1$%'"); n != 3 {
			t.Errorf("%d passwords were hashed anew", n)
		}
		for _, name := range []string{"Spammer", "Sleeper"} {
			if _, err := s.service.Accounts.Login(t.Context(), name, "", address, ""); err == nil {
				t.Errorf("%s signs in", name)
			}
		}

		second, err := s.imports(t.Context(), moving.Options{})
		if err != nil || fmt.Sprint(lines(second)) != `[left out: thread 9 "Empty": it has no posts left out: conversation 4 "": none of its members has an account]` || s.number("SELECT count(*) FROM board_moved WHERE kind = 'post'") != 12 {
			t.Errorf("imported twice: %v %v", lines(second), err)
		}
		s.exact()
	})
}

// TestImportDryRun checks that a dry run reports the same as an import, and changes nothing.
func TestImportDryRun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		before := s.number("SELECT count(*) FROM board_users")
		report, err := s.imports(t.Context(), moving.Options{DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		// Only what is in the database of the forum at the time of the run clashes.
		want := slices.DeleteFunc(slices.Clone(wantLines), func(line string) bool {
			return strings.Contains(line, "Spammer") || strings.Contains(line, "conversation")
		})
		if got := lines(report); !slices.Equal(got, want) || report.Done["posts"] != 12 || !report.DryRun {
			t.Errorf("the report is\n%s\n%v", strings.Join(got, "\n"), report.Done)
		}
		if n := s.number("SELECT count(*) FROM board_users"); n != before || s.number("SELECT count(*) FROM board_moved") != 0 || s.number("SELECT count(*) FROM board_contents") != 0 {
			t.Error("the board has changed")
		}
	})
}

// writeForum writes a dump of phpBB with so many posts in threads of ten.
func writeForum(t *testing.T, posts int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "dump.sql")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(file)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	line("INSERT INTO phpbb_acl_groups (group_id, forum_id, auth_option_id, auth_role_id, auth_setting) VALUES (1,0,1,0,1),(1,0,2,0,1);")
	line("INSERT INTO phpbb_acl_options (auth_option_id, auth_option) VALUES (1,'f_list'),(2,'f_read');")
	line("INSERT INTO phpbb_forums (forum_id, parent_id, left_id, forum_name, forum_type) VALUES (1,0,1,'Imported',1);")
	line("INSERT INTO phpbb_groups (group_id, group_name) VALUES (1,'GUESTS');")
	members := posts/100 + 1
	threads := (posts + 9) / 10
	for id := 1; id <= posts; id++ {
		// The posts of a thread are far from each other, as in a forum.
		line("INSERT INTO phpbb_posts (post_id, topic_id, poster_id, post_time, post_visibility, enable_bbcode, post_text) VALUES (%d,%d,%d,%d,1,1,'<r><QUOTE author=\"x\"><s>[quote=\"member %d\"]</s>What %d said<e>[/quote]</e></QUOTE>\\nThis is <B><s>[b]</s>post number %d<e>[/b]</e></B> of a forum that moves: %s.<br/>\\nGreetings</r>');",
			id, id%threads+1, 2+id%members, 1_300_000_000+id, id%members, id, id, strings.Repeat("some words of a sentence, ", 12))
	}
	for id := 1; id <= threads; id++ {
		line("INSERT INTO phpbb_topics (topic_id, forum_id, topic_visibility, topic_title) VALUES (%d,1,1,'Thread number %d');", id, id)
	}
	for id := range members {
		line("INSERT INTO phpbb_users (user_id, user_type, username, user_password, user_email) VALUES (%d,0,'member %d','$H$9saltsaltoOYGA0TbwROeAx3OxiKY5/','m%d@example.org');", id+2, id, id)
	}
	if err := errors.Join(w.Flush(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestImportResumes checks that an import that has ended in the middle goes on where it ended.
func TestImportResumes(t *testing.T) {
	t.Parallel()
	dump := writeForum(t, *importPosts)
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		start := time.Now()
		for _, part := range []string{"members", "posts"} {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := s.imports(ctx, moving.Options{Dump: dump, Progress: func(name string, _ int64) {
				if name == part {
					cancel()
				}
			}})
			if cancel(); !errors.Is(err, context.Canceled) {
				t.Fatalf("it was not ended in %s: %v", part, err)
			}
		}
		if n := s.number("SELECT count(*) FROM board_moved WHERE kind = 'post'"); n == 0 || n == int64(*importPosts) {
			t.Fatalf("%d posts were imported before the interruption", n)
		}
		report, err := s.imports(t.Context(), moving.Options{Dump: dump})
		if err != nil || len(report.Lines) != 0 {
			t.Fatal(err, lines(report))
		}
		seconds := time.Since(start).Seconds()
		t.Logf("%d posts, %.0f a second with three runs", *importPosts, float64(*importPosts)/seconds)
		for kind, want := range map[string]int{"post": *importPosts, "thread": (*importPosts + 9) / 10, "member": *importPosts/100 + 1} {
			if n := s.number("SELECT count(*) FROM board_moved WHERE kind = ?", kind); n != int64(want) {
				t.Errorf("%d of %s, want %d", n, kind, want)
			}
		}
		if n := s.number("SELECT count(*) FROM board_posts WHERE message LIKE '%of a forum that moves%'"); n != int64(*importPosts) {
			t.Errorf("there are %d posts", n)
		}
		s.exact()
	})
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), kernel.Options{})
	other := filepath.Join(t.TempDir(), "dump.sql")
	if err := os.WriteFile(other, []byte("CREATE TABLE x_topics (id int);INSERT INTO x_topics VALUES (1);"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options moving.Options
		want    string
	}{
		"another prefix":  {moving.Options{From: "phpbb", Dump: other}, `tables of threads in it: ["x_topics"]`},
		"another program": {moving.Options{From: "nothing", Dump: other}, `unknown program "nothing"; known programs: discourse, flarum, mybb, phpbb, xenforo`},
		"no file":         {moving.Options{From: "phpbb", Dump: other + "x"}, "no such file"},
	} {
		if _, err := s.service.Import(t.Context(), test.options); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
