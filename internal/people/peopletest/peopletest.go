// Package peopletest attacks the linking of outside people to accounts. Its table runs for every service at which
// people sign in through an OpenID provider.
package peopletest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
)

// The issuers of the people.
const (
	Issuer = "https://one.example"
	Other  = "https://two.example"
)

// Service is a service under attack. Its functions fail the test if they do not succeed.
type Service struct {
	// SignOn signs a person in and returns the id of the account.
	SignOn func(p *oidclogin.Person) (account string, err error)
	// Member adds an account that a person with the same verified address may get. Unproven adds an account of a user
	// who has only typed the address, or has a password.
	Member, Unproven func(email string) (account string)
	// Suspend, Restore and Delete change an account's status.
	Suspend, Restore, Delete func(account string)
	// Adopts reports whether a verified address leads to an existing account. Across reports whether it does so even if a
	// person of another issuer has the account. JoinsUnconfirmed reports whether people with an unverified address get an
	// account.
	Adopts, Across, JoinsUnconfirmed bool
}

// Attack runs the table of attacks. All rows run in the same service, each with a separate mail address.
func Attack(t *testing.T, s *Service) {
	t.Helper()
	for i, row := range attacks {
		a := &attack{Service: s, t: t, row: row.name, id: fmt.Sprint("kisi", i)}
		a.email = a.id + "@example.com"
		row.run(a)
	}
}

// attack is the state of one row.
type attack struct {
	*Service
	t         *testing.T
	row       string
	id, email string
}

// person returns a person of Issuer whose verified address is that of the attacked user.
func (a *attack) person(subject string, changes ...func(p *oidclogin.Person)) *oidclogin.Person {
	p := &oidclogin.Person{
		Issuer: Issuer, Subject: a.id + subject, Email: a.email, Confirmed: true, Names: []string{a.id + subject},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

// address returns a change that sets the mail address of a person.
func address(email string) func(*oidclogin.Person) {
	return func(p *oidclogin.Person) { p.Email = email }
}

// unconfirmed makes the mail address of a person unverified.
func unconfirmed(p *oidclogin.Person) { p.Confirmed = false }

// issuedBy returns a change that sets the issuer of a person.
func issuedBy(issuer string) func(*oidclogin.Person) {
	return func(p *oidclogin.Person) { p.Issuer = issuer }
}

// enters signs a person in and returns the account. The test fails if the person is refused.
func (a *attack) enters(p *oidclogin.Person) string {
	a.t.Helper()
	account, err := a.SignOn(p)
	if err != nil {
		a.t.Errorf("%s: %q was refused: %v", a.row, p.Subject, err)
	}
	return account
}

// gets signs a person in. The test fails unless the person gets the given account.
func (a *attack) gets(p *oidclogin.Person, account string) {
	a.t.Helper()
	if got := a.enters(p); got != account {
		a.t.Errorf("%s: %q got the account %q, want %q", a.row, p.Subject, got, account)
	}
}

// doesNotGet signs a person in. The test fails if the person gets the given account; another account is allowed.
func (a *attack) doesNotGet(p *oidclogin.Person, account string) {
	a.t.Helper()
	if got, err := a.SignOn(p); err == nil && got == account {
		a.t.Errorf("%s: %q with the address %q got the account of somebody else", a.row, p.Subject, p.Email)
	}
}

// refused signs a person in. The test fails unless the person is refused.
func (a *attack) refused(p *oidclogin.Person) {
	a.t.Helper()
	if got, err := a.SignOn(p); err == nil {
		a.t.Errorf("%s: %q with the address %q got the account %q, want a refusal", a.row, p.Subject, p.Email, got)
	}
}

// adopted signs in the first person who has a member's address. The person must get the member's account if a.Adopts
// is set, and must be refused otherwise.
func (a *attack) adopted(p *oidclogin.Person, member string) {
	a.t.Helper()
	if a.Adopts {
		a.gets(p, member)
	} else {
		a.refused(p)
	}
}

var attacks = []struct {
	name string
	run  func(a *attack)
}{
	{"an address that the provider has not confirmed", func(a *attack) {
		member := a.Member(a.email)
		a.refused(a.person("", unconfirmed))
		a.adopted(a.person("-2"), member)
	}},
	{"a new address that the provider has not confirmed", func(a *attack) {
		if !a.JoinsUnconfirmed {
			a.refused(a.person("", unconfirmed))
			a.enters(a.person("-2"))
			return
		}
		a.enters(a.person("", unconfirmed))
		a.refused(a.person("-2"))
	}},
	{"an account whose owner has not proven the address", func(a *attack) {
		a.Unproven(a.email)
		a.refused(a.person(""))
		a.refused(a.person("-2", issuedBy(Other)))
	}},
	{"a second person of the same provider with the address", func(a *attack) {
		first := a.enters(a.person(""))
		a.refused(a.person("-2"))
		a.gets(a.person(""), first)
	}},
	{"a second person of the same provider for a linked member", func(a *attack) {
		member := a.Member(a.email)
		a.adopted(a.person(""), member)
		if a.Adopts {
			a.refused(a.person("-2"))
		}
	}},
	{"the address claimed at another provider", func(a *attack) {
		first := a.enters(a.person(""))
		second := a.person("-2", issuedBy(Other))
		if a.Across {
			a.gets(second, first)
		} else {
			a.refused(second)
		}
		a.refused(a.person("-3", issuedBy(Other), unconfirmed))
	}},
	{"the same subject at two providers", func(a *attack) {
		first := a.enters(a.person(""))
		a.doesNotGet(a.person("", issuedBy(Other), address("other-"+a.email)), first)
		a.doesNotGet(a.person("", issuedBy(Other), unconfirmed), first)
		a.doesNotGet(a.person("", issuedBy(Issuer+"/"), address("")), first)
	}},
	{"a suspended account", func(a *attack) {
		member := a.Member(a.email)
		a.Suspend(member)
		a.refused(a.person(""))
		a.Restore(member)
		a.adopted(a.person("-2"), member) // so that the refused person is not linked
	}},
	{"an account that is suspended later", func(a *attack) {
		first := a.enters(a.person(""))
		a.Suspend(first)
		a.refused(a.person(""))
		a.refused(a.person("-2"))
		a.Restore(first)
		a.gets(a.person(""), first)
	}},
	{"a deleted account", func(a *attack) {
		first := a.enters(a.person(""))
		a.Delete(first)
		a.doesNotGet(a.person(""), first)
		a.doesNotGet(a.person("-2"), first)
	}},
	{"an address that looks the same", func(a *attack) {
		member := a.Member(a.email)
		for i, email := range []string{
			strings.Replace(a.email, "i", "İ", 1), strings.Replace(a.email, "i", "ı", 1),
			strings.Replace(a.email, "s", "ſ", 1), strings.Replace(a.email, "k", "к", 1),
			strings.Replace(a.email, "@", "＠", 1), a.email + "\x00", a.email + "\u202e", a.email + ".",
			a.email + ", eve@evil.example", "Eve <" + a.email + ">", a.email + "\r\nBcc: eve@evil.example",
			strings.Replace(a.email, "@", "+eve@", 1), a.email + "@evil.example", `"` + a.email + `"@evil.example`,
		} {
			a.doesNotGet(a.person(fmt.Sprint("-", i), address(email)), member)
		}
		a.adopted(a.person("-last", address(" "+strings.ToUpper(a.email)+"\n")), member)
	}},
	{"the name of a member", func(a *attack) {
		member := a.Member(a.email)
		for i, name := range []string{a.id, strings.ToUpper(a.id), " " + a.id, strings.Replace(a.id, "k", "ｋ", 1), a.email} {
			a.doesNotGet(a.person(fmt.Sprint("-", i), address(fmt.Sprint("name-", i, "-", a.email)), func(p *oidclogin.Person) {
				p.Names, p.Username, p.Name = []string{name}, name, name
			}), member)
		}
	}},
	{"a person who takes the address of somebody else", func(a *attack) {
		member := a.Member(a.email)
		own := a.enters(a.person("", address("own-"+a.email)))
		a.gets(a.person(""), own)
		a.gets(a.person("", address("")), own)
		a.adopted(a.person("-2"), member)
	}},
	{"subjects that identify nobody", func(a *attack) {
		for i, subject := range []string{
			"", "a\x00", "a\uFFFD", "a\xff", "a\n", strings.Repeat("a", 256), strings.Repeat("é", 128),
		} {
			a.refused(a.person("", address(fmt.Sprint(i, a.email)), func(p *oidclogin.Person) { p.Subject = subject }))
		}
		a.refused(a.person("", issuedBy("")))
	}},
	{"subjects that are nearly the same", func(a *attack) {
		first := a.enters(a.person(""))
		for i, subject := range []string{strings.ToUpper(a.id), a.id + " ", " " + a.id, a.id + "'"} {
			a.doesNotGet(a.person("", address(fmt.Sprint(i, a.email)), func(p *oidclogin.Person) { p.Subject = subject }), first)
		}
	}},
	{"one person in several tabs", func(a *attack) {
		accounts := make([]string, 4)
		var all sync.WaitGroup
		for i := range accounts {
			all.Go(func() { accounts[i] = a.enters(a.person("")) })
		}
		all.Wait()
		for _, account := range accounts {
			if account != accounts[0] {
				a.t.Errorf("%s: got the accounts %q, want a single one", a.row, accounts)
			}
		}
	}},
	{"two people with one address at the same time", func(a *attack) {
		member := a.Member(a.email)
		accounts := make([]string, 4)
		var all sync.WaitGroup
		for i := range accounts {
			all.Go(func() { accounts[i], _ = a.SignOn(a.person(fmt.Sprint("-", i))) })
		}
		all.Wait()
		admitted := 0
		for _, account := range accounts {
			if account == member {
				admitted++
			}
		}
		if a.Adopts && admitted != 1 || !a.Adopts && admitted != 0 {
			a.t.Errorf("%s: %d people got the member's account", a.row, admitted)
		}
	}},
}
