package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/bench/forum"
	"github.com/tollgate-gateway/tollgate/bench/process"
)

const (
	boardGets     = 1000 // GET requests of each kind
	boardWriters  = 16   // members who write at the same time
	boardReplies  = 100  // replies per writer and round
	boardRounds   = 6    // further rounds, during which background work becomes due
	boardSearches = 100  // searches of each kind
)

// boardClient sends requests to a board without a network.
type boardClient struct {
	forum   *forum.Forum
	service *board.Server
	api     *api.API
	tokens  []string // the tokens of the writers
	random  *rand.Rand
}

// newBoardClient returns a client with a token for each writer. Its method close revokes the tokens.
func newBoardClient(ctx context.Context, f *forum.Forum, service *board.Server) (*boardClient, error) {
	c := &boardClient{forum: f, service: service, api: service.API(), random: rand.New(rand.NewPCG(3, 5))} //nolint:gosec // G404: not a secret
	for w := range boardWriters {
		token, err := service.Accounts.IssueToken(ctx,
			accounts.TokenRequest{User: forum.Member(int64(w) + 1), Name: "bench", Scopes: rights.Scopes, Days: 1})
		if err != nil {
			return nil, fmt.Errorf("making a token: %w", err)
		}
		c.tokens = append(c.tokens, token)
	}
	return c, nil
}

// close revokes the tokens, because members may have only a few and the board may be used again.
func (c *boardClient) close(ctx context.Context) error {
	var failed error
	for _, token := range c.tokens {
		failed = errors.Join(failed, c.service.Accounts.RevokeToken(ctx, token))
	}
	return failed
}

// do authenticates and serves a request in the way that api_auth and the handler do, and stores the response in answer.
// If token is empty, the request is that of a guest.
func (c *boardClient) do(ctx context.Context, answer *boardAnswer, token, method, path, body string) error {
	var text io.Reader
	if body != "" {
		text = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, kernel.Mount+path, text)
	if err != nil {
		return err
	}
	var actor *rights.Actor
	if token == "" {
		actor, err = c.service.Rights.Guest(ctx)
	} else {
		actor, err = c.service.Accounts.Authenticate(ctx, token)
	}
	if err != nil {
		return err
	}
	*answer = boardAnswer{header: make(http.Header), body: answer.body[:0]}
	if err := c.api.Serve(answer, r, actor); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if answer.status >= 300 || !strings.HasPrefix(string(answer.body), `{"data":`) {
		return fmt.Errorf("%s %s: status %d: %.300s", method, path, answer.status, answer.body)
	}
	return nil
}

// boardAnswer is an http.ResponseWriter that keeps the response.
type boardAnswer struct {
	header http.Header
	status int
	body   []byte
}

func (a *boardAnswer) Header() http.Header    { return a.header }
func (a *boardAnswer) WriteHeader(status int) { a.status = status }
func (a *boardAnswer) Write(b []byte) (int, error) {
	a.body = append(a.body, b...)
	return len(b), nil
}

// spell holds the durations of requests of the same kind.
type spell struct {
	took []time.Duration // the durations, sorted
	cpu  time.Duration   // the CPU time per request
}

// ms returns the duration, in milliseconds, that the given percentage of the requests did not exceed.
func (s *spell) ms(percent int) float64 {
	return float64(s.took[min(len(s.took)-1, len(s.took)*percent/100)].Microseconds()) / 1000
}

// spellOf returns a spell with the given durations, in sorted order.
func spellOf(took []time.Duration) *spell {
	return &spell{took: slices.Sorted(slices.Values(took))}
}

// unevenness returns the longest duration relative to the median.
func (s *spell) unevenness() float64 { return s.ms(100) / s.ms(50) }

// hundreds returns the unevenness of each group of a hundred consecutive requests, in sorted order.
func hundreds(took []time.Duration) []float64 {
	var list []float64
	for hundred := range slices.Chunk(took, 100) {
		list = append(list, spellOf(hundred).unevenness())
	}
	slices.Sort(list)
	return list
}

// perCore returns the number of requests that one core answers per second.
func (s *spell) perCore() float64 { return float64(time.Second) / float64(s.cpu) }

// measure sends requests one after the other, and returns their durations. Before that it sends the same number of
// requests to warm up.
func (c *boardClient) measure(ctx context.Context, token string, path func() string) (*spell, error) {
	var s spell
	var answer boardAnswer
	for _, warm := range []bool{true, false} {
		s.took = s.took[:0]
		initialCPU, err := process.CPU(os.Getpid())
		if err != nil {
			return nil, err
		}
		for range boardGets {
			target := path()
			began := time.Now()
			if err := c.do(ctx, &answer, token, http.MethodGet, target, ""); err != nil {
				return nil, err
			}
			s.took = append(s.took, time.Since(began))
		}
		finalCPU, err := process.CPU(os.Getpid())
		if err != nil {
			return nil, err
		}
		if !warm {
			s.cpu = (finalCPU - initialCPU) / boardGets
		}
	}
	slices.Sort(s.took)
	return &s, nil
}

// ask measures the requests of readers.
func (c *boardClient) ask(ctx context.Context) ([]line, error) {
	cursors, err := c.cursors(ctx)
	if err != nil {
		return nil, err
	}
	list := func() string { return fmt.Sprintf("/forums/%d/threads", forum.First+c.random.Int64N(c.forum.Forums)) }
	deepList := func() string {
		return fmt.Sprintf("/forums/%d/threads?after=%s", forum.First, cursors[c.random.IntN(len(cursors))])
	}
	long := "/threads/" + strconv.Itoa(forum.LongThread) + "/posts?after="
	firstPage := func() string { return long + "0" }
	deepPage := func() string { return long + strconv.FormatInt(c.random.Int64N(c.forum.Posts*9/10), 10) }
	anyThread := func() string { return fmt.Sprintf("/threads/%d/posts", 1+c.random.Int64N(c.forum.Threads)) }
	spells := make(map[string]*spell)
	for _, kind := range []struct {
		name, token string
		path        func() string
	}{
		{"list", "", list},
		{"list of a member", c.tokens[0], list},
		{"deep list", "", deepList},
		{"first page", "", firstPage},
		{"deep page", "", deepPage},
		{"any thread", "", anyThread},
	} {
		if spells[kind.name], err = c.measure(ctx, kind.token, kind.path); err != nil {
			return nil, err
		}
	}
	const rate, listLimit, pageLimit, maxRatio = 6000, 5, 10, 1.5
	perCore := spells["list"].perCore()
	ratio := spells["deep page"].ms(50) / spells["first page"].ms(50)
	times := func(label, kind string, limit float64) []line {
		s := spells[kind]
		last := line{label: "ms, p99 of " + label, tollgate: number(s.ms(99))}
		if limit > 0 {
			last = below(last.label, s.ms(99), limit)
		}
		return []line{{label: "ms, p50 of " + label, tollgate: number(s.ms(50))}, last}
	}
	return slices.Concat(
		[]line{
			{
				label: "GET/s a core, 25 threads of a forum, guest", tollgate: number(perCore), aim: fmt.Sprint(">= ", rate),
				met: perCore >= rate,
			},
			{label: "GET/s a core, the same by a token", tollgate: number(spells["list of a member"].perCore())},
			{label: "GET/s a core, 25 posts deep in a thread", tollgate: number(spells["deep page"].perCore())},
		},
		times("a thread list", "list", listLimit),
		times("a deep thread list", "deep list", listLimit),
		times("the first page of the long thread", "first page", pageLimit),
		times("a page deep in it", "deep page", pageLimit),
		times("the first page of any thread", "any thread", pageLimit),
		[]line{{
			label: "ratio of deep to first page, p50", ratio: number(ratio), aim: fmt.Sprint("<= ", maxRatio),
			met: ratio <= maxRatio,
		}},
	), nil
}

// cursors walks through the threads of the first forum and returns the cursors of their pages.
func (c *boardClient) cursors(ctx context.Context) (list []string, err error) {
	var answer boardAnswer
	query := ""
	for range forum.ThreadsOfForum / 100 {
		if err := c.do(ctx, &answer, "", http.MethodGet, fmt.Sprintf("/forums/%d/threads?limit=100%s", forum.First, query),
			""); err != nil {
			return nil, err
		}
		cursor := gjson.GetBytes(answer.body, "nextCursor").String()
		if cursor == "" {
			break
		}
		list = append(list, cursor)
		query = "&after=" + cursor
	}
	if len(list) == 0 {
		return nil, errors.New("the first forum has one page only")
	}
	return list, nil
}

// search measures searches for words that few, some and most posts contain.
func (c *boardClient) search(ctx context.Context) (lines []line, err error) {
	for _, kind := range []struct {
		label string
		query func() string
	}{
		{"a rare word", func() string { return forum.Word(forum.Vocabulary/2 + c.random.IntN(forum.Vocabulary/2)) }},
		{"two words of some posts", func() string {
			return forum.Word(200+c.random.IntN(800)) + "+" +
				forum.Word(200+c.random.IntN(800))
		}},
		{"two words of most posts", func() string {
			return forum.Word(c.random.IntN(20)) + "+" +
				forum.Word(c.random.IntN(20))
		}},
	} {
		took := make([]time.Duration, 0, boardSearches)
		var answer boardAnswer
		for range cap(took) {
			began := time.Now()
			if err := c.do(ctx, &answer, "", http.MethodGet, "/search?q="+kind.query(), ""); err != nil {
				return nil, err
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		s := spell{took: took}
		lines = append(lines, line{label: "ms, p50 of a search for " + kind.label, tollgate: number(s.ms(50))},
			line{label: "ms, p99 of the same", tollgate: number(s.ms(99))})
	}
	return lines, nil
}

// reply measures how long members wait for their replies when they write at the same time, in different threads and in
// the long thread.
//
// The first reply of each member is measured separately, because these replies all go to the long thread at once, over
// new connections. The first round is also measured separately, because in it the server prepares the statements of its
// connections. The result of a round is how many times longer the slowest reply took than the median reply. Further
// rounds follow, and the worst of them is reported too. In one of them PostgreSQL merges the words of some thousand
// posts into their index, which the earlier rounds would not show.
func (c *boardClient) reply(ctx context.Context) ([]line, error) {
	first, err := c.replies(ctx, 1)
	if err != nil {
		return nil, err
	}
	fresh, err := c.replies(ctx, boardReplies)
	if err != nil {
		return nil, err
	}
	initialCPU, err := process.CPU(os.Getpid())
	if err != nil {
		return nil, err
	}
	began := time.Now()
	took, err := c.replies(ctx, boardReplies)
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(began)
	finalCPU, err := process.CPU(os.Getpid())
	if err != nil {
		return nil, err
	}
	s := spellOf(took)
	const steady = 5
	slowest, slowestFresh := s.unevenness(), spellOf(fresh).unevenness()
	all, worst := slices.Concat(fresh, took), 0.0
	for range boardRounds {
		more, err := c.replies(ctx, boardReplies)
		if err != nil {
			return nil, err
		}
		all, worst = append(all, more...), max(worst, spellOf(more).unevenness())
	}
	ofHundred := hundreds(all)
	usual := ofHundred[len(ofHundred)/2]
	return []line{
		{
			label:    fmt.Sprintf("replies/s of %d members at a time", boardWriters),
			tollgate: number(float64(len(took)) / elapsed.Seconds()),
		},
		{
			label:    "ms of CPU a reply",
			tollgate: number(float64((finalCPU - initialCPU).Microseconds()) / 1000 / float64(len(took))),
		},
		{label: "ms, p50 of a reply until it is durable", tollgate: number(s.ms(50))},
		below("ms, p99 of the same", s.ms(99), 20),
		{label: "ms, the slowest of them", tollgate: number(s.ms(100))},
		{
			label: "ratio of the slowest to the p50", ratio: number(slowest), aim: fmt.Sprint("<= ", steady),
			met: slowest <= steady,
		},
		{
			label: "ratio of the slowest to the p50, in the round before", ratio: number(slowestFresh),
			aim: fmt.Sprint("<= ", steady), met: slowestFresh <= steady,
		},
		{
			label: fmt.Sprintf("ratio of the slowest to the p50, in the worst of %d rounds more", boardRounds),
			ratio: number(worst), aim: fmt.Sprint("<= ", steady), met: worst <= steady,
		},
		{
			label: "ratio of the slowest of 100 to their p50, in half of the hundreds", ratio: number(usual),
			aim: fmt.Sprint("<= ", steady), met: usual <= steady,
		},
		{label: "the same, in the most uneven hundred", ratio: number(ofHundred[len(ofHundred)-1])},
		{label: "ms, the slowest of the first, all at once in one thread", tollgate: number(spellOf(first).ms(100))},
	}, nil
}

// replies makes every member send count replies. The first reply and every tenth reply after it go to the long thread.
// replies returns the durations of all replies, in the order in which they were answered.
func (c *boardClient) replies(ctx context.Context, count int) ([]time.Duration, error) {
	var (
		mu      sync.Mutex
		took    []time.Duration
		failed  error
		writers sync.WaitGroup
	)
	run := strconv.FormatInt(time.Now().UnixNano(), 36) // the board refuses the same text twice
	for w, token := range c.tokens {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1)) //nolint:gosec // G404: not a secret
			var answer boardAnswer
			var err error
			for i := 0; i < count && err == nil; i++ {
				thread := int64(forum.LongThread)
				if i%10 != 0 {
					thread = 1 + random.Int64N(c.forum.Threads)
				}
				start := random.IntN(len(c.forum.Text) - 2*forum.PostBytes)
				body := fmt.Sprintf(`{"message":"%s %d %d %s"}`, run, w, i, c.forum.Text[start:start+forum.PostBytes])
				startTime := time.Now()
				err = c.do(ctx, &answer, token, http.MethodPost, fmt.Sprintf("/threads/%d/posts", thread), body)
				length := time.Since(startTime)
				mu.Lock()
				took = append(took, length)
				mu.Unlock()
			}
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	writers.Wait()
	return took, failed
}
