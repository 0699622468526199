package wire

// SettingBody is one setting of the server.
type SettingBody struct {
	Key     string `json:"key"`
	Value   string `json:"value" doc:"passwords, and the parts of an address that may be a token, are replaced by the word hidden"`
	Default string `json:"default" doc:"empty for settings of a single class, stream, notifier or topic"`
	Origin  string `json:"origin" doc:"default, the line of a file, a variable or a flag"`
	Doc     string `json:"doc"`
}

// SettingList lists the settings that are in force.
type SettingList struct {
	Settings []SettingBody `json:"settings"`
}
