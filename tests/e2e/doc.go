// Package e2e tests the real program with scripts. The scripts are also examples of its use.
package e2e
