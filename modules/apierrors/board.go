package apierrors

import (
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// renderBoard renders an error as the error object of the discussion board.
func renderBoard(e *apierror.Error, id string) reply {
	body := appendString(nil, `{"error":{"code":`, boardCode(e))
	body = appendString(body, `,"message":`, e.Message)
	body = appendString(body, `,"requestId":`, id)
	if details := boardDetails(e); len(details) > 0 {
		body = appendDetails(body, `,"details":`, details)
	}
	body = append(body, "}}"...)

	header := contentType("application/json; charset=utf-8")
	return reply{status: e.Status, header: header, varyBy: "Authorization", body: body}
}

// boardCode returns an error code of the board's API. Codes of middleware in front of the board are mapped to such
// codes, because the API documents no others.
func boardCode(e *apierror.Error) string {
	switch e.Code {
	case "bad_request", "invalid_body", "unauthenticated", "missing_scope", "owner_unavailable",
		"forbidden", "not_found", "no_such_route", "method_not_allowed", "payload_too_large",
		"validation_failed", "rate_limited", "flood_limited", "board_offline", "conflict", "precondition_failed", "internal":
		return e.Code
	case "invalid_json":
		return "invalid_body"
	case "insufficient_scope":
		return "missing_scope"
	}
	return boardCodes.Of(e.Status)
}

// boardCodes has the codes for errors whose code is not a code of the board.
var boardCodes = apierror.ByStatus{
	400: "bad_request", 401: "unauthenticated", 402: "forbidden", 403: "forbidden", 404: "not_found",
	405: "method_not_allowed",
	409: "conflict", 410: "not_found", 413: "payload_too_large", 422: "validation_failed", 429: "rate_limited",
	500: "internal", // board_offline is reserved for the administrators' switch
}

// boardDetails returns the faulty fields with their faults. If the error names one field in Param, the list has only
// that field.
func boardDetails(e *apierror.Error) []apierror.Detail {
	if len(e.Details) > 0 || e.Param == "" {
		return e.Details
	}
	reason := e.Code
	if reason == "" {
		reason = boardCode(e)
	}
	return []apierror.Detail{{Field: e.Param, Reason: reason, Message: e.Message}}
}
