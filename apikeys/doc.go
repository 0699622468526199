// Package apikeys manages API keys: their rights, tenant, end and rate.
//
//	text vk_<id>_<secret> ──▶ Registry.Check ──▶ Grant ──▶ requests and readings
//	                               │
//	                               └── memory, for ten seconds ── item of the registry
//
// The main types:
//
//   - [Registry] creates, lists, revokes and checks keys.
//   - [Key] is a key without its secret, and [Draft] describes a key to create.
//   - [Grant] has the rights of one request, and the key's rate.
//   - [Scopes] is a set of rights: read, write, admin.
//
// These rules always hold:
//
//   - The id names a key in lists and logs; the secret is 256 random bits. The registry stores the
//     SHA-256 of the whole text, so access to the registry is not enough to make requests. A secret
//     of 256 bits needs neither a salt nor a slow hash.
//   - A key is cached in memory for ten seconds. A revocation takes effect immediately in the
//     process that revoked the key, and within ten seconds in the others.
//   - Each key is one item: pk KEYS, sk <id>. The item KEYS ON records that a key exists or
//     existed. From then on, requests need a key, even if all keys have expired, or were revoked or
//     deleted. Only public routes, such as health checks, need none.
//
// [Registry.Check] fails with [ErrNone] for an invalid key, and with varve.Busy if too many unknown
// keys were tried. If the registry fails, the check of an uncached key fails, too. If damage
// destroys these items, requests are denied. A Registry and a Grant are safe for concurrent use.
package apikeys
