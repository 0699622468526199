// Package store defines the contracts between Varve and its stores.
//
// The contracts are split by power, and each package receives the smallest set that it needs. So
// only the rotator can change or drop a table:
//
//	router                     Writer, Creator, Items
//	query                      Reader, Catalog, Items
//	rotator                    Catalog, Creator, Lifecycle, Items
//	rollup                     Items; Reserver while the disk is full
//	streams, fields, fleet     Items
//	apikeys, lease             Items
//	engine, api, cmd/varve     Store, and the optional contracts
//
// Three stores implement them, and one suite tests all of them:
//
//	store/mem        the model: the simplest correct store
//	store/local      the embedded store of one process
//	store/dynamo     the store on DynamoDB, shared by a cluster
//	store/storetest  the conformance suite, and the comparison with the model
//
// The main types are [Store], [Batch] with its [Result], [Range] with its [Page], [Info] and
// [Item]. [Surveyor], [Versioned], [Reserver] and [AtomicItems] are optional: a store implements
// them if it can.
//
// [Layout], [Expect] and the indexes [GSI1] and [GSI2] have their names from DynamoDB. All
// stores implement the two indexes. A layout and an expectation only change how DynamoDB stores
// readings; the other stores ignore both.
//
// These rules hold for every store:
//
//   - A reading that is Stored or Duplicate is durable, and every later consistent read
//     returns it.
//   - A reading is stored whole or not at all, and at most once per table for one layout.
//   - Only a table that is owned, retired and not on hold can be dropped.
//
// A failure is an error of this package, an error with a [varve.Failure], or a rejecting verdict
// for a single reading. A batch whose [Result] has an error was not written.
package store
