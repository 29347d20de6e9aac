package board

import (
	"maps"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/polls"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/reactions"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/backends/board/tags"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

// TestPlans checks that every list is read by its index, without a scan, a sort or a temporary table. Besides the
// lists it checks the statements that run with each page or post on a large table.
func TestPlans(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		d := db.Dialect()
		statements := make(map[string]string)
		for name, l := range posts.EveryListing() {
			statements[name] = l.SQL(d)
		}
		for name, l := range conversations.EveryListing() {
			statements["conversations: "+name] = l.SQL(d)
		}
		for name, l := range reactions.EveryListing() {
			statements[name] = l.SQL(d)
		}
		if d == store.SQLite { // on PostgreSQL see TestSearchReadsFewPosts
			statements["posts with words"] = search.WordsOfIndex().SQL(d)
		}
		maps.Copy(statements, map[string]string{
			"threads with a tag":       tags.ThreadsOf(d),
			"the tags of threads":      tags.OfThreads(3),
			"the polls of posts":       polls.OfPosts(3),
			"a thread":                 "SELECT " + content.ThreadColumns + " FROM board_threads t WHERE t.id = ?",
			"a post":                   "SELECT " + content.PostColumns + " FROM board_posts p WHERE p.thread_id = ? AND p.id = ?",
			"a step to a page":         "SELECT p.number FROM board_posts p WHERE p.thread_id = ? AND p.id >= ? ORDER BY p.id LIMIT 1",
			"the thread of a post":     "SELECT thread_id FROM board_post_ids WHERE id = ?",
			"threads read":             "SELECT thread_id, last_read_post_id FROM board_thread_reads WHERE user_id = ? AND thread_id IN (?, ?, ?)",
			"threads subscribed":       "SELECT target_id, 1 FROM board_subscriptions WHERE user_id = ? AND target = 'thread' AND mode <> 'none' AND target_id IN (?, ?, ?)",
			"followers":                "SELECT user_id FROM board_subscriptions WHERE target = 'thread' AND target_id = ?",
			"the last post of threads": "SELECT p.id FROM board_posts p WHERE p.thread_id = ? AND p.visibility = 0 ORDER BY p.id DESC LIMIT 1",
			"reactions to posts":       reactions.CountsOf(3),
			"posts bookmarked":         "SELECT post_id, id FROM board_bookmarks WHERE user_id = ? AND post_id IN (?, ?, ?)",
			"members ignored":          "SELECT blocked_id, 1 FROM board_blocks WHERE user_id = ? AND blocked_id IN (?, ?, ?)",
			"the last of a forum":      "SELECT " + content.LastOfForum(d, "id") + " FROM board_forums f WHERE f.id = ?",
			"the counts of a forum":    "SELECT " + content.ForumThreads + ", " + content.ForumPosts + " FROM board_forums f WHERE f.id = ?",
			"the author's last posts":  "SELECT id, thread_id, created_at FROM board_post_ids WHERE author_id = ? ORDER BY id DESC LIMIT 20",
			"posts of a member":        search.PostsOfAuthor().SQL(d),
			"posts read":               "SELECT p.id FROM board_post_ids i JOIN board_posts p ON p.thread_id = i.thread_id AND p.id = i.id JOIN board_threads t ON t.id = i.thread_id WHERE i.id IN (?, ?, ?) ORDER BY i.id DESC",
			"posts found":              "SELECT i.id FROM board_post_ids i JOIN board_threads t ON t.id = i.thread_id WHERE i.id IN (?, ?, ?) AND i.visibility = 0 AND t.visibility = 0 AND (t.forum_id IN (?, ?))",
		})
		for name, statement := range statements {
			plan, err := s.plan(statement)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if plan == "" {
				t.Errorf("%s: no plan", name)
			}
			for _, word := range badPlan(d) {
				if strings.Contains(plan, word) {
					t.Errorf("%s: %s in\n%s", name, word, plan)
				}
			}
		}
		if plan, err := s.plan(posts.ArchiveCandidates(d)); err != nil || !strings.Contains(plan, "board_post_ids_deleted") {
			t.Errorf("threads to archive: %v\n%s", err, plan)
		}
		// The check itself detects bad plans.
		for _, statement := range []string{
			"SELECT t.id FROM board_threads t WHERE t.title = ?",
			"SELECT t.id FROM board_threads t WHERE t.forum_id = ? ORDER BY t.title",
		} {
			plan, err := s.plan(statement)
			if err != nil {
				t.Fatal(err)
			}
			bad := false
			for _, word := range badPlan(d) {
				bad = bad || strings.Contains(plan, word)
			}
			if !bad {
				t.Errorf("nothing is wrong with %s:\n%s", statement, plan)
			}
		}
	})
}

// badPlan returns the words of a query plan which show that it reads more than its rows.
func badPlan(d store.Dialect) []string {
	if d == store.Postgres {
		return []string{"Seq Scan", `"Sort"`, "Bitmap"}
	}
	return []string{"SCAN", "TEMP B-TREE"}
}

// plan returns the query plan of a statement.
func (s *site) plan(statement string) (string, error) {
	args := make([]any, strings.Count(statement, "?"))
	for i := range args {
		args[i] = "1" // both engines convert it to a number if necessary
	}
	plan, err := storetest.Plan(s.t, s.service.kernel.DB, true, statement, args...)
	lines := strings.SplitAfter(plan, "\n")
	for i, line := range lines {
		// SQLite calls a look-up in the index of words a scan.
		if strings.Contains(line, "VIRTUAL TABLE INDEX") && strings.Contains(line, ":M") {
			lines[i] = "SEARCH words\n"
		}
	}
	return strings.Join(lines, ""), err
}
