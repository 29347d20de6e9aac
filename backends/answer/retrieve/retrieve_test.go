package retrieve_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

const table = "Results (in millions)\n\n|  | 2019 | 2018 |\n|---|---|---|\n| Net sales | $%d | $%d |\n| Cost of sales | 70 | 60 |\n| Gross profit | 30 | 20 |"

// fill takes in three years of two issuers, and news.
func fill(t *testing.T, k answertest.Kernel) (*corpus.Corpus, map[string]int64) {
	t.Helper()
	c := corpus.New(k.Server)
	put := func(s fileformat.Source) {
		t.Helper()
		if _, err := c.Put(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"Wexlermere Inc.", "Brantpoint Industries"} {
		for year := 2016; year <= 2019; year++ {
			pages := []fileformat.Page{
				{Number: 1, Text: "Overview\n\nWe make pumps and valves in fiscal " + fmt.Sprint(year) + ". Demand for pumps grew."},
				{Number: 2, Text: fmt.Sprintf(strings.ReplaceAll(strings.ReplaceAll(table, "2018", fmt.Sprint(year-1)), "2019", fmt.Sprint(year)), 100*i+year, 100*i+year-1)},
				{Number: 3, Text: "Employees\n\nWe had " + fmt.Sprint(1000+year) + " employees. None of them is covered by an agreement."},
				{Number: 4, Text: "Dividends\n\nThe board declared a dividend of $0." + fmt.Sprint(year-2000) + " per share."},
			}
			put(fileformat.Source{
				Title: name + " annual report " + fmt.Sprint(year), URL: fmt.Sprintf("https://a.example/%d/%d", i, year), Fiscal: fmt.Sprint("FY", year),
				Issuer: fileformat.Company{Name: name}, Pages: pages,
			})
		}
	}
	for i, day := range []string{"2026-03-01", "2025-03-01"} {
		date, _ := kernel.ParseDay(day)
		put(fileformat.Source{
			Kind: kernel.News, Title: "Central bank decision", URL: fmt.Sprintf("https://a.example/news/%d", i), Published: date.Time(),
			Pages: []fileformat.Page{{Text: "The central bank left its rate at " + fmt.Sprint(4+i) + " per cent, saying that inflation was near target in " + day[:4] + "."}},
		})
	}
	issuers, _, err := c.Issuers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := make(map[string]int64)
	for id, issuer := range issuers {
		ids[strings.Fields(issuer.Name)[0]] = id
	}
	return c, ids
}

func TestSearch(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c, ids := fill(t, k)
		r := retrieve.New(c, retrieve.Options{})
		wexlermere := kernel.Filters{Issuers: []int64{ids["Wexlermere"]}}
		search := func(q retrieve.Query) retrieve.Result {
			t.Helper()
			result, err := r.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			return result
		}
		years := func(r retrieve.Result) (list []int) {
			for _, p := range r.Passages {
				if !slices.Contains(list, p.Period.Year) {
					list = append(list, p.Period.Year)
				}
			}
			slices.Sort(list)
			return list
		}

		f := wexlermere
		f.Periods = []kernel.Period{{Year: 2019}}
		got := search(retrieve.Query{Text: "What were the total revenues in 2019?", Filters: f})
		// Two passages fit; those of other years come behind them.
		if len(got.Passages) < 3 || !slices.Equal(got.Dropped, []string{"period"}) || got.Passages[0].Page != 2 || got.Passages[0].Period.Year != 2019 || !got.Passages[0].Table ||
			got.Passages[1].Period.Year != 2018 {
			t.Errorf("%+v", got)
		}
		for _, p := range got.Passages {
			if p.Issuer != ids["Wexlermere"] {
				t.Errorf("a passage of another issuer: %+v", p)
			}
		}
		if len(got.Facts) != 1 || got.Facts[0].Figure.Value != 2019e6 || got.Facts[0].Metric != "revenue" {
			t.Errorf("facts %+v", got.Facts)
		}

		// Of three reports with the year asked for, its own comes first.
		f.Periods = []kernel.Period{{Year: 2018}}
		got = search(retrieve.Query{Text: "What was the cost of sales in 2018?", Filters: f})
		if len(got.Passages) < 3 || len(got.Dropped) > 0 || got.Passages[0].Page != 2 || got.Passages[0].Period.Year != 2018 {
			t.Errorf("%+v", got)
		}

		f.Periods = []kernel.Period{{Year: 2012}}
		got = search(retrieve.Query{Text: "How many employees were there?", Filters: f})
		if !slices.Equal(got.Dropped, []string{"period"}) || len(got.Passages) < 3 || got.Passages[0].Page != 3 {
			t.Errorf("%+v", got)
		}
		if got = search(retrieve.Query{Text: "How many employees were there?", Filters: f, Wide: true}); len(got.Dropped) > 0 || got.Passages[0].Page != 3 {
			t.Errorf("%+v", got)
		}
		if got = search(retrieve.Query{Text: "dividend per share", Filters: wexlermere, Limit: 3, MaxTokens: 30}); len(got.Passages) == 0 || len(got.Passages) > 1 {
			t.Errorf("%+v", got.Passages)
		}

		// Without an issuer the index proposes; the later of two like reports comes first.
		got = search(retrieve.Query{Text: "What is the rate of the central bank?"})
		if len(got.Passages) < 2 || got.Passages[0].URL != "https://a.example/news/0" || got.Passages[1].URL != "https://a.example/news/1" {
			t.Errorf("%+v", got.Passages)
		}
		got = search(retrieve.Query{Text: "pumps and valves", Filters: kernel.Filters{Periods: []kernel.Period{{Year: 2017}}}})
		if y := years(got); !slices.Equal(y, []int{2016, 2017, 2018}) {
			t.Errorf("years %v", y)
		}
		for _, nothing := range []string{"", "what is the", "zyzzyva quokka", `" AND ( * : ^ 'x`, "x&y 3.14 n-m"} {
			if got, err := r.Search(t.Context(), retrieve.Query{Text: nothing}); err != nil || len(got.Passages) > 0 {
				t.Errorf("%q: %+v, %v", nothing, got, err)
			}
		}
	})
}

// web is a provider with two pages and one without an address, or a fault.
type web struct{ err error }

func (w web) Search(context.Context, string, int) ([]retrieve.WebPage, error) {
	return []retrieve.WebPage{
		{Title: "Pumps today", URL: "https://b.example/pumps", Text: "Makers of pumps see demand.", Published: time.Unix(0, 0)},
		{Title: "Pumps tomorrow", URL: "https://b.example/tomorrow", Text: "Next year, demand for pumps may fall."},
		{Title: "No address", URL: "nowhere", Text: "Pumps."},
	}, w.err
}

// TestWeb checks that the passages of all pages are found beside those of the corpus, and that a fault is no error.
func TestWeb(t *testing.T) {
	t.Parallel()
	c, _ := fill(t, answertest.SQLite(t))
	for _, fault := range []error{nil, errors.New("down")} {
		got, err := retrieve.New(c, retrieve.Options{Web: web{fault}}).Search(t.Context(), retrieve.Query{Text: "demand for pumps"})
		if err != nil {
			t.Fatal(err)
		}
		var pages []string
		for _, p := range got.Passages {
			if p.Kind == kernel.Web {
				pages = append(pages, p.URL)
			}
		}
		slices.Sort(pages)
		want := []string{"https://b.example/pumps", "https://b.example/tomorrow"}
		if fault != nil {
			want = nil
		}
		if !slices.Equal(pages, want) || len(got.Passages) < 3 {
			t.Errorf("with the fault %v, Search returned %+v", fault, got.Passages)
		}
	}
}

// meaning is an embedder whose vectors say only whether a text is about people.
type meaning struct{}

func (meaning) Model() string { return "people" }

func (meaning) Embed(_ context.Context, texts []string) (all [][]float32, err error) {
	for _, text := range texts {
		if strings.Contains(text, "employees") || strings.Contains(text, "staff") {
			all = append(all, []float32{1, 0.1})
		} else {
			all = append(all, []float32{0.1, 1})
		}
	}
	return all, nil
}

func TestDense(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c, ids := fill(t, k)
		vectors, err := c.Embed(t.Context(), meaning{}, nil)
		if err != nil || vectors != 34 {
			t.Fatal(vectors, err)
		}
		if newVectors, err := c.Embed(t.Context(), meaning{}, nil); err != nil || newVectors != 0 {
			t.Error(newVectors, err)
		}
		f := kernel.Filters{Issuers: []int64{ids["Brantpoint"]}, Periods: []kernel.Period{{Year: 2016}}}
		got, err := retrieve.New(c, retrieve.Options{Dense: meaning{}}).Search(t.Context(), retrieve.Query{Text: "size of the staff", Filters: f})
		if err != nil || len(got.Passages) == 0 || got.Passages[0].Page != 3 {
			t.Errorf("%+v, %v", got.Passages, err)
		}
		if err := c.Remove(t.Context(), "https://a.example/1/2016"); err != nil {
			t.Error(err)
		}
		if vectors, err := c.Embed(t.Context(), meaning{}, nil); err != nil || vectors != 0 {
			t.Error(vectors, err)
		}
	})
}

// hung are providers that answer nothing.
type hung struct{ meaning }

func (hung) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hung) Search(ctx context.Context, _ string, _ int) ([]retrieve.WebPage, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestProviderLimit checks that a provider that does not answer is not waited for, while the corpus is read to the
// end.
func TestProviderLimit(t *testing.T) {
	t.Parallel()
	c, _ := fill(t, answertest.SQLite(t))
	if _, err := c.Embed(t.Context(), meaning{}, nil); err != nil {
		t.Fatal(err)
	}
	got, err := retrieve.New(c, retrieve.Options{Dense: hung{}, Web: hung{}}).Search(t.Context(), retrieve.Query{Text: "demand for pumps", ProviderLimit: time.Millisecond})
	if err != nil || len(got.Passages) < 3 {
		t.Errorf("%+v, %v", got.Passages, err)
	}
}

// TestOlderPassagesAreFound checks that older passages are found too if there are too few among the latest ones.
func TestOlderPassagesAreFound(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c := corpus.New(k.Server)
		for i := range 40 {
			text := fmt.Sprintf("The tariff of region %d was changed by the commission.", i)
			if i == 3 {
				text = "The tariff of hydroelectric stations was left as it is."
			}
			if k.DB.Dialect() == store.Postgres { // as if there were many between them
				err := k.Write(t.Context(), func(c store.Conn) error {
					_, err := c.Exec("SELECT setval(pg_get_serial_sequence('answer_chunks', 'id'), ?)", 3000*i+1)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			_, err := c.Put(t.Context(), fileformat.Source{Title: fmt.Sprintf("Note %d", i), URL: fmt.Sprintf("https://a.example/%d", i), Kind: kernel.News, Pages: []fileformat.Page{{Text: text}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		find := func(enough int, text string) (ids []int64) {
			t.Helper()
			r := retrieve.New(c, retrieve.Options{})
			if enough > 0 {
				r.Enough(enough)
			}
			found, err := r.Search(t.Context(), retrieve.Query{Text: text})
			if err != nil || len(found.Passages) == 0 {
				t.Fatal(found, err)
			}
			for _, p := range found.Passages {
				ids = append(ids, p.ID)
			}
			return ids
		}
		rare, common := "tariff of hydroelectric stations", "tariff changed by the commission"
		all, few := find(0, rare), find(2, rare)
		if all[0] != few[0] {
			t.Errorf("the rare one: %v, and %v among the latest", all, few)
		}
		if all, few := find(0, common), find(2, common); k.DB.Dialect() == store.Postgres && (len(all) < 10 || len(few) >= len(all) || slices.Min(few) < 39*3000-2*8192) {
			t.Errorf("the common ones: %v, and %v among the latest", all, few)
		}
	})
}
