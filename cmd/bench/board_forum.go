package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/markup"
)

// The made-up forum: a thread has this many posts on average, a forum about so
// many threads, a post so many bytes.
const (
	postsPerThread  = 20
	threadsOfForum  = 10_000
	longestThread   = 50_000
	postBytes       = 600
	mostMembers     = 20_000
	recentThreads   = 20_000
	vocabulary      = 20_000
	forumTextBytes  = 8 << 20
	forumBatch      = 50_000
	longThread      = 1 // its id
	forumRandomSeed = 7
)

// forumStart is when the first post was written; the posts after it are three
// minutes apart.
var forumStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// forumPost is a row to be.
type forumPost struct {
	thread, id, number, author int64
	message                    string
}

func (p *forumPost) html() string { return "<p>" + p.message + "</p>\n" }

func (p *forumPost) hash() string {
	sum := sha256.Sum256([]byte(p.message))
	return hex.EncodeToString(sum[:])
}

// forumThread is what has come together of a thread.
type forumThread struct {
	author, posts, first, last int64
	lastAuthor                 int64
}

// forum makes posts in the order in which they would have been written: most of
// them in one of the threads of late, some in an old one, and one thread goes on
// from the first day to the last.
type forum struct {
	posts, threads, forums, members int64
	long                            int64 // posts of the long thread

	random *rand.Rand
	text   string
	made   []forumThread // by id - 1
	next   int64         // id of a post
	// written is how many posts each member wrote.
	written []int64
}

func newForum(posts int64) *forum {
	f := &forum{
		posts: posts, threads: max(1, posts/postsPerThread), members: min(mostMembers, max(2, posts/10)), long: min(longestThread, posts/4),
		random: rand.New(rand.NewPCG(forumRandomSeed, forumRandomSeed)), next: 1, //nolint:gosec // G404: not a secret
	}
	f.forums = max(1, f.threads/threadsOfForum)
	f.written = make([]int64, f.members)
	f.made = make([]forumThread, 0, f.threads)
	words := make([]string, vocabulary)
	for i := range words {
		words[i] = forumWord(i)
	}
	// A few words are in most posts, most words in few.
	zipf := rand.NewZipf(f.random, 1.1, 8, vocabulary-1)
	var text strings.Builder
	for text.Len() < forumTextBytes {
		text.WriteString(words[zipf.Uint64()])
		text.WriteByte(' ')
	}
	f.text = text.String()
	return f
}

// forumWord is a word that can be spoken, another for each number.
func forumWord(n int) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	word := []byte{consonants[n%14], vowels[n/14%5]}
	for n /= 70; n > 0; n /= 70 {
		word = append(word, consonants[n%14], vowels[n/14%5])
	}
	return string(append(word, 'n'))
}

// more makes the next posts; none: all are made.
func (f *forum) more(batch []forumPost) []forumPost {
	batch = batch[:0]
	for len(batch) < forumBatch && f.next <= f.posts {
		batch = append(batch, f.post())
	}
	return batch
}

func (f *forum) post() forumPost {
	p := forumPost{id: f.next, author: 1 + f.random.Int64N(f.members), message: f.message()}
	p.thread = f.choose()
	f.next++
	f.written[p.author-1]++
	t := &f.made[p.thread-1]
	if t.posts == 0 {
		t.author, t.first = p.author, p.id
	}
	t.posts++
	t.last, t.lastAuthor = p.id, p.author
	p.number = t.posts
	return p
}

// choose is the thread of the next post.
func (f *forum) choose() int64 {
	started := int64(len(f.made))
	if due := 1 + (f.next-1)*f.threads/f.posts; started < due && started < f.threads {
		f.made = append(f.made, forumThread{})
		return started + 1
	}
	switch n := f.random.Float64(); {
	case n < float64(f.long)/float64(f.posts):
		return longThread
	case n < 0.86:
		back := float64(min(recentThreads, started)) * f.random.Float64() * f.random.Float64()
		return started - int64(back)
	}
	return 1 + f.random.Int64N(started)
}

// message is a stretch of the text, of whole words.
func (f *forum) message() string {
	at := f.random.IntN(len(f.text) - 2*postBytes)
	at += strings.IndexByte(f.text[at:], ' ') + 1
	text := f.text[at : at+postBytes]
	return strings.Clone(text[:strings.LastIndexByte(text, ' ')])
}

func memberName(id int64) string { return "member" + strconv.FormatInt(id, 10) }

// forumOf is the forum of a thread, forums being numbered from 0.
func (f *forum) forumOf(thread int64) int64 { return thread % f.forums }

// at is when a post was written.
func (f *forum) at(id int64) int64 {
	return forumStart.Add(time.Duration(id) * 3 * time.Minute).UnixMicro()
}

// forumSink takes the rows of a forum; see board_sqlite.go and board_postgres.go.
type forumSink interface {
	posts(ctx context.Context, f *forum, batch []forumPost) error
	// finish adds the rows that are known at the end only.
	finish(ctx context.Context, tables []forumTable) error
}

// forumTable is rows of a table.
type forumTable struct {
	name    string
	columns []string
	rows    int64
	row     func(i int64) []any // from 0
}

// postTables are the rows of posts.
func (f *forum) postTables(batch []forumPost) []forumTable {
	sorted := inThreads(batch) // as the table is: fewer pages are touched
	return []forumTable{
		{
			"board_posts",
			[]string{"thread_id", "id", "number", "author_id", "author_name", "visibility", "message", "message_html", "render_version", "body_hash", "created_at"},
			int64(len(batch)), func(i int64) []any {
				p := &sorted[i]
				return []any{p.thread, p.id, p.number, p.author, memberName(p.author), int64(0), p.message, p.html(), int64(1), p.hash(), f.at(p.id)}
			},
		},
		{
			"board_post_ids",
			[]string{"id", "thread_id", "forum_id", "author_id", "visibility", "created_at"},
			int64(len(batch)), func(i int64) []any {
				p := &batch[i]
				return []any{p.id, p.thread, firstForum + f.forumOf(p.thread), p.author, int64(0), f.at(p.id)}
			},
		},
	}
}

// firstForum is the id of the first forum of the fill, behind those that a board
// begins with.
const firstForum = 1000

// tables are the rows beside the posts; registered is the group of members.
func (f *forum) tables(registered int64) []forumTable {
	forums := make([]struct{ threads, posts, last, lastThread int64 }, f.forums)
	for i, t := range f.made {
		to := &forums[f.forumOf(int64(i)+1)]
		to.threads++
		to.posts += t.posts
		if t.last > to.last {
			to.last, to.lastThread = t.last, int64(i)+1
		}
	}
	return []forumTable{
		{
			"board_forums",
			[]string{"id", "path", "depth", "position", "type", "title", "slug", "thread_count", "post_count", "last_post_id", "last_thread_id", "last_post_at"},
			f.forums, func(i int64) []any {
				id, n := firstForum+i, strconv.FormatInt(i+1, 10)
				return []any{id, "/" + strconv.FormatInt(id, 10), int64(0), 100 + i, "forum", "Forum " + n, "forum-" + n, forums[i].threads, forums[i].posts, forums[i].last, forums[i].lastThread, f.at(forums[i].last)}
			},
		},
		{
			"board_users",
			[]string{"id", "username", "username_key", "email", "password_hash", "state", "post_count", "joined_at"},
			f.members, func(i int64) []any {
				name := memberName(i + 1)
				return []any{i + 1, name, name, "", "", "active", f.written[i], forumStart.UnixMicro()}
			},
		},
		{
			"board_user_groups",
			[]string{"user_id", "group_id"},
			f.members, func(i int64) []any { return []any{i + 1, registered} },
		},
		{
			"board_threads",
			[]string{
				"id", "forum_id", "title", "slug", "author_id", "author_name", "visibility", "reply_count", "view_count", "first_post_id", "last_post_id",
				"last_poster_name", "created_at", "last_post_at", "next_number",
			},
			int64(len(f.made)), func(i int64) []any {
				t, n := f.made[i], strconv.FormatInt(i+1, 10)
				return []any{
					i + 1, firstForum + f.forumOf(i+1), "A question about the number " + n, "a-question-about-the-number-" + n, t.author, memberName(t.author), int64(0),
					t.posts - 1, 7 * t.posts, t.first, t.last, memberName(t.lastAuthor), f.at(t.first), f.at(t.last), t.posts + 1,
				}
			},
		},
	}
}

// fill makes the forum and hands it on; told is called with the posts that are in.
func (f *forum) fill(ctx context.Context, registered int64, to forumSink, told func(posts int64)) error {
	p := forumPost{message: f.message()}
	if made := markup.Render(p.message); made != p.html() {
		return fmt.Errorf("the board renders the text of a post as %q", made)
	}
	batch := make([]forumPost, 0, forumBatch)
	for batch = f.more(batch); len(batch) > 0; batch = f.more(batch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := to.posts(ctx, f, batch); err != nil {
			return err
		}
		told(f.next - 1)
	}
	return to.finish(ctx, f.tables(registered))
}

// inThreads is a batch in the order of the key of board_posts.
func inThreads(batch []forumPost) []forumPost {
	sorted := slices.Clone(batch)
	slices.SortFunc(sorted, func(a, b forumPost) int {
		if a.thread != b.thread {
			return int(a.thread - b.thread)
		}
		return int(a.id - b.id)
	})
	return sorted
}
