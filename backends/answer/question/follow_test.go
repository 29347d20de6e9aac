package question

import "testing"

func TestFollow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ previous, text, want string }{
		{"", "What was the net income of Wexlermere in 2019?", "What was the net income of Wexlermere in 2019?"},
		{"What was the net income of Wexlermere in 2019?", "And the revenue?", "And the revenue of Wexlermere Inc. in fiscal 2019?"},
		{"What was the net income of Wexlermere in 2019?", "And the revenue in 2018?", "And the revenue in 2018 of Wexlermere Inc.?"},
		{"What was the net income of Wexlermere in 2019?", "And in 2018?", "What was the net income of Wexlermere in fiscal 2018?"},
		{"What was the net income of Wexlermere in 2019?", "What about fiscal 2017", "What was the net income of Wexlermere in fiscal 2017?"},
		{"In 2019, what was the net income of Wexlermere?", "And in 2018?", "what was the net income of Wexlermere in fiscal 2018?"},
		{"What was the net income of Wexlermere in 2019?", "What was the revenue of Brantpoint?", "What was the revenue of Brantpoint in fiscal 2019?"},
		{"What was the net income of Wexlermere in 2019?", "What was the revenue of Brantpoint in 2016?", "What was the revenue of Brantpoint in 2016?"},
		{"Why did sales fall?", "And the margin?", "And the margin?"},
	} {
		q, err := reader().Follow(t.Context(), c.text, c.previous)
		if err != nil || q.Text != c.want {
			t.Errorf("%q after %q: %q, %v, want %q", c.text, c.previous, q.Text, err, c.want)
		}
	}
}
