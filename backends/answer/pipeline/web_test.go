package pipeline_test

import (
	"context"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
)

type pages []retrieve.WebPage

func (p pages) Search(context.Context, string, int) ([]retrieve.WebPage, error) { return p, nil }

// TestWebPageOfOtherIssuer checks that a web page is used for the issuer that it names, and for no other.
func TestWebPageOfOtherIssuer(t *testing.T) {
	t.Parallel()
	const (
		table  = "| (in millions) | 2019 | 2018 |\n|---|---|---|\n| Research and development | $ 77.0 | $ 66.0 |\n"
		url    = "https://news.example.test/results"
		stated = "Wexlermere Inc.: Research and development in 2019: $77.0 million. [1](" + url + ")"
	)
	for name, c := range map[string]struct {
		title, text, want string
	}{
		"names no issuer":            {"Results", table, ""},
		"names an unknown issuer":    {"Results of Brantpoint", "Brantpoint results\n\n" + table, ""},
		"title names another issuer": {"Results of Osterley plc", "It sells to Wexlermere.\n\n" + table, ""},
		"title names the issuer":     {"Results of Wexlermere", table, stated},
		"text names the issuer":      {"Results", "Wexlermere results\n\n" + table, stated},
		"title names two issuers":    {"Wexlermere and Osterley plc", table, stated},
		"title misspells the issuer": {"Results of Wexlremere", table, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents := corpusOf(t, "Osterley plc")
			p := pipeline.New(retrieve.New(documents, retrieve.Options{Web: pages{{Title: c.title, URL: url, Text: c.text}}}), documents.Issuers, nil, documents.Now, pipeline.Options{})
			if o := ask(t, p, "What was the research and development of Wexlermere in 2019?"); o.Answer != c.want {
				t.Errorf("got the answer %q, want %q", o.Answer, c.want)
			}
		})
	}
}
