// Package receipts signs statements about stored readings, so that a sender can prove a delivery.
//
//	Keyring ──first use──▶ key, from a file or the registry
//	Receipt ──Sign──▶ text ──Verify──▶ Receipt
//
// The main types and functions:
//
//   - [Receipt] states the number and the digest of the readings of a device at a time.
//   - [Keyring] provides the [Signer], and [Key] is the public key.
//   - [Verify] returns the content of a receipt that the key has signed.
//
// A receipt is a JSON Web Signature in compact form (RFC 7515) with the algorithm EdDSA and a key
// on Ed25519 (RFC 8037). Any library for JWS can verify it with the public key, which is a JSON Web
// Key.
//
// A key in the registry is created once and never changed, and processes that share a registry
// share it. If the key cannot be read, no receipt is signed, and a later call retries. A Keyring is
// safe for concurrent use.
package receipts
