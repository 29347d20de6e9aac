package messages

import (
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// isServerTool reports whether a tool of the given type runs on the vendor's servers.
func isServerTool(kind string) bool {
	for _, prefix := range [...]string{"web_search_", "web_fetch_", "code_execution_", "tool_search_", "advisor_"} {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return false
}

// defineClientTool adds the description and the input schema to t if kind is the type of a tool that the client runs
// and the vendor defines, such as "bash_20250124". A request states only the type of such a tool, which ends in a date.
// defineClientTool reports whether kind is such a type. o is the tool in the request.
func defineClientTool(t *hub.Tool, kind string, o *fields.Object) bool {
	underscore := strings.LastIndexByte(kind, '_')
	if underscore < 0 {
		return false
	}
	date := kind[underscore+1:] // YYYYMMDD, so dates can be compared as texts
	switch kind[:underscore] {
	case "bash":
		t.Description, t.Parameters = bashDescription, bashSchema
	case "text_editor":
		t.Description, t.Parameters = editorDescription, editorSchema
		if date < "20250429" { // the first version without undo_edit
			t.Parameters = editorSchemaUndo
		}
	case "memory":
		t.Description, t.Parameters = memoryDescription, memorySchema
	case "computer":
		t.Description, t.Parameters = computerDescription, computerSchema(date)
		width, height := o.Get("display_width_px").Result, o.Get("display_height_px").Result
		if width.Num > 0 && height.Num > 0 {
			t.Description += " The screen is " + width.String() + " pixels wide and " + height.String() + " pixels high."
		}
	default:
		return false
	}
	return true
}

const (
	bashDescription = "Runs a command in a bash shell that keeps its state between calls."
	bashSchema      = `{"type":"object","properties":{` +
		`"command":{"type":"string","description":"The command to run. Required unless restart is true."},` +
		`"restart":{"type":"boolean","description":"true starts the shell anew."}}}`

	editorDescription = "Views, creates and edits text files. view shows a file or lists a folder, create writes a whole file, " +
		"str_replace replaces a text that occurs exactly once, insert adds text behind a line."
	editorPath = `"path":{"type":"string","description":"The path of the file or folder."},` +
		`"view_range":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2,"description":"For view: the first and the last line, counted from 1; -1 is the end."},` +
		`"file_text":{"type":"string","description":"For create: the content of the file."},` +
		`"old_str":{"type":"string","description":"For str_replace: the text to replace."},` +
		`"insert_line":{"type":"integer","description":"For insert: the line behind which the text goes; 0 is the beginning."},`
	editorSchema = `{"type":"object","properties":{` +
		`"command":{"type":"string","enum":["view","create","str_replace","insert"]},` + editorPath +
		`"new_str":{"type":"string","description":"For str_replace: the text in its place."},` +
		`"insert_text":{"type":"string","description":"For insert: the text to insert."}},` +
		`"required":["command","path"]}`
	// editorSchemaUndo is the input schema of the text editor's first versions.
	editorSchemaUndo = `{"type":"object","properties":{` +
		`"command":{"type":"string","enum":["view","create","str_replace","insert","undo_edit"]},` + editorPath +
		`"new_str":{"type":"string","description":"For str_replace: the text in its place. For insert: the text to insert."}},` +
		`"required":["command","path"]}`

	memoryDescription = "Keeps notes in files below /memories between conversations. View that folder before other work."
	memorySchema      = `{"type":"object","properties":{` +
		`"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},` +
		`"path":{"type":"string","description":"The path below /memories, for all commands but rename."},` +
		`"view_range":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2,"description":"For view: the first and the last line."},` +
		`"file_text":{"type":"string","description":"For create: the content of the file."},` +
		`"old_str":{"type":"string","description":"For str_replace: the text to replace."},` +
		`"new_str":{"type":"string","description":"For str_replace: the text in its place."},` +
		`"insert_line":{"type":"integer","description":"For insert: the line behind which the text goes."},` +
		`"insert_text":{"type":"string","description":"For insert: the text to insert."},` +
		`"old_path":{"type":"string","description":"For rename: the path now."},` +
		`"new_path":{"type":"string","description":"For rename: the path afterwards."}},` +
		`"required":["command"]}`

	computerDescription = "Controls a computer with mouse and keyboard and takes screenshots. Coordinates are pixels from the top left corner."
)

// computerSchema returns the input schema of a computer tool. date is the date in the tool's type. Tools with later
// dates have more actions.
func computerSchema(date string) string {
	actions := `"key","type","mouse_move","left_click","left_click_drag","right_click","middle_click","double_click","screenshot","cursor_position"`
	properties := `"coordinate":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2,"description":"[x, y]"},` +
		`"text":{"type":"string","description":"The text to type, or the keys to press."}`
	if date >= "20250124" {
		actions += `,"left_mouse_down","left_mouse_up","triple_click","scroll","hold_key","wait"`
		properties += `,"start_coordinate":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2,"description":"For left_click_drag: where it begins."},` +
			`"scroll_direction":{"type":"string","enum":["up","down","left","right"]},` +
			`"scroll_amount":{"type":"integer"},` +
			`"duration":{"type":"number","description":"For hold_key and wait: seconds."}`
	}
	if date >= "20251124" {
		actions += `,"zoom"`
		properties += `,"region":{"type":"array","items":{"type":"integer"},"minItems":4,"maxItems":4,"description":"For zoom: [x1, y1, x2, y2]."}`
	}
	return `{"type":"object","properties":{"action":{"type":"string","enum":[` + actions + `]},` + properties +
		`},"required":["action"]}`
}
