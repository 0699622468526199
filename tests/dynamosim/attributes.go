package dynamosim

import (
	"maps"
	"slices"
)

// withTable locks a table and calls the function "change" with the table's settings.
func (s control) withTable(name string, change func(set *settings) (any, error)) (any, error) {
	s.mu.Lock()
	t := s.existing(nameOf(name))
	s.mu.Unlock()
	if t == nil {
		return nil, tableNotFound(name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return change(&t.settings)
}

type tagInput struct {
	ResourceArn string
	Tags        []tag
	TagKeys     []string
}

// withTags is like withTable, but selects the table by its ARN.
func (s control) withTags(in *tagInput, change func(set *settings) (any, error)) (any, error) {
	s.mu.Lock()
	t := s.existing(nameOf(in.ResourceArn))
	s.mu.Unlock()
	if t == nil {
		return nil, ownError("ResourceNotFoundException", "Requested resource not found: ResourcArn: %s not found", in.ResourceArn)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return change(&t.settings)
}

func (s control) tagResource(in *tagInput) (any, error) {
	return s.withTags(in, func(set *settings) (any, error) {
		set.tags = maps.Clone(set.tags)
		for _, tag := range in.Tags {
			set.tags[tag.Key] = tag.Value
		}
		return nil, nil
	})
}

func (s control) untagResource(in *tagInput) (any, error) {
	return s.withTags(in, func(set *settings) (any, error) {
		set.tags = maps.Clone(set.tags)
		for _, key := range in.TagKeys {
			delete(set.tags, key)
		}
		return nil, nil
	})
}

func (s control) listTags(in *tagInput) (any, error) {
	return s.withTags(in, func(set *settings) (any, error) {
		tags := []tag{}
		for _, key := range slices.Sorted(maps.Keys(set.tags)) {
			tags = append(tags, tag{key, set.tags[key]})
		}
		return map[string]any{"Tags": tags}, nil
	})
}

type ttlInput struct {
	TableName               string
	TimeToLiveSpecification struct {
		AttributeName string
		Enabled       bool
	}
}

func (s control) updateTTL(in *ttlInput) (any, error) {
	spec := in.TimeToLiveSpecification
	return s.withTable(in.TableName, func(set *settings) (any, error) {
		switch isOn := set.ttl != ""; {
		case isOn && spec.Enabled && set.ttl != spec.AttributeName:
			return nil, invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", set.ttl)
		case isOn && spec.Enabled:
			return nil, invalid("TimeToLive is already enabled")
		case !isOn && !spec.Enabled:
			return nil, invalid("TimeToLive is already disabled")
		case spec.Enabled:
			set.ttl = spec.AttributeName
		default:
			set.ttl = ""
		}
		return map[string]any{"TimeToLiveSpecification": spec}, nil
	})
}

func (s control) describeTTL(in *ttlInput) (any, error) {
	return s.withTable(in.TableName, func(set *settings) (any, error) {
		d := map[string]any{"TimeToLiveStatus": "DISABLED"}
		if set.ttl != "" {
			d = map[string]any{"TimeToLiveStatus": "ENABLED", "AttributeName": set.ttl}
		}
		return map[string]any{"TimeToLiveDescription": d}, nil
	})
}

type backupInput struct {
	TableName                        string
	PointInTimeRecoverySpecification struct{ PointInTimeRecoveryEnabled bool }
}

func (s control) updateBackups(in *backupInput) (any, error) {
	return s.withTable(in.TableName, func(set *settings) (any, error) {
		set.recovery = in.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled
		return set.backups(), nil
	})
}

func (s control) describeBackups(in *backupInput) (any, error) {
	return s.withTable(in.TableName, func(set *settings) (any, error) { return set.backups(), nil })
}

// backups returns the answer to requests for the backup settings of a table.
func (s *settings) backups() any {
	status := "DISABLED"
	if s.recovery {
		status = "ENABLED"
	}
	return map[string]any{"ContinuousBackupsDescription": map[string]any{
		"ContinuousBackupsStatus":        "ENABLED",
		"PointInTimeRecoveryDescription": map[string]any{"PointInTimeRecoveryStatus": status},
	}}
}

// describeLimits returns the default quotas. Source: "Quotas in Amazon DynamoDB".
func (control) describeLimits(*struct{}) (any, error) {
	return map[string]int{
		"AccountMaxReadCapacityUnits": 80000, "AccountMaxWriteCapacityUnits": 80000,
		"TableMaxReadCapacityUnits": 40000, "TableMaxWriteCapacityUnits": 40000,
	}, nil
}
