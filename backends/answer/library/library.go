// Package library reads the contents of the corpus: the companies, the years of their reports, the figures in these,
// and the parts of passages that an answer repeats.
//
// Choices where the specification is silent:
//   - If several documents state a figure for the same period, the most certain fact is used, then the fact from
//     the report on that period itself, then the fact of the newest document. A different figure that another
//     document states with the same certainty is listed beside it, not averaged.
//   - Whole years, quarters and days are shown; periods of other lengths are left out.
package library

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Library reads the corpus. It is safe for concurrent use. Make it with New.
type Library struct{ kernel *kernel.Server }

// New returns a Library for the corpus in the server's database.
func New(k *kernel.Server) *Library { return &Library{k} }

// ErrNotFound is returned for a company that the corpus does not have.
var ErrNotFound = errors.New("the corpus has no company with this id")

// Bounds of one result.
const (
	MaxCompanies = 200
	maxDocuments = 500
	maxFacts     = 50_000
)

// Company is an issuer with the fiscal years of its documents, the latest first.
type Company struct {
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	Ticker    string `json:"ticker,omitempty"`
	CIK       string `json:"cik,omitempty"`
	Documents int    `json:"documents"`
	Years     []int  `json:"years"`
}

// Companies returns companies that have documents, ordered by name. Only those are returned whose name contains
// substring, ignoring case, and comes after afterName. Empty strings do not restrict the result. It returns at most
// limit companies, and no more than MaxCompanies+1.
func (l *Library) Companies(ctx context.Context, substring, afterName string, limit int) (list []Company, err error) {
	limit = min(max(limit, 1), MaxCompanies+1) // one more than a page, to detect a next page
	err = l.kernel.Read(ctx, func(c kernel.Conn) error {
		list, err = store.List(c, func(r store.Row) (company Company, err error) {
			company.Years = []int{}
			return company, r.Scan(&company.ID, &company.Name, &company.Ticker, &company.CIK, &company.Documents)
		}, "SELECT i.id, i.name, i.ticker, i.cik, (SELECT count(*) FROM answer_documents d WHERE d.issuer_id = i.id) FROM answer_issuers i "+
			"WHERE i.name_key > ? AND lower(i.name) LIKE ? ESCAPE '!' AND EXISTS (SELECT 1 FROM answer_documents d WHERE d.issuer_id = i.id) ORDER BY i.name_key LIMIT ?",
			metrics.Key(afterName), "%"+likeEscaper.Replace(strings.ToLower(substring))+"%", limit)
		if err != nil || len(list) == 0 {
			return err
		}
		return addYears(c, list)
	})
	return list, err
}

// likeEscaper escapes the pattern characters of LIKE.
var likeEscaper = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// addYears sets the Years of companies to the fiscal years of their documents.
func addYears(c kernel.Conn, list []Company) error {
	index := make(map[int64]int, len(list))
	ids := make([]int64, len(list))
	for i := range list {
		index[list[i].ID], ids[i] = i, list[i].ID
	}
	condition, arg := corpus.Among(c, "issuer_id", ids)
	return c.All("SELECT DISTINCT issuer_id, fiscal FROM answer_documents WHERE "+
		condition+" AND fiscal > 0 ORDER BY issuer_id, fiscal DESC", []any{arg}, func(r store.Row) error {
		var id int64
		var year int
		err := r.Scan(&id, &year)
		if i, ok := index[id]; ok {
			list[i].Years = append(list[i].Years, year)
		}
		return err
	})
}

// Document is a document of a company.
type Document struct {
	Title  string `json:"title"`
	URL    string `json:"url"`
	Kind   string `json:"kind"`
	Form   string `json:"form,omitempty"`
	Fiscal int    `json:"fiscal,omitempty"`
	// Quarter is 1 to 4 for a report on a quarter, and 0 otherwise.
	Quarter int `json:"quarter,omitempty"`
}

// Figure is a figure that a document states for a period. Value is in single units: dollars, not millions; one per cent
// is 1.
type Figure struct {
	Year    int     `json:"year"`
	Quarter int     `json:"quarter,omitempty"`
	End     string  `json:"end,omitempty"` // YYYY-MM-DD
	Months  int     `json:"months,omitempty"`
	Value   float64 `json:"value"`
	Text    string  `json:"text"` // in the document's words
	Title   string  `json:"title"`
	URL     string  `json:"url"`
	Page    int     `json:"page,omitempty"`
	// Others are different figures that other documents state for the same period.
	Others []string `json:"others,omitempty"`
}

// Measure is a metric that a company reports, with its figures, the latest first.
type Measure struct {
	Metric    string   `json:"metric"`
	Name      string   `json:"name"`
	Statement string   `json:"statement,omitempty"` // income, balance, cash_flow and so on
	Unit      string   `json:"unit,omitempty"`      // money, %, x, shares, per_share
	Currency  string   `json:"currency,omitempty"`
	Figures   []Figure `json:"figures"`
}

// Holding is a company with its documents and figures in the corpus.
type Holding struct {
	Company
	List     []Document `json:"list"` // the newest documents
	Measures []Measure  `json:"measures"`
}

// Company returns the company with an id, its documents and its figures. It returns ErrNotFound if there is no such
// company.
func (l *Library) Company(ctx context.Context, id int64) (h Holding, err error) {
	err = l.kernel.Read(ctx, func(c kernel.Conn) error {
		h.ID = id
		if err := c.Row("SELECT name, ticker, cik, (SELECT count(*) FROM answer_documents WHERE issuer_id = ?) FROM answer_issuers WHERE id = ?", id, id).
			Scan(&h.Name, &h.Ticker, &h.CIK, &h.Documents); errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		} else if err != nil {
			return err
		}
		companies := []Company{{ID: id, Years: []int{}}}
		if err := addYears(c, companies); err != nil {
			return err
		}
		h.Years = companies[0].Years
		if h.List, err = store.List(c, func(r store.Row) (d Document, err error) {
			return d, r.Scan(&d.Title, &d.URL, &d.Kind, &d.Form, &d.Fiscal, &d.Quarter)
		}, "SELECT title, url, kind, form, fiscal, quarter FROM answer_documents WHERE issuer_id = ? ORDER BY fiscal DESC, id DESC LIMIT ?", id, maxDocuments); err != nil {
			return err
		}
		facts, err := corpus.FactsOf(c, corpus.FactQuery{Issuers: []int64{id}, Limit: maxFacts})
		if err != nil {
			return err
		}
		h.Measures, err = measures(c, facts)
		return err
	})
	return h, err
}

// source is the title and the address of a document that contains a figure.
type source struct{ title, url string }

// measures groups the facts of one company by measure, in the order of a report's statements. For each period it takes
// the fact that takesPrecedence prefers, and lists facts that contradict it in Figure.Others. It leaves out facts of
// metrics that the vocabulary does not have, and of periods other than days, quarters and years.
func measures(c kernel.Conn, facts []kernel.Fact) ([]Measure, error) {
	type key struct {
		metric string
		end    kernel.Day
		months int
		year   int
	}
	best := make(map[key]kernel.Fact)         // the fact that is shown for a metric and a period
	candidates := make(map[key][]kernel.Fact) // all facts of the metric and the period
	for _, f := range facts {
		months := f.Period.Months
		if months != 0 && months != 3 && months != 12 || f.Period.AnyYear() == 0 {
			continue
		}
		k := key{f.Metric, f.Period.End, f.Period.Months, f.Period.Year}
		current, ok := best[k]
		if !ok || takesPrecedence(f, current) {
			best[k] = f
		}
		candidates[k] = append(candidates[k], f)
	}
	documents, pages, err := locationsOf(c, best)
	if err != nil {
		return nil, err
	}
	byMetric := make(map[string]*Measure)
	for k, f := range best {
		m := byMetric[k.metric]
		if m == nil {
			metric, ok := metrics.Metric(k.metric)
			if !ok {
				continue
			}
			m = &Measure{
				Metric: k.metric, Name: metric.Name, Statement: string(metric.Statement), Unit: string(f.Figure.Unit),
				Currency: f.Figure.Currency,
			}
			byMetric[k.metric] = m
		}
		source := documents[f.Document]
		figure := Figure{
			Year: f.Period.AnyYear(), Quarter: f.Period.Quarter, End: string(f.Period.End), Months: f.Period.Months,
			Value: f.Figure.Value, Text: f.Figure.Text, Title: source.title, URL: source.url, Page: pages[f.Passage],
		}
		for _, other := range candidates[k] {
			rounding := max(other.Figure.Step, f.Figure.Step)
			differs := math.Abs(other.Figure.Value-f.Figure.Value) > rounding
			if other.Sure >= f.Sure && differs && !slices.Contains(figure.Others, other.Figure.Text) {
				figure.Others = append(figure.Others, other.Figure.Text)
			}
		}
		slices.Sort(figure.Others)
		m.Figures = append(m.Figures, figure)
	}
	list := make([]Measure, 0, len(byMetric))
	for _, m := range byMetric {
		slices.SortFunc(m.Figures, func(a, b Figure) int {
			return cmp.Or(b.Year-a.Year, strings.Compare(b.End, a.End), b.Months-a.Months, b.Quarter-a.Quarter)
		})
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b Measure) int {
		return cmp.Or(statementRank(a.Statement)-statementRank(b.Statement), metrics.Order(a.Metric)-metrics.Order(b.Metric))
	})
	return list, nil
}

// takesPrecedence reports whether fact a takes precedence over fact b for the same measure and period: it is more
// certain, or comes from the report on that period itself, or from a newer document.
func takesPrecedence(a, b kernel.Fact) bool {
	ofReport := func(f kernel.Fact) int { // 1 if the fact comes from the report on its period
		if f.Report.Year == f.Period.Year && f.Report.Quarter == f.Period.Quarter {
			return 1
		}
		return 0
	}
	return cmp.Or(a.Sure-b.Sure, ofReport(a)-ofReport(b), cmp.Compare(a.Document, b.Document)) > 0
}

// statementRank returns the position of a statement in a report, from 0. Unknown statements come last.
func statementRank(statement string) int {
	if i := slices.Index(kernel.Statements, kernel.Statement(statement)); i >= 0 {
		return i
	}
	return len(kernel.Statements)
}

// locationsOf returns the documents of facts by document id, and the pages of their passages by passage id.
func locationsOf[K comparable](
	c kernel.Conn, facts map[K]kernel.Fact,
) (documents map[int64]source, pages map[int64]int, err error) {
	documentIDs, passageIDs := make(map[int64]bool), make(map[int64]bool)
	for _, f := range facts {
		documentIDs[f.Document] = true
		if f.Passage != 0 {
			passageIDs[f.Passage] = true
		}
	}
	documents = make(map[int64]source, len(documentIDs))
	condition, arg := corpus.Among(c, "id", keys(documentIDs))
	err = c.All("SELECT id, title, url FROM answer_documents WHERE "+condition, []any{arg}, func(r store.Row) error {
		var id int64
		var document source
		err := r.Scan(&id, &document.title, &document.url)
		documents[id] = document
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	pages = make(map[int64]int, len(passageIDs))
	condition, arg = corpus.Among(c, "id", keys(passageIDs))
	err = c.All("SELECT id, page FROM answer_chunks WHERE "+condition, []any{arg}, func(r store.Row) error {
		var id int64
		var page int
		err := r.Scan(&id, &page)
		pages[id] = page
		return err
	})
	return documents, pages, err
}

// keys returns the elements of a set, in no particular order.
func keys(set map[int64]bool) []int64 {
	list := make([]int64, 0, len(set))
	for id := range set {
		list = append(list, id)
	}
	return list
}
