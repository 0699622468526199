// Package storetest implements the conformance suite of the contracts in package store.
//
// [Run] runs one case per rule against a fresh store. [Compare] runs random operations on a
// [Subject] and on the model, store/mem, and compares every result. Every store calls both from
// its tests. A [Trait] names a permitted difference. A broken rule fails the test with the
// operation and both results.
package storetest
