package handler_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

func TestRegister(t *testing.T) {
	t.Parallel()
	method := func(context.Context, *handler.Call) (any, error) { return "here", nil }
	methods := map[string]handler.Func{"list": method}
	handler.Register(handler.Class{Name: "RegisterTest", Methods: methods})
	delete(methods, "list")
	class, ok := handler.Registered("RegisterTest")
	if !ok || class.Methods["list"] == nil {
		t.Fatalf("registered: %v %v", ok, class)
	}
	if _, ok := handler.Registered("registertest"); ok {
		t.Error("class names are not case-sensitive")
	}
	for name, class := range map[string]handler.Class{
		"twice":          {Name: "RegisterTest", Methods: map[string]handler.Func{"list": method}},
		"no name":        {Methods: map[string]handler.Func{"list": method}},
		"name":           {Name: "a-b", Methods: map[string]handler.Func{"list": method}},
		"no methods":     {Name: "RegisterTest2"},
		"nil":            {Name: "RegisterTest2", Methods: map[string]handler.Func{"list": nil}},
		"name of method": {Name: "RegisterTest2", Methods: map[string]handler.Func{"7": method}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: taken", name)
				}
			}()
			handler.Register(class)
		}()
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	var c handler.Call
	for _, bad := range []int{0, 101, 199, 600} {
		if c.SetStatus(bad) == nil {
			t.Errorf("status %d", bad)
		}
	}
	for _, bad := range [][2]string{
		{"", "x"},
		{"a b", "x"},
		{"X-A:", "x"},
		{"Ä", "x"},
		{"X-A", "a\r\nSet-Cookie: b"},
		{"X-A", "\x00"},
		{"content-length", "1"},
		{"Transfer-Encoding", "chunked"},
		{"connection", "close"},
	} {
		if c.SetHeader(bad[0], bad[1]) == nil {
			t.Errorf("header %q", bad)
		}
	}
	if err := c.SetStatus(http.StatusCreated); err != nil {
		t.Error(err)
	}
	if err := c.SetHeader("x-total", "7"); err != nil {
		t.Error(err)
	}
	if status, header := c.Answered(); status != 201 || header.Get("X-Total") != "7" || len(header) != 1 {
		t.Errorf("%d %v", status, header)
	}
}

func TestErrorOfChain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{handler.Errorf(404, "user %d not found", 7), 404},
		{fmt.Errorf("calling: %w", handler.Busy()), 503},
		{handler.Errorf(200, "fine"), 0},
		{handler.Errorf(600, "much"), 0},
		{errors.New("other"), 0},
		{nil, 0},
	} {
		e, ok := handler.Of(c.err)
		if ok != (c.want != 0) || ok && e.Code != c.want {
			t.Errorf("%v: %v %v", c.err, e, ok)
		}
	}
}
