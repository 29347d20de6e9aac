// Package forum generates a forum of any size and writes it directly into the tables of a board, because the
// board itself would take far longer.
package forum

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

// These constants describe the generated forum. postsPerThread is the average number of posts in a thread,
// ThreadsOfForum is the approximate number of threads in a forum, and PostBytes is the approximate size of a post in
// bytes.
const (
	postsPerThread = 20
	ThreadsOfForum = 10_000
	PostBytes      = 600
	Vocabulary     = 20_000 // the number of different words
	LongThread     = 1      // the id of the long thread
	longestThread  = 50_000
	maxMembers     = 20_000
	recentThreads  = 20_000
	textBytes      = 8 << 20
	batchSize      = 50_000
	seedNumber     = 7
)

// began is the time of the first post. The posts are three minutes apart.
var began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// post is a post to be written.
type post struct {
	thread, id, number, author int64
	message                    string
}

// html returns the message as the board renders it.
func (p *post) html() string { return "<p>" + p.message + "</p>\n" }

// hash returns the SHA-256 hash of the message in hexadecimal digits.
func (p *post) hash() string {
	sum := sha256.Sum256([]byte(p.message))
	return hex.EncodeToString(sum[:])
}

// thread is the state of a thread during the generation.
type thread struct {
	author, posts, first, last int64
	lastAuthor                 int64
}

// Forum generates posts in the order of their times. Most posts are in recent threads, and some are in old threads. One
// thread continues from the first day to the last day.
type Forum struct {
	Posts, Threads, Forums int64  // the final numbers
	Text                   string // the text that all messages are taken from

	members int64
	long    int64 // the number of posts in the long thread
	random  *rand.Rand
	states  []thread // the threads so far, indexed by id - 1
	next    int64    // the id of the next post
	// written is the number of posts of each member.
	written []int64
}

// New returns a forum with a number of posts. Every run generates the same forum.
func New(posts int64) *Forum {
	f := &Forum{
		Posts: posts, Threads: max(1, posts/postsPerThread), members: min(maxMembers, max(2, posts/10)),
		long:   min(longestThread, posts/4),
		random: rand.New(rand.NewPCG(seedNumber, seedNumber)), next: 1, //nolint:gosec // G404: not a secret
	}
	f.Forums = max(1, f.Threads/ThreadsOfForum)
	f.written = make([]int64, f.members)
	f.states = make([]thread, 0, f.Threads)
	words := make([]string, Vocabulary)
	for i := range words {
		words[i] = Word(i)
	}
	// A few words are in most posts, and most words are in only a few posts.
	zipf := rand.NewZipf(f.random, 1.1, 8, Vocabulary-1)
	var text strings.Builder
	for text.Len() < textBytes {
		text.WriteString(words[zipf.Uint64()])
		text.WriteByte(' ')
	}
	f.Text = text.String()
	return f
}

// Word returns a pronounceable word, which is different for each number.
func Word(n int) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	word := []byte{consonants[n%14], vowels[n/14%5]}
	for n /= 70; n > 0; n /= 70 {
		word = append(word, consonants[n%14], vowels[n/14%5])
	}
	return string(append(word, 'n'))
}

// more generates the next posts into batch. The result is empty when all posts have been generated.
func (f *Forum) more(batch []post) []post {
	batch = batch[:0]
	for len(batch) < batchSize && f.next <= f.Posts {
		batch = append(batch, f.post())
	}
	return batch
}

// post generates the next post, and counts it for its thread and its author.
func (f *Forum) post() post {
	p := post{id: f.next, author: 1 + f.random.Int64N(f.members), message: f.message()}
	p.thread = f.choose()
	f.next++
	f.written[p.author-1]++
	t := &f.states[p.thread-1]
	if t.posts == 0 {
		t.author, t.first = p.author, p.id
	}
	t.posts++
	t.last, t.lastAuthor = p.id, p.author
	p.number = t.posts
	return p
}

// choose returns the thread of the next post.
func (f *Forum) choose() int64 {
	started := int64(len(f.states))
	if due := 1 + (f.next-1)*f.Threads/f.Posts; started < due && started < f.Threads {
		f.states = append(f.states, thread{})
		return started + 1
	}
	switch n := f.random.Float64(); {
	case n < float64(f.long)/float64(f.Posts):
		return LongThread
	case n < 0.86:
		distance := float64(min(recentThreads, started)) * f.random.Float64() * f.random.Float64()
		return started - int64(distance)
	}
	return 1 + f.random.Int64N(started)
}

// message returns a piece of the text that consists of whole words.
func (f *Forum) message() string {
	start := f.random.IntN(len(f.Text) - 2*PostBytes)
	start += strings.IndexByte(f.Text[start:], ' ') + 1
	text := f.Text[start : start+PostBytes]
	return strings.Clone(text[:strings.LastIndexByte(text, ' ')])
}

// Member returns the name of a member. Ids begin with 1.
func Member(id int64) string { return "member" + strconv.FormatInt(id, 10) }

// forumOf returns the number of a thread's forum. The numbers begin with 0.
func (f *Forum) forumOf(thread int64) int64 { return thread % f.Forums }

// at returns the time of a post in microseconds.
func (f *Forum) at(id int64) int64 {
	return began.Add(time.Duration(id) * 3 * time.Minute).UnixMicro()
}

// Sink stores the rows of a forum. SQLite and Postgres implement it.
type Sink interface {
	// posts adds a batch of posts.
	posts(ctx context.Context, f *Forum, batch []post) error
	// finish adds the rows that are known only at the end.
	finish(ctx context.Context, tables []table) error
}

// table holds rows of a database table.
type table struct {
	name    string
	columns []string
	rows    int64
	row     func(i int64) []any // returns row i, from 0
}

// postTables returns the rows of posts.
func (f *Forum) postTables(batch []post) []table {
	sorted := inThreads(batch) // in the order of the table, so that fewer pages are touched
	return []table{
		{
			"board_posts",
			[]string{
				"thread_id", "id", "number", "author_id", "author_name", "visibility", "message", "message_html",
				"render_version", "body_hash", "created_at",
			},
			int64(len(batch)), func(i int64) []any {
				p := &sorted[i]
				return []any{
					p.thread, p.id, p.number, p.author, Member(p.author), int64(0), p.message, p.html(), int64(1),
					p.hash(), f.at(p.id),
				}
			},
		},
		{
			"board_post_ids",
			[]string{"id", "thread_id", "forum_id", "author_id", "visibility", "created_at"},
			int64(len(batch)), func(i int64) []any {
				p := &batch[i]
				return []any{p.id, p.thread, First + f.forumOf(p.thread), p.author, int64(0), f.at(p.id)}
			},
		},
	}
}

// First is the id of the first generated forum. It is greater than the ids of the forums on a new board.
const First = 1000

// tables returns the rows of the tables that do not contain posts. The parameter registered is the id of the group of
// members.
func (f *Forum) tables(registered int64) []table {
	forums := make([]struct{ threads, posts, last, lastThread int64 }, f.Forums)
	for i, t := range f.states {
		total := &forums[f.forumOf(int64(i)+1)]
		total.threads++
		total.posts += t.posts
		if t.last > total.last {
			total.last, total.lastThread = t.last, int64(i)+1
		}
	}
	return []table{
		{
			"board_forums",
			[]string{
				"id", "path", "depth", "position", "type", "title", "slug", "thread_count", "post_count", "last_post_id",
				"last_thread_id", "last_post_at",
			},
			f.Forums, func(i int64) []any {
				id, n := First+i, strconv.FormatInt(i+1, 10)
				return []any{id, "/" + strconv.FormatInt(id, 10), int64(0), 100 + i, "forum", "Forum " + n, "forum-" +
					n, forums[i].threads, forums[i].posts, forums[i].last, forums[i].lastThread, f.at(forums[i].last)}
			},
		},
		{
			"board_users",
			[]string{"id", "username", "username_key", "email", "password_hash", "state", "post_count", "joined_at"},
			f.members, func(i int64) []any {
				name := Member(i + 1)
				return []any{i + 1, name, name, "", "", "active", f.written[i], began.UnixMicro()}
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
				"id", "forum_id", "title", "slug", "author_id", "author_name", "visibility", "reply_count", "view_count",
				"first_post_id", "last_post_id",
				"last_poster_name", "created_at", "last_post_at", "next_number",
			},
			int64(len(f.states)), func(i int64) []any {
				t, n := f.states[i], strconv.FormatInt(i+1, 10)
				return []any{
					i + 1, First + f.forumOf(i+1), "A question about the number " + n, "a-question-about-the-number-" + n, t.author,
					Member(t.author), int64(0),
					t.posts - 1, 7 * t.posts, t.first, t.last, Member(t.lastAuthor), f.at(t.first), f.at(t.last), t.posts + 1,
				}
			},
		},
	}
}

// Fill generates the forum and passes it to the sink. After each batch it calls progress with the number of posts that
// have been written so far.
func (f *Forum) Fill(ctx context.Context, registered int64, sink Sink, progress func(posts int64)) error {
	p := post{message: f.message()}
	if html := markup.Render(p.message); html != p.html() {
		return fmt.Errorf("the board renders the text of a post as %q", html)
	}
	batch := make([]post, 0, batchSize)
	for batch = f.more(batch); len(batch) > 0; batch = f.more(batch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := sink.posts(ctx, f, batch); err != nil {
			return err
		}
		progress(f.next - 1)
	}
	return sink.finish(ctx, f.tables(registered))
}

// inThreads returns a copy of a batch in the order of the key of board_posts.
func inThreads(batch []post) []post {
	sorted := slices.Clone(batch)
	slices.SortFunc(sorted, func(a, b post) int {
		if a.thread != b.thread {
			return int(a.thread - b.thread)
		}
		return int(a.id - b.id)
	})
	return sorted
}
