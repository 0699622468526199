// Package objectstore is the contract of stores of objects, such as a folder or an S3 bucket.
//
//	archive, backup ──▶ Store ◀── folder, s3
//
// No object is ever replaced: see [Store]. The package objectstest checks that a store follows the
// contract.
package objectstore
