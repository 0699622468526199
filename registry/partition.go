package registry

import "github.com/cespare/xxhash/v2"

// shards is the number of index partitions over which the devices of one status are spread, or
// the alerts of one severity.
const shards = 16

// DevicePK returns the partition of all items about a device.
func DevicePK(tenant, device string) string { return "DEVICE#" + tenant + "/" + device }

// TenantPK returns the partition of items that belong to a tenant as a whole.
func TenantPK(tenant string) string { return "TENANT#" + tenant }

// ShardPK returns the index partition for an item of a device. All items of such a partition have
// the same kind, such as devices, and the same word, such as a status or a severity.
func ShardPK(kind, tenant, word, device string) string {
	return numberedPK(kind, tenant, word, int(xxhash.Sum64String(device)%shards))
}

func numberedPK(kind, tenant, word string, shard int) string {
	return kind + "#" + tenant + "/" + word + "#" + string([]byte{'0' + byte(shard/10), '0' + byte(shard%10)})
}

// AllShards returns all index partitions of one kind for the given words.
func AllShards[W ~string](kind, tenant string, words ...W) (pks []string) {
	for _, w := range words {
		for shard := range shards {
			pks = append(pks, numberedPK(kind, tenant, string(w), shard))
		}
	}
	return pks
}
