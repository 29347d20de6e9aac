package models

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	answer, status := `{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[1,0]}]}`, http.StatusOK
	var got vectorsRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%v", r.Header)
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	e := &Embeddings{URL: server.URL, Key: "secret", Name: "v", Client: Guarded(loopback)}
	vectors, err := e.Embed(t.Context(), []string{"a", "b"})
	if err != nil || len(vectors) != 2 || !slices.Equal(vectors[0], []float32{1, 0}) || !slices.Equal(vectors[1], []float32{0, 1}) || e.Model() != "v" {
		t.Errorf("%v %v", vectors, err)
	}
	if got.Model != "v" || !slices.Equal(got.Input, []string{"a", "b"}) || got.Encoding != "float" {
		t.Errorf("%+v", got)
	}
	for _, refusing := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity} {
		status = refusing
		if _, err := e.Embed(t.Context(), []string{"a", "b"}); !errors.Is(err, kernel.ErrTexts) {
			t.Errorf("%d: %v", refusing, err)
		}
	}
	status = http.StatusTooManyRequests
	if _, err := e.Embed(t.Context(), []string{"a", "b"}); errors.Is(err, kernel.ErrTexts) {
		t.Error(err)
	}
	for name, bad := range map[string]struct {
		status int
		answer string
	}{
		"refused": {http.StatusTooManyRequests, answer}, "one": {http.StatusOK, `{"data":[{"index":0,"embedding":[1]}]}`}, "no JSON": {http.StatusOK, "<html>"},
		"twice": {http.StatusOK, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`}, "elsewhere": {http.StatusOK, `{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`},
		"negative": {http.StatusOK, `{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]}`}, "empty": {http.StatusOK, `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[]}]}`},
	} {
		status, answer = bad.status, bad.answer
		if _, err := e.Embed(t.Context(), []string{"a", "b"}); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
