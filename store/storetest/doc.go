// Package storetest implements the conformance suite of the contracts in package store.
//
//	Run      one test case per rule, each on a new store
//	Compare  random operations ──┬─▶ Subject ──┐
//	                             └─▶ store/mem ─┴─▶ equal results
//
// The main types and functions:
//
//   - [Run] runs one test case per rule. The tests of every store call it.
//   - [Compare] applies random operations to a [Subject] and to the model, store/mem, and compares
//     all results. The tests of all stores except the model call it.
//   - [Trait] is a permitted difference.
//   - [ReadBlocks] reads columns from any store, for the tests of packages that use them.
//
// If a store breaks a rule, the test fails with the operation and both results. A Subject may
// simulate a crash when it is reopened.
package storetest
