package seed

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/markup"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/backends/board/tags"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	// A transaction ends when it has added SeedThreads threads or seedPosts posts. A thread is never split.
	SeedThreads = 500
	seedPosts   = 2000

	maxSeedPosts = 100_000 // the maximum number of posts in one thread
)

// readyThread is a thread of a fixture, checked and rendered by prepare.
type readyThread struct {
	SeedThread
	place

	slug  string
	posts []readyPost
}

// readyPost is a post of a fixture, checked and rendered by preparePost.
type readyPost struct {
	SeedPost

	html, hash string
	created    kernel.Moment
	visibility int64
}

// threadBatch holds threads that are added in one transaction.
type threadBatch struct {
	threads []readyThread
	last    place   // the last element that was read
	refused []error // of elements that are left out
	err     error   // the error that ends the fixture after this batch
}

// wrap returns an error whose text consists of the position and the title of the thread, followed by the text of err.
func (t *readyThread) wrap(err error) error {
	if t.Moved != nil {
		return &MovedError{content.MovedThread, t.Moved.ID, t.Title, err}
	}
	return fmt.Errorf("line %d, element %d, thread %q: %w", t.line, t.number, t.Title, err)
}

// threadSource supplies the threads to load.
type threadSource interface {
	// more reports whether next will return another thread.
	more() bool
	// next reads the next thread and sets position to the position of the thread. t is nil if an earlier run has loaded
	// the thread, or if the thread is refused. In the latter case, refused is the reason. If err is not nil, no further
	// threads can be read.
	next(position *place) (t *SeedThread, refused, err error)
}

// fixtureThreads implements threadSource for the threads of a fixture.
type fixtureThreads struct {
	sd *seeder
	d  *json.Decoder
}

// more implements threadSource.
func (f fixtureThreads) more() bool { return f.d.More() }

// next implements threadSource.
func (f fixtureThreads) next(position *place) (t *SeedThread, refused, err error) {
	raw, err := f.sd.next(f.d, position)
	if err != nil || position.number <= f.sd.done[partThreads] {
		return nil, nil, err
	}
	t = new(SeedThread)
	if err := decode(raw, t); err != nil {
		return nil, (&readyThread{SeedThread: *t, place: *position}).wrap(err), nil
	}
	return t, nil, nil
}

// threads loads the threads of a fixture.
func (sd *seeder) threads(d *json.Decoder) error {
	if err := expect(d, '['); err != nil {
		return err
	}
	if err := sd.loadThreads(fixtureThreads{sd, d}); err != nil {
		return err
	}
	return expect(d, ']')
}

// loadThreads loads the threads of source. A second goroutine reads and renders the next batch while the calling
// goroutine writes the previous batch.
func (sd *seeder) loadThreads(source threadSource) error {
	batches := make(chan threadBatch, 1)
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(batches)
		var position place
		for source.more() {
			batch := sd.readThreads(source, position)
			position = batch.last
			select {
			case batches <- batch:
			case <-stop:
				return
			}
			if batch.err != nil {
				return
			}
		}
	})
	// Deferred calls run in reverse order: the reader is told to stop, and then awaited.
	defer reader.Wait()
	defer close(stop)
	posts := 0
	for batch := range batches {
		for _, err := range batch.refused {
			if err := sd.refuse(err); err != nil {
				return err
			}
		}
		if len(batch.threads) > 0 {
			n, err := sd.writeThreads(batch.threads)
			if err != nil {
				return err
			}
			posts += n
			sd.progress(partThreads, batch.last.number)
			sd.progress("posts", posts)
		}
		if batch.err != nil {
			return batch.err
		}
	}
	return nil
}

// writeThreads adds a batch of threads and returns how many posts were added.
func (sd *seeder) writeThreads(threads []readyThread) (posts int, err error) {
	err = sd.load(0, len(threads), func(start, end int) error {
		err := sd.service.Write(sd.ctx, func(c store.Conn) error {
			if err := sd.addThreads(c, threads[start:end]); err != nil {
				return err
			}
			return sd.note(c, partThreads, threads[end-1].number)
		})
		if err == nil {
			posts += countPosts(threads[start:end])
		}
		return err
	})
	return posts, err
}

// countPosts returns the number of all posts of threads.
func countPosts(threads []readyThread) (n int) {
	for i := range threads {
		n += len(threads[i].posts)
	}
	return n
}

// readThreads reads the batch of threads that follows position in source, and prepares them in parallel. It skips
// threads that earlier runs have loaded.
func (sd *seeder) readThreads(source threadSource, position place) (b threadBatch) {
	b.last = position
	for posts := 0; source.more() && len(b.threads) < SeedThreads && posts < seedPosts; {
		t, refused, err := source.next(&b.last)
		if err != nil {
			b.err = err
			break
		}
		if refused != nil {
			b.refused = append(b.refused, refused)
		}
		if t == nil {
			continue
		}
		b.threads = append(b.threads, readyThread{SeedThread: *t, place: b.last})
		posts += len(t.Posts)
	}
	errs := make([]error, len(b.threads)) // why threads are refused
	var workers sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				errs[i] = b.threads[i].prepare(sd.service.Moment())
			}
		})
	}
	for i := range b.threads {
		next <- i
	}
	close(next)
	workers.Wait()
	valid := b.threads[:0]
	for i := range b.threads {
		if errs[i] != nil {
			b.refused = append(b.refused, b.threads[i].wrap(errs[i]))
			continue
		}
		valid = append(valid, b.threads[i])
	}
	b.threads = valid
	return b
}

// prepare checks a thread and its posts by the rules of a new board, and renders the posts. Posts without a time get
// now.
func (t *readyThread) prepare(now kernel.Moment) (err error) {
	if t.Moved != nil {
		if err := t.Moved.Convert(&t.SeedThread); err != nil {
			return err
		}
	}
	if len(t.Posts) == 0 || len(t.Posts) > maxSeedPosts {
		return fmt.Errorf("a thread has 1 to %d posts", maxSeedPosts)
	}
	checkTitle, checkMessage := kernel.SeedRules.CheckTitle, kernel.SeedRules.CheckMessage
	if t.Moved != nil {
		checkTitle, checkMessage = t.Moved.checkTitle, checkMoved
	}
	if t.Title, err = checkTitle(t.Title); err != nil {
		return err
	}
	t.slug = kernel.Slug(t.Title)
	t.posts = make([]readyPost, len(t.Posts))
	for i, sp := range t.Posts {
		if t.posts[i], err = preparePost(sp, checkMessage, now); err != nil {
			return fmt.Errorf("post %d: %w", i+1, err)
		}
	}
	t.Posts = nil
	return nil
}

// preparePost checks and renders a post. check normalizes its text or returns an error. A post without a time gets now.
func preparePost(sp SeedPost, check func(string) (string, error), now kernel.Moment) (p readyPost, err error) {
	switch {
	case sp.Moved == 0 && (sp.Author == "") == (sp.Guest == ""):
		return p, errors.New("it must have either an author or a guest")
	case utf8.RuneCountInString(sp.Guest) > 40 || !text.IsLine(sp.Guest+sp.EditedBy+sp.EditReason):
		return p, errors.New("a name has at most 40 characters, and names and reasons have no control characters")
	}
	if sp.Message, err = check(sp.Message); err != nil {
		return p, err
	}
	p = readyPost{SeedPost: sp, html: markup.Render(sp.Message), hash: posts.BodyHash(sp.Message), created: now}
	if !sp.At.IsZero() {
		p.created = kernel.MomentOf(sp.At)
	}
	word := cmp.Or(sp.Visibility, rights.VisibilityNames[rights.Visible])
	p.visibility = int64(slices.Index(rights.VisibilityNames[:], word))
	if p.visibility < 0 {
		return p, fmt.Errorf("unknown visibility %q", word)
	}
	return p, nil
}

// addThreads adds a batch of threads with their posts, and updates the search index and the counters.
func (sd *seeder) addThreads(c store.Conn, list []readyThread) error {
	threadIDs, err := reserve(c, "board_threads", len(list))
	if err != nil {
		return err
	}
	postIDs, err := reserve(c, "board_post_ids", countPosts(list)) // of the posts of all threads, in their order
	if err != nil {
		return err
	}
	rows := newThreadRows(c.Dialect())
	for i := range list {
		t := &list[i]
		if err := sd.collectThread(c, rows, t, threadIDs[i], postIDs[:len(t.posts)]); err != nil {
			return t.wrap(err)
		}
		postIDs = postIDs[len(t.posts):]
	}
	if err := rows.insert(c); err != nil {
		return err
	}
	for i, id := range threadIDs {
		if t := list[i].Moved; t != nil {
			if err := tags.Import(c, id, t.Tags); err != nil {
				return err
			}
		}
	}
	return rows.counts.write(c)
}

// threadRows collects the rows of a batch of threads, by their tables, and what the batch adds to the counters.
type threadRows struct {
	threads, ids, posts, moved, words, likes, likeCounts bulk

	counts seedCounts
}

// newThreadRows returns a threadRows without rows.
func newThreadRows(d store.Dialect) *threadRows {
	return &threadRows{
		threads: bulk{
			"INSERT INTO board_threads (id, forum_id, title, slug, author_id, author_name, prefix_id," +
				" visibility, is_sticky, is_locked, reply_count, view_count," +
				" first_post_id, last_post_id, last_poster_name, created_at, last_post_at, next_number) VALUES ",
			placeholders(18), nil,
		},
		ids: bulk{"INSERT INTO board_post_ids (id, thread_id, forum_id, author_id, visibility, held_reason," +
			" created_at) VALUES ", placeholders(7), nil},
		posts: bulk{"INSERT INTO board_posts (thread_id, id, number, author_id, author_name, visibility, message," +
			" message_html, render_version, body_hash, created_at," +
			" edited_at, edited_by, edit_reason, edit_count) VALUES ", placeholders(15), nil},
		moved:      bulk{content.InsertMoved, content.InsertMovedRow, nil},
		words:      bulk{search.IndexRows(d) + "VALUES ", search.IndexRow(d), nil},
		likes:      bulk{"INSERT INTO board_reactions (post_id, user_id, kind, created_at) VALUES ", placeholders(4), nil},
		likeCounts: bulk{"INSERT INTO board_reaction_counts (post_id, kind, n) VALUES ", placeholders(3), nil},
		counts:     seedCounts{make(map[int64]forumCount), make(map[int64]userCount), make(map[memberForum]int64)},
	}
}

// insert inserts the collected rows, threads before their posts.
func (r *threadRows) insert(c store.Conn) error {
	for _, rows := range []*bulk{&r.threads, &r.ids, &r.posts, &r.moved, &r.words, &r.likes, &r.likeCounts} {
		if err := rows.insert(c); err != nil {
			return err
		}
	}
	return nil
}

// collectThread adds the rows of a thread and of its posts. id becomes the id of the thread, and the ids in posts
// become the ids of its posts.
func (sd *seeder) collectThread(c store.Conn, rows *threadRows, t *readyThread, id int64, posts []int64) error {
	forum, err := sd.forumOf(c, t)
	if err != nil {
		return err
	}
	prefix, err := sd.prefixID(c, t.Prefix)
	if err != nil {
		return err
	}
	row := content.Thread{ID: id, Forum: forum, Visibility: t.posts[0].visibility, First: posts[0]}
	for n, post := range posts {
		if err := sd.collectPost(c, rows, t, &row, n, post); err != nil {
			return fmt.Errorf("post %d: %w", n+1, err)
		}
	}
	if t.Moved != nil {
		rows.moved.add(sd.program, content.MovedThread, t.Moved.ID, id)
	}
	rows.counts.addThread(&row)
	rows.threads.add(id, forum, t.Title, t.slug, kernel.Null(row.Author), row.AuthorName, kernel.Null(prefix),
		row.Visibility, kernel.Bool(t.Sticky), kernel.Bool(t.Locked), row.Replies, t.Views,
		row.First, row.Last, row.LastPoster, row.Created, row.LastAt, len(t.posts)+1)
	return nil
}

// collectPost adds the rows of the n-th post of a thread, starting at 0. id becomes the id of the post. collectPost
// also updates row, the row of the thread.
func (sd *seeder) collectPost(
	c store.Conn, rows *threadRows, t *readyThread, row *content.Thread, n int, id int64,
) error {
	p := &t.posts[n]
	writer, err := sd.author(c, p.SeedPost)
	if err != nil {
		return err
	}
	countPost(row, p, id, n, writer)
	rows.counts.addPost(row, p, writer)
	if p.Moved != 0 {
		rows.moved.add(sd.program, content.MovedPost, p.Moved, id)
		// Old URLs with the number of a post need a row only if the number has changed.
		if place := content.MovedPlaceID(t.Moved.ID, p.MovedNumber); place != 0 && p.MovedNumber != int64(n+1) {
			rows.moved.add(sd.program, content.MovedPlace, place, id)
		}
	}
	if err := sd.addLikes(c, p, id, &rows.likes, &rows.likeCounts); err != nil {
		return err
	}
	title := "" // the search index has the title with the first post
	if n == 0 {
		title = t.Title
	}
	held := sql.NullString{String: "seeded", Valid: p.visibility == rights.Unapproved}
	edits := kernel.Bool(!p.EditedAt.IsZero())
	rows.ids.add(id, row.ID, row.Forum, kernel.Null(writer.id), p.visibility, held, p.created)
	rows.posts.add(row.ID, id, n+1, kernel.Null(writer.id), writer.name, p.visibility, p.Message, p.html,
		markup.Version, p.hash, p.created, nullTime(p.EditedAt), nullText(p.EditedBy, writer.name, edits == 1),
		nullText(p.EditReason, "", p.EditReason != ""), edits)
	rows.words.add(search.IndexValues(c.Dialect(), id, title, p.Message)...)
	return nil
}

// countPost updates those fields of thread t that depend on its posts. id is the id of the thread's n-th post
// (starting at 0), and postAuthor is the author of that post.
func countPost(t *content.Thread, p *readyPost, id int64, n int, postAuthor author) {
	if n == 0 {
		t.Author, t.AuthorName, t.Created = postAuthor.id, postAuthor.name, p.created
	}
	if n > 0 && p.visibility != rights.Visible { // a hidden reply is not counted
		return
	}
	t.Replies += int64(kernel.Bool(n > 0))
	t.Last, t.LastPoster, t.LastAt = id, postAuthor.name, max(t.LastAt, p.created)
}

// forumOf returns the id of the thread's forum.
func (sd *seeder) forumOf(c store.Conn, t *readyThread) (int64, error) {
	if t.Moved == nil {
		return sd.forumID(c, t.Forum)
	}
	if id := sd.movedForums[t.Moved.Forum]; id != 0 {
		return id, nil
	}
	return 0, fmt.Errorf("its forum %d was not imported", t.Moved.Forum)
}

// forumID returns the id of the forum with this slug, from a cache if possible.
func (sd *seeder) forumID(c store.Conn, slug string) (int64, error) {
	if id := sd.forums[slug]; id != 0 {
		return id, nil
	}
	id, err := forumNamed(c, slug)
	if err == nil && id == 0 {
		err = errors.New("a thread needs a forum")
	}
	sd.forums[slug] = id
	return id, err
}

// prefixID returns the id of the prefix with this label, from a cache if possible, or 0 for an empty label.
func (sd *seeder) prefixID(c store.Conn, label string) (int64, error) {
	if id := sd.prefixes[label]; id != 0 {
		return id, nil
	}
	id, err := find(c, "prefix", "SELECT id FROM board_prefixes WHERE label = ?", label)
	sd.prefixes[label] = id
	return id, err
}

// author returns the author of a post. It caches members by their names in the fixture.
func (sd *seeder) author(c store.Conn, p SeedPost) (author, error) {
	if p.Moved != 0 {
		return sd.movedAuthor(c, p)
	}
	if p.Guest != "" {
		return author{name: p.Guest}, nil
	}
	if member, ok := sd.users[p.Author]; ok {
		return member, nil
	}
	var member author
	err := c.Row("SELECT id, username FROM board_users WHERE username_key = ?", text.Fold(p.Author)).
		Scan(&member.id, &member.name)
	if errors.Is(err, sql.ErrNoRows) {
		return member, fmt.Errorf("there is no user %q", p.Author)
	}
	if err == nil {
		sd.users[p.Author] = member
	}
	return member, err
}
