package responses

import (
	"testing"
)

// text returns the line that dump writes for a text part.
func text(words string) string {
	return "  part 1 \"" + words + "\" url=\"\" detail=\"\" data=\"\"\n"
}

func TestReadItems(t *testing.T) {
	t.Parallel()
	const (
		callA  = `{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}`
		callB  = `{"type":"function_call","call_id":"b","name":"g","arguments":""}`
		outA   = `{"type":"function_call_output","call_id":"a","output":"1"}`
		outB   = `{"type":"function_call_output","call_id":"b","output":"2"}`
		reply  = `{"type":"message","role":"assistant","id":"msg_1","status":"completed","phase":"x","content":[{"type":"output_text","text":"ok","annotations":[]}]}`
		prompt = `{"role":"user","content":"hi"}`
	)
	for name, c := range map[string]struct{ items, want string }{
		"roles": {
			`{"role":"system","content":"a"},{"role":"developer","content":"b"},{"role":"user","content":[{"type":"text","text":"c"},{"type":"input_text","text":""}]}`,
			"system \n" + text("a") + "developer \n" + text("b") + "user \n" + text("c"),
		},
		"refusal": {
			`{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]},` + prompt,
			"assistant \n" + text("no") + hi,
		},
		"image": {
			`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA","detail":"original"},{"type":"input_image","image_url":"https://x/y","file_id":null}]}`,
			"user \n  part 3 \"\" url=\"data:image/png;base64,AA\" detail=\"high\" data=\"\"\n  part 3 \"\" url=\"https://x/y\" detail=\"\" data=\"\"\nneeds 1\n",
		},
		"file": {
			`{"role":"user","content":[{"type":"input_file","file_data":"data:application/pdf;base64,AA","filename":"a.pdf"},{"type":"input_file","file_url":"https://x/y.pdf"}]}`,
			"user \n  part 4 \"\" url=\"data:application/pdf;base64,AA\" detail=\"a.pdf\" data=\"\"\n  part 4 \"\" url=\"https://x/y.pdf\" detail=\"document.pdf\" data=\"\"\nneeds 10\n",
		},
		"audio": {
			`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}}]}`,
			"user \n  part 5 \"\" url=\"\" detail=\"wav\" data=\"AA\"\nneeds 100\n",
		},
		"text and calls fold": {
			reply + "," + callA + "," + callB + "," + outA + "," + outB,
			"assistant \n" + text("ok") + "  call a f {\"x\":1}\n  call b g {}\ntool a\n" + text("1") + "tool b\n" + text("2"),
		},
		"text behind a call folds": {
			callA + "," + reply + "," + outA,
			"assistant \n" + text("ok") + "  call a f {\"x\":1}\ntool a\n" + text("1"),
		},
		"results in the order of the calls": {
			callA + "," + callB + "," + outB + "," + outA,
			"assistant \n  call a f {\"x\":1}\n  call b g {}\ntool a\n" + text("1") + "tool b\n" + text("2"),
		},
		"a late result": {
			callA + "," + callB + "," + outB + "," + prompt + "," + outA,
			"assistant \n  call a f {\"x\":1}\n  call b g {}\ntool a\n" + text("1") + "tool b\n" + text("2") + hi,
		},
		"one call after the other": {
			callA + "," + outA + "," + callB + "," + outB,
			"assistant \n  call a f {\"x\":1}\ntool a\n" + text("1") + "assistant \n  call b g {}\ntool b\n" + text("2"),
		},
		"an id again": {
			callA + "," + outA + "," + callA + "," + outA,
			"assistant \n  call a f {\"x\":1}\ntool a\n" + text("1") + "assistant \n  call a f {\"x\":1}\ntool a\n" + text("1"),
		},
		"results without ids": {
			callA + "," + callB + `,{"type":"function_call_output","call_id":null,"output":"1"},{"type":"function_call_output","output":"2"}`,
			"assistant \n  call a f {\"x\":1}\n  call b g {}\ntool a\n" + text("1") + "tool b\n" + text("2"),
		},
		"an illegal id": {
			`{"type":"function_call","call_id":"fc_1|call:2","name":"f","arguments":"{"},{"type":"function_call_output","call_id":"fc_1|call:2","output":""}`,
			"assistant \n  call fc_1call2_f6b20239 f {\ntool fc_1call2_f6b20239\n",
		},
		"a result in parts": {
			callA + `,{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"https://x"},{"type":"input_text","text":"it"},{"type":"input_file","file_url":"https://y"}]}`,
			"assistant \n  call a f {\"x\":1}\ntool a\n" + text(`see\n[image attached below]\nit\n[file attached below]`) + "user \n  part 3 \"\" url=\"https://x\" detail=\"\" data=\"\"\n  part 4 \"\" url=\"https://y\" detail=\"document.pdf\" data=\"\"\nneeds 11\n",
		},
		"images behind all results": {
			callA + "," + callB + `,{"type":"function_call_output","call_id":"a","output":[{"type":"input_image","image_url":"https://x"}]},` + outB,
			"assistant \n  call a f {\"x\":1}\n  call b g {}\ntool a\n" + text("[image attached below]") + "tool b\n" + text("2") + "user \n  part 3 \"\" url=\"https://x\" detail=\"\" data=\"\"\nneeds 1\n",
		},
		"custom tool": {
			`{"type":"custom_tool_call","call_id":"a","name":"patch","input":"*** \"\n"},{"type":"custom_tool_call_output","call_id":"a","output":"done"}`,
			"assistant \n  call a patch {\"input\":\"*** \\\"\\n\"}\ntool a\n" + text("done"),
		},
		"reasoning": {
			`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"one"},{"type":"summary_text","text":"two"}],"encrypted_content":"kcs1.good"},` + callA + "," + outA +
				`,{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"raw"}],"encrypted_content":"theirs"},` + reply + "," + prompt,
			"assistant \n  reasoning \"one\\n\\ntwo\" foreign=\"\" state=deepseek/v4/content/\n  call a f {\"x\":1}\ntool a\n" + text("1") +
				"assistant \n  reasoning \"raw\" foreign=\"theirs\"\n" + text("ok") + hi,
		},
		"reasoning that is of no use": {
			`{"type":"reasoning","summary":[{"type":"summary_text","text":"no state"}]},{"type":"reasoning","summary":[],"encrypted_content":"kcs1.stolen"},` + reply + `,{"type":"reasoning","encrypted_content":"kcs1.good"},` + prompt,
			"assistant \n" + text("ok") + hi,
		},
		"reasoning between calls": {
			`{"type":"reasoning","encrypted_content":"kcs1.good"},` + callA + `,{"type":"reasoning","encrypted_content":"kcs1.item"},` + callB,
			"assistant \n  reasoning \"\" foreign=\"\" state=deepseek/v4/content/\n  reasoning \"\" foreign=\"\" state=openai/gpt/item/{\"type\":\"reasoning\"}\n  call a f {\"x\":1}\n  call b g {}\n",
		},
		"tool search": {
			`{"type":"tool_search_call","call_id":"a","execution":"client","arguments":{"query":"x"}},{"type":"tool_search_output","call_id":"a","execution":"client","tools":[{"type":"function","name":"f"},{"type":"namespace","name":"n","tools":[{"type":"function","name":"m"},{"type":"custom","name":"c"}]}]}`,
			"tool f kind=0 ns=\"\" own=\"f\" strict= \"\" " + noParameters + "\ntool n__m kind=0 ns=\"n\" own=\"m\" strict= \"\" " + noParameters + "\ntool n__c kind=1 ns=\"n\" own=\"c\" strict= \"\" " + customSchema +
				"\nassistant \n  call a tool_search {\"query\":\"x\"}\ntool a\n" + text(`tool available: f\ntool available: n__m\ntool available: n__c`) + "needs 1000\n",
		},
		"tool search that found nothing": {
			`{"type":"tool_search_call","call_id":"a","arguments":"{}"},{"type":"tool_search_output","call_id":"a","tools":[]}`,
			"assistant \n  call a tool_search {}\ntool a\n" + text("no tools found"),
		},
		"tool search by the vendor": {
			prompt + `,{"type":"tool_search_call","call_id":null,"execution":"server","arguments":{}},{"type":"tool_search_output","execution":"server","tools":[{"type":"function","name":"f"}]}`,
			"tool f kind=0 ns=\"\" own=\"f\" strict= \"\" " + noParameters + "\n" + hi + "needs 1000\ndropped input[1]\n",
		},
		"additional tools": {
			prompt + `,{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"f"},{"type":"web_search"}]}`,
			"tool f kind=0 ns=\"\" own=\"f\" strict= \"\" " + noParameters + "\n" + hi + "needs 1000\ndropped input[1].tools[1]\n",
		},
		"local shell": {
			`{"type":"local_shell_call","id":"lsh_1","action":{"type":"exec","command":["ls"]}},{"type":"local_shell_call_output","id":"lsh_1","output":"x"}`,
			"assistant \n  call lsh_1 local_shell {\"type\":\"exec\",\"command\":[\"ls\"]}\ntool lsh_1\n" + text("x"),
		},
		"shell": {
			`{"type":"shell_call","call_id":"a","action":{"commands":["ls"]}},{"type":"shell_call_output","call_id":"a","output":[{"stdout":"x"}]}`,
			"assistant \n  call a shell {\"commands\":[\"ls\"]}\ntool a\n" + text(`[{\"stdout\":\"x\"}]`),
		},
		"apply_patch": {
			`{"type":"apply_patch_call","call_id":"a","operation":{"type":"delete_file"}},{"type":"apply_patch_call","call_id":"b","operation":{}},{"type":"apply_patch_call_output","call_id":"a","status":"completed"},{"type":"apply_patch_call_output","call_id":"b","status":"failed","output":"no such file"}`,
			"assistant \n  call a apply_patch {\"type\":\"delete_file\"}\n  call b apply_patch {}\ntool a\n" + text("completed") + "tool b failed\n" + text("Error: no such file"),
		},
		"run by the vendor": {
			`{"type":"web_search_call"},{"type":"file_search_call"},{"type":"code_interpreter_call"},{"type":"image_generation_call"},{"type":"mcp_call"},{"type":"mcp_list_tools"},{"type":"computer_call"},` + prompt,
			hi + "dropped input[0],input[1],input[2],input[3],input[4],input[5],input[6]\n",
		},
		"dropped": {
			`{"type":"compaction","encrypted_content":"x"},{"type":"compaction_trigger"},{"type":"program"},{"type":"program_output"},` + prompt,
			hi + "dropped input[0],input[1],input[2],input[3]\n",
		},
		"prefill":                {prompt + "," + reply, hi + "assistant \n" + text("ok") + "needs 100000\n"},
		"empty messages":         {`{"role":"user","content":""},{"role":"assistant","content":[]},{"role":"user","content":null},` + prompt, hi},
		"a call without its id":  {`{"type":"function_call","name":"f"},{"type":"function_call_output","output":"x"}`, "assistant \n  call call_item_0 f {}\ntool call_item_0\n" + text("x")},
		"a namespace in history": {`{"type":"function_call","call_id":"a","name":"m","namespace":"n"},` + outA, "assistant \n  call a n__m {}\ntool a\n" + text("1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := read(t, with(`"input":[`+c.items+`]`))
			checkRequest(t, r)
			if got := dump(r); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
