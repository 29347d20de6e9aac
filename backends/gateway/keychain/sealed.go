package keychain

import "github.com/tollgate-gateway/tollgate/internal/sealed"

// largeBatch is the number of texts that are sealed anew at a time where they may be large.
const largeBatch = 5

// Sealed are the sealed columns of the gateway's tables.
var Sealed = sealed.Columns{
	columnOf("gateway_provider_keys", "", sealed.Batch),
	columnOf("gateway_models", "sealed IS NOT NULL", sealed.Batch),
	columnOf("gateway_answer_items", "", sealed.Batch),
	columnOf("gateway_responses", "", largeBatch),
	columnOf("gateway_response_events", "", largeBatch),
	columnOf("gateway_conversations", "", sealed.Batch),
	columnOf("gateway_conversation_items", "", largeBatch),
}

// columnOf returns the column sealed of a table. The associated data of each text is the name of the table, a slash and
// the id.
func columnOf(table, where string, batch int) sealed.Column {
	return sealed.Column{
		Table: table, ID: "id", Text: "sealed", Where: where, Batch: batch,
		Place: func(row string) string { return table + "/" + row },
	}
}
