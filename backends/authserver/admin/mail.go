package admin

// Mail describes the mail server of the configuration.
type Mail struct {
	// Server is mail.url and From is mail.from. Both are empty if no mail server is configured.
	Server, From string
}

// mail serves GET /admin/mail: whether mails are sent, through which server, with which sender, and how many mails are
// queued. The audit feed contains the sent and failed mails, as mail.sent and mail.failed.
func (a *API) mail(c *call) (any, error) {
	response := struct {
		Configured bool   `json:"configured"`
		Server     string `json:"server,omitempty"`
		From       string `json:"from,omitempty"`
		// Waiting is the number of queued mails. Retrying is the number of those whose last attempt failed.
		Waiting  int64 `json:"waiting"`
		Retrying int64 `json:"retrying"`
	}{Configured: a.Accounts.Mail != nil, Server: a.Mail.Server, From: a.Mail.From}
	waiting, err := a.Accounts.Waiting(c.R.Context())
	response.Waiting, response.Retrying = waiting.Count, waiting.Failed
	return response, err
}

// testMail sends a mail to an address. It responds when the mail server has accepted the mail.
func (a *API) testMail(c *call) (any, error) {
	var body struct {
		Email string `json:"email"`
	}
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	if err := a.Accounts.Test(c.R.Context(), body.Email, actor); err != nil {
		return nil, err
	}
	return map[string]bool{"sent": true}, nil
}
