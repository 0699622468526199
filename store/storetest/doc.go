// Package storetest is the conformance suite of the store contracts. Every
// store calls [Run] from its own tests, and [Compare] to be held against the
// model, store/mem, over random sequences of operations.
package storetest
