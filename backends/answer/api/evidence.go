package api

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/library"
)

// Claim is a sentence of an answer with the ids of the passages that it is based on.
type Claim struct {
	Text     string  `json:"text"` // Markdown, without its marks
	Passages []int64 `json:"passages,omitempty"`
}

// evidencePassage is a passage that an answer is based on.
type evidencePassage struct {
	ID      int64  `json:"id"`
	Title   string `json:"title"` // of its document
	URL     string `json:"url"`
	Page    int    `json:"page,omitempty"`
	Section string `json:"section,omitempty"`
	Parts   []part `json:"parts"`
}

// part is a piece of a passage's Markdown. Marked reports that the answer repeats the piece.
type part struct {
	Text   string `json:"text"`
	Marked bool   `json:"marked,omitempty"`
}

// evidence serves GET /v1/answers/{id}/evidence: the sentences of one of the caller's answers, and the passages they
// are based on. Passages that the corpus no longer has are only counted.
func (a *API) evidence(w http.ResponseWriter, r *http.Request, caller *accounts.Caller, id string) {
	ans, stored, err := a.open(r.Context(), caller.Account, id)
	if a.failed(w, err) {
		return
	}
	var ids []int64
	claimed := make(map[int64]string) // the sentences that are based on each passage
	for _, claim := range stored.Claims {
		for _, passage := range claim.Passages {
			ids = append(ids, passage)
			claimed[passage] += claim.Text + "\n"
		}
	}
	passages, err := a.options.Passages(r.Context(), ids)
	if a.failed(w, err) {
		return
	}
	list := make([]evidencePassage, len(passages))
	for i := range passages {
		p := &passages[i]
		list[i] = evidencePassage{
			p.ID, p.Title, a.address(p), p.Page, p.Section,
			parts(p.Text, library.Highlight(p.Text, claimed[p.ID])),
		}
	}
	a.write(w, http.StatusOK, "", struct {
		ID       string            `json:"id"`
		Status   string            `json:"status"`
		Claims   []Claim           `json:"claims"`
		Passages []evidencePassage `json:"passages"`
		Gone     int               `json:"gone,omitempty"` // the number of passages that the corpus no longer has
	}{id, ans.Status, orEmpty(stored.Claims), list, len(claimed) - len(list)})
}

// address returns the public URL of a passage's document.
func (a *API) address(p *kernel.Passage) string {
	if a.options.SourceURL == nil {
		return p.URL
	}
	return a.options.SourceURL(p.URL)
}

// parts splits a text into the marked spans and the pieces between them. The spans must be sorted and must not overlap.
func parts(text string, marked []library.Span) []part {
	list := make([]part, 0, 2*len(marked)+1)
	end := 0
	for _, span := range marked {
		if span.Start > end {
			list = append(list, part{Text: text[end:span.Start]})
		}
		list = append(list, part{text[span.Start:span.End], true})
		end = span.End
	}
	if end < len(text) {
		list = append(list, part{Text: text[end:]})
	}
	return list
}

// companies serves GET /v1/companies, the issuers of the corpus ordered by name. The parameters are name, a
// part of the name; limit, 100 by default and at most library.MaxCompanies; and after, the name of the last
// company of the previous page.
func (a *API) companies(w http.ResponseWriter, r *http.Request, caller *accounts.Caller, _ string) {
	if !a.withinLimit(w, r, caller, "companies") {
		return
	}
	query := r.URL.Query()
	limit := 100
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > library.MaxCompanies {
			a.refuse(w, http.StatusBadRequest, "InvalidRequest")
			return
		}
		limit = n
	}
	list, err := a.options.Library.Companies(r.Context(), query.Get("name"), query.Get("after"), limit+1)
	if a.failed(w, err) {
		return
	}
	next := ""
	if len(list) > limit { // one company beyond the limit was found, so there is a next page
		list = list[:limit]
		next = list[limit-1].Name
	}
	a.write(w, http.StatusOK, "", struct {
		Companies []library.Company `json:"companies"`
		Next      string            `json:"next,omitempty"` // the parameter after of the next page
	}{orEmpty(list), next})
}

// company serves GET /v1/companies/{id}: the documents and figures of one issuer.
func (a *API) company(w http.ResponseWriter, r *http.Request, caller *accounts.Caller, id string) {
	if !a.withinLimit(w, r, caller, "companies") {
		return
	}
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || strings.HasPrefix(id, "+") { // ParseInt accepts a plus sign
		a.refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	found, err := a.options.Library.Company(r.Context(), number)
	if a.failed(w, err) {
		return
	}
	if a.options.SourceURL != nil {
		for i := range found.List {
			found.List[i].URL = a.options.SourceURL(found.List[i].URL)
		}
		for i := range found.Measures {
			for k := range found.Measures[i].Figures {
				found.Measures[i].Figures[k].URL = a.options.SourceURL(found.Measures[i].Figures[k].URL)
			}
		}
	}
	a.write(w, http.StatusOK, "", found)
}
