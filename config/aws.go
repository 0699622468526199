package config

import (
	"fmt"
	"regexp"
)

// AWS configures the routes for services of AWS.
type AWS struct {
	Firehose bool
	IoT      IoT
}

// IoT configures the routes for AWS IoT Core.
type IoT struct {
	Accounts string // numbers of AWS accounts, separated by commas; if empty, the routes do not exist
}

// AccountList returns the accounts in Accounts.
func (i IoT) AccountList() []string { return words(i.Accounts) }

var awsAccount = regexp.MustCompile(`^[0-9]{12}$`)

func checkAccounts(list string) error {
	for _, account := range words(list) {
		if !awsAccount.MatchString(account) {
			return fmt.Errorf("%q is not an account: use the 12 digits of its id", account)
		}
	}
	return nil
}
