// Package store holds the contracts between Varve and what keeps its data.
// They are split by power, so that each part is given only what it needs: the
// router gets a [Writer] and a [Creator] and no way to drop a table.
//
//	router   Writer, Creator, Items
//	query    Reader, Catalog, Items
//	rotator  Catalog, Creator, Lifecycle, Items
//
// store/mem is the model, store/local the embedded store. The conformance
// suite, store/storetest, is the same for all of them.
package store
