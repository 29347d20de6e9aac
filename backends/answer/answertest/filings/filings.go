// Package filings makes long reports out of short excerpts of real ones, to measure how well the page that
// answers a question is found. It is for tests only.
//
// The excerpts and their questions are the development split of TAT-QA (Zhu et al., ACL 2021), CC BY 4.0,
// with invented issuers.
package filings

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
)

//go:embed tatqa/corpus.jsonl
var excerpts []byte

//go:embed tatqa/questions.jsonl
var questions []byte

// Excerpt is a table with its paragraphs.
type Excerpt struct {
	Title, URL, Issuer, Fiscal, Text string
}

// Question is a question about an excerpt.
type Question struct {
	ID    string `json:"id"`
	Query string `json:"query"`
	Type  string `json:"type"`
	Gold  struct {
		Evidence []struct{ URL string } `json:"evidence"`
	} `json:"gold"`
	Issuer string `json:"issuer"`
}

// HeldBack reports whether a question is held back while rules are developed. Half of the questions are held back. The
// questions of one excerpt are either all held back or none of them.
func (q *Question) HeldBack() bool {
	h := fnv.New32a()
	h.Write([]byte(q.Gold.Evidence[0].URL))
	return h.Sum32()>>3&1 == 1
}

// Load returns the excerpts and the questions.
func Load() (allExcerpts []Excerpt, allQuestions []Question, err error) {
	if allExcerpts, err = lines[Excerpt](excerpts); err == nil {
		allQuestions, err = lines[Question](questions)
	}
	return allExcerpts, allQuestions, err
}

func lines[T any](text []byte) (list []T, err error) {
	for line := range bytes.Lines(text) {
		var row T
		if err := json.Unmarshal(line, &row); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, nil
}

// Asked is a question about a page of a long report. HeldBack is the result of Question.HeldBack.
type Asked struct {
	Text     string
	Issuer   string
	URL      string
	Page     int
	HeldBack bool
	Type     string
}

// sizes are the reports' numbers of pages.
var sizes = []int{110, 160, 210, 270}

var issuers = []string{"Aldermoor Industries", "Brackenfell Holdings", "Corriewell Group", "Dunmarrow Systems"}

// Long makes one report per issuer, of 110 to 270 pages. Each page is an excerpt, with the issuer of the report in
// place of the excerpt's issuer. The excerpts are divided among the reports, and questions are asked only about a
// report's own excerpts. Each report is filled up with excerpts of other reports. The seed determines the order.
func Long(seed uint64) (reports []fileformat.Source, reportQuestions []Asked, err error) {
	all, questions, err := Load()
	if err != nil {
		return nil, nil, err
	}
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the numbers need not be secret
	order := random.Perm(len(all))
	for i, issuer := range issuers {
		var own, others []Excerpt
		for position, n := range order {
			if position%len(issuers) == i {
				own = append(own, all[n])
			} else {
				others = append(others, all[n])
			}
		}
		pages := slices.Concat(own, others[:sizes[i]-len(own)]) // sizes[i] pages in all
		random.Shuffle(len(pages), func(a, b int) { pages[a], pages[b] = pages[b], pages[a] })
		report := fileformat.Source{
			Title: issuer + " annual report 2019", URL: fmt.Sprintf("https://filings.example.test/long/%d", i), Form: "10-K",
			Fiscal: "FY2019",
			Issuer: fileformat.Company{Name: issuer},
		}
		owned := make(map[string]bool)
		for _, e := range own {
			owned[e.URL] = true
		}
		for index, e := range pages {
			text := strings.TrimPrefix(e.Text, e.Issuer)
			text = strings.ReplaceAll(text, e.Issuer, issuer)
			report.Pages = append(report.Pages, fileformat.Page{Number: index + 1, Text: text})
			for _, q := range questions {
				if q.Gold.Evidence[0].URL == e.URL && owned[e.URL] {
					reportQuestions = append(reportQuestions, Asked{
						Text: strings.ReplaceAll(q.Query, q.Issuer, issuer), Issuer: issuer, URL: report.URL, Page: index + 1,
						HeldBack: q.HeldBack(), Type: q.Type,
					})
				}
			}
		}
		reports = append(reports, report)
	}
	return reports, reportQuestions, nil
}
