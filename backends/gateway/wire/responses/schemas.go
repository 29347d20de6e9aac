package responses

// The input schemas of tools that a request defines only by their type (public reference, "Local shell", "Shell" and
// "Apply patch").
const (
	localShellSchema = `{"type":"object","properties":{` +
		`"command":{"type":"array","items":{"type":"string"},"description":"The program and its arguments."},` +
		`"working_directory":{"type":"string","description":"The directory to run the command in."},` +
		`"env":{"type":"object","additionalProperties":{"type":"string"},"description":"Environment variables to set."},` +
		`"timeout_ms":{"type":"integer","description":"The time limit in milliseconds."},` +
		`"user":{"type":"string","description":"The user to run the command as."}` +
		`},"required":["command"]}`

	shellSchema = `{"type":"object","properties":{` +
		`"commands":{"type":"array","items":{"type":"string"},"description":"Shell commands, run in this order."},` +
		`"timeout_ms":{"type":"integer","description":"The time limit in milliseconds."},` +
		`"max_output_length":{"type":"integer","description":"The most characters of output to return."}` +
		`},"required":["commands"]}`

	applyPatchSchema = `{"type":"object","properties":{` +
		`"type":{"type":"string","enum":["create_file","update_file","delete_file"]},` +
		`"path":{"type":"string","description":"The path of the file, relative to the workspace."},` +
		`"diff":{"type":"string","description":"The change as a V4A diff; not for delete_file. Lines begin with a space, + or -, sections with @@."}` +
		`},"required":["type","path"]}`
)
