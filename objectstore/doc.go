// Package objectstore defines the contract of stores of objects, such as a folder or an S3 bucket.
//
//	archive, backup ──▶ Store ◀── folder, s3
//
// [Store] is the contract, [Object] describes one object, and [SumOf] computes its checksum. The
// package objectstest checks that a store follows the contract.
//
// These rules always hold:
//
//   - No object is ever replaced. A write to a used key fails with [ErrExists].
//   - An object is stored durably and as a whole, or not at all.
//
// [ErrMissing] means that no object has the key. After any other error of a write, the object may
// exist, so a caller reads it or uses another key.
package objectstore
