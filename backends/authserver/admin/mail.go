package admin

// Mail describes the mail server of the configuration.
type Mail struct {
	// Server is mail.url and From is mail.from. Both are empty if no mails are sent by a mail server.
	Server, From string
}

// mail returns whether mails are sent, through which server and from whom, and how many wait. Which mails were sent or
// failed is in the audit feed, under mail.sent and mail.failed.
func (a *API) mail(c *call) (any, error) {
	response := struct {
		Configured bool   `json:"configured"`
		Server     string `json:"server,omitempty"`
		From       string `json:"from,omitempty"`
		// Waiting mails are to be sent, and Retrying of them have failed before.
		Waiting  int64 `json:"waiting"`
		Retrying int64 `json:"retrying"`
	}{Configured: a.Accounts.Mail != nil, Server: a.Mail.Server, From: a.Mail.From}
	waiting, err := a.Accounts.Waiting(c.R.Context())
	response.Waiting, response.Retrying = waiting.Count, waiting.Failed
	return response, err
}

// testMail sends a mail to an address, and answers when it was handed over.
func (a *API) testMail(c *call) (any, error) {
	var body struct {
		Email string `json:"email"`
	}
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	if err := a.Accounts.Test(c.R.Context(), body.Email, by); err != nil {
		return nil, err
	}
	return map[string]bool{"sent": true}, nil
}
