package resource_test

import (
	"context"

	"github.com/tollgate-gateway/tollgate/internal/instant"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

// The service of the example already has these: its type for a request, its rows and its methods.

type (
	call struct {
		*pages.Call
		user string
		jobs *jobs
	}
	job struct {
		ID, Name, State string
		StartedAt       instant.Moment
	}
	jobs     struct{}
	jobQuery struct {
		Name, State, Sort, After string
		Limit                    int
	}
)

func (*jobs) Find(context.Context, string, jobQuery) ([]job, string, error) { return nil, "", nil }
func (*jobs) Stop(context.Context, string, string) error                    { return nil }

// begin of the example
var jobList = resource.List[*call, job]{
	Path: "/admin/jobs", Head: resource.Head{Title: "Jobs"}, Nouns: [2]string{"job", "jobs"}, CSV: "jobs.csv",
	Empty: "No job has run yet. Start one with: tollgate jobs run.",
	Columns: []resource.Column[job]{
		{Label: "Name", Sort: "name", Show: func(j job) resource.Cell { return resource.Link("/admin/jobs/"+j.ID, j.Name) }},
		{Label: "State", Show: func(j job) resource.Cell { return resource.Tag(j.State, "") }},
		{Label: "Started", Sort: "new", Down: true, Time: func(j job) instant.Moment { return j.StartedAt }},
	},
	Filters: []resource.Input[*call]{
		{Name: "q", Label: "Name begins with"},
		{Name: "state", Label: "State", Options: func(*call) ([]resource.Choice, error) {
			return resource.All(resource.Words("running", "done")...), nil
		}},
	},
	Rows: func(c *call, q resource.Query) ([]job, string, error) {
		return c.jobs.Find(c.Context(), c.user, jobQuery{q.Text("q"), q.Text("state"), q.Sort, q.After, q.Limit})
	},
	ID:   func(j job) string { return j.ID },
	Name: func(j job) string { return j.Name },
	Actions: []resource.Action[*call]{{
		Name: "stop", Label: "Stop", Done: "stopped", Danger: true, Confirm: "What they have done so far stays.",
		Do: func(c *call, id string) error { return c.jobs.Stop(c.Context(), c.user, id) },
	}},
}

// end of the example

func ExampleList() {
	// The pages become part of the table of the service, the templates part of its look.
	table := jobList.Pages()
	_ = pages.Options[*call]{Table: table}
}
