// Package storetest implements the conformance suite of the contracts in package store.
//
// [Run] runs one test case per rule, each on a new store. [Compare] applies random operations to a
// [Subject] and to the model, store/mem, and compares all results. The tests of every store call
// Run, and the tests of all stores except the model call Compare. A [Trait] is a permitted
// difference. If a store breaks a rule, the test fails with the operation and both results.
package storetest
